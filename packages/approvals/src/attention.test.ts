import { ManualClock } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { Attention, askDeliberately } from './attention.ts';

let now = 0;
const attention = () => new Attention({ monotonic: () => now });

it('[UI-6] is given once the card has been in sight for half a second', () => {
  const card = attention();
  now += 9_000;
  expect(card.isGiven).toBe(false); // never in sight
  card.setInSight(true);
  now += 499;
  card.setInSight(true); // seen again, in the same place
  expect(card.isGiven).toBe(false);
  now += 1;
  expect(card.isGiven).toBe(true);
});

it.each([
  [
    'was out of sight, or moved',
    (card: Attention) => [false, true].forEach((is) => void card.setInSight(is)),
  ],
  ['has changed', (card: Attention) => card.restart()],
])('[UI-6] starts again when the card %s', (_what, happens) => {
  const card = attention();
  card.setInSight(true);
  now += 9_000;
  happens(card);
  expect(card.isGiven).toBe(false);
  now += 500;
  expect(card.isGiven).toBe(true);
});

it('[UI-6] a card that changes out of sight is not seen by that', () => {
  const card = attention();
  card.restart();
  now += 9_000;
  expect(card.isGiven).toBe(false);
});

describe('[UI-6] a question', () => {
  it('is asked again while its answer comes sooner than anybody can read', async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    const answers = [0, 499, 500];
    const ask = async () => {
      seen.push('asked');
      await clock.advance(answers[seen.length - 1] ?? 0);
      return 'yes';
    };
    expect(await askDeliberately(ask, { clock })).toBe('yes');
    expect(seen).toHaveLength(3);
  });

  it('accepts an answer that decides nothing at once, and a dismissal as no answer', async () => {
    const clock = new ManualClock();
    const options = { clock, decides: (answer: string) => answer === 'yes' };
    expect(await askDeliberately(async () => 'no', options)).toBe('no');
    expect(await askDeliberately(async () => undefined, options)).toBeUndefined();
  });
});
