import { describe, expect, it } from 'vitest';
import { utf8Length } from './size-limiter.ts';

describe('[TL-3] the bytes of a text', () => {
  it.each(['', 'plain', 'größe', 'ключ', '漢字', '👍 and 👎', 'half \ud83d', '\udc4d half', '\ud83d\ud83d'])(
    'are those that it is written with: %j',
    (text) => {
      expect(utf8Length(text)).toBe(Buffer.byteLength(text));
    },
  );

  it('are the same wherever a long text is cut in between', () => {
    for (let before = 0; before < 4; before += 1) {
      const text = 'x'.repeat(before) + 'y👍я'.repeat(20_000);
      expect(utf8Length(text)).toBe(Buffer.byteLength(text));
    }
  });
});
