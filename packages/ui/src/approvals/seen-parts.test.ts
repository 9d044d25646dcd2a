import { expect, it } from 'vitest';
import { SeenParts } from './seen-parts.ts';

it('[UI-6] a tall card is seen when its parts together are all of it', () => {
  const parts = new SeenParts();
  expect(parts.firstUnseen(900)).toBe(0);
  parts.add(600, 900);
  expect(parts.firstUnseen(900)).toBe(0);
  parts.add(0, 300);
  expect(parts.firstUnseen(900)).toBe(300);
  parts.add(350, 350); // an empty part
  expect(parts.firstUnseen(900)).toBe(300);
  parts.add(299.5, 601);
  expect(parts.firstUnseen(900)).toBeUndefined();
  expect(parts.firstUnseen(1_000)).toBe(900); // it has grown
});

it('[UI-6] what only flashes by was not seen; a page that is scrolled slowly was', () => {
  const parts = new SeenParts();
  parts.look(0, 300, 0);
  parts.look(600, 900, 100);
  parts.look(0, 300, 300);
  expect(parts.firstUnseen(900)).toBe(0);
  for (let at = 400; at <= 4_000; at += 100) {
    const from = Math.max(0, at - 700) / 6;
    parts.look(from, from + 300, at);
  }
  expect(parts.firstUnseen(800)).toBeUndefined();
  expect(parts.firstUnseen(900)).toBeGreaterThan(790);
  expect(parts.firstUnseen(900, { from: 600, to: 900 })).toBeUndefined();
});
