import { expect, it } from 'vitest';
import { drawScreen } from './screen-picture.ts';

const escapeCharacter = String.fromCharCode(27);
const drawn = (screen: string): string[] =>
  drawScreen(screen.replaceAll('^', escapeCharacter), 'title').split('\n').slice(4, -2);

it('draws each run in its style, and a style lasts over lines until it is reset', () => {
  expect(drawn('^[1;31ma<b\n^[22mc^[39md^[48;5;196me^[49mf')).toEqual([
    expect.stringMatching(/^<rect x="32.9" .* fill="#ff0000"\/>$/),
    expect.stringMatching(/^<text x="16.0" y="30" .* fill="#f07178" font-weight="bold">a&lt;b<\/text>$/),
    expect.stringMatching(/^<text x="16.0" y="49" .* fill="#f07178">c<\/text>$/),
    expect.stringMatching(/fill="#d5d9e2">d<\/text>$/),
    expect.stringMatching(/fill="#d5d9e2">e<\/text>$/),
    expect.stringMatching(/^<text x="41.3" .* fill="#d5d9e2">f<\/text>$/),
  ]);
});

it('swaps the colours of inverse text, and draws no blanks', () => {
  expect(drawn('^[7;32mon^[27m   ^[0moff')).toEqual([
    expect.stringMatching(/^<rect x="16.0" .* fill="#a6d189"\/>$/),
    expect.stringMatching(/fill="#1b1f2a">on<\/text>$/),
    expect.stringMatching(/fill="#d5d9e2">off<\/text>$/),
  ]);
});
