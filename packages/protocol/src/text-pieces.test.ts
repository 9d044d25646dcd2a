import { expect, it } from 'vitest';
import { piecesOf } from './text-pieces.ts';

it.each([
  ['', 2, []],
  ['abcde', 2, ['ab', 'cd', 'e']],
  ['a😀b', 2, ['a', '😀', 'b']],
  ['😀😀', 3, ['😀', '😀']],
  ['ab\ud83d', 3, ['ab\ud83d']],
])('cuts %j into pieces of %i and splits no character', (text, length, pieces) => {
  expect([...piecesOf(text, length)]).toEqual(pieces);
});
