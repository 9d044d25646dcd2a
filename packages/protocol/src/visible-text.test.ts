import { describe, expect, it } from 'vitest';
import { makeVisible, visibleLine } from './visible-text.ts';

describe('makeVisible', () => {
  it.each(['npm test', 'two\nlines\tand a tab', 'größe', 'привет мир', '日本語', '🧪', ''])(
    '[AP-7] leaves %j as it is',
    (text) => {
      expect(makeVisible(text)).toBe(text);
    },
  );

  it.each([
    ['v1\u202e0', 'v1⟨U+202E⟩0'],
    ['te\u200cst', 'te⟨U+200C⟩st'],
    ['\u2067build\u2069', '⟨U+2067⟩build⟨U+2069⟩'],
    ['ls\u001b[8m hidden', 'ls⟨U+001B⟩[8m hidden'],
    ['a\rb\u0000', 'a⟨U+000D⟩b⟨U+0000⟩'],
    ['a\u00a0b\u3164', 'a⟨U+00A0⟩b⟨U+3164⟩'],
    ['\u{e0041}', '⟨U+E0041⟩'],
    ['\ud800', '⟨U+D800⟩'],
  ])('[AP-7] names what would hide, move or reorder: %j', (text, visible) => {
    expect(makeVisible(text)).toBe(visible);
  });

  it.each([
    ['if (environment\u01c3=production)', 'if (environment⟨U+01C3⟩=production)'],
    ['docs\u2215a.md', 'docs⟨U+2215⟩a.md'],
    ['a.md\u2044..\u2044b', 'a.md⟨U+2044⟩..⟨U+2044⟩b'],
    ['x\u037e', 'x⟨U+037E⟩'],
    ['\u{1d626}val()', '⟨U+1D626⟩val()'],
  ])('[AP-7] names what imitates a sign or a letter of programs: %j', (text, visible) => {
    expect(makeVisible(text)).toBe(visible);
    expect(makeVisible(visible)).toBe(visible);
  });

  it('[AP-7] marks a letter that imitates a Latin one inside a Latin word', () => {
    expect(makeVisible('p\u0430ypal')).toBe('p\u0430⟨U+0430⟩ypal');
    expect(makeVisible('\uff52m')).toBe('\uff52⟨U+FF52⟩m');
  });

  it('[AP-7] leaves what is visible already as it is, and is not fooled by a mark that names another letter', () => {
    const once = makeVisible('p\u0430yp\u0430l \u202e\u202e \uff41bc');
    expect(makeVisible(once)).toBe(once);
    expect(makeVisible('p\u0430⟨U+0061⟩')).toBe('p\u0430⟨U+0430⟩⟨U+0061⟩');
  });

  it('[AP-7] names hidden characters before it makes one line of several', () => {
    expect(visibleLine(' a\n\tb\u2028c\ufeff\u00a0d ')).toBe('a b⟨U+2028⟩c⟨U+FEFF⟩⟨U+00A0⟩d');
  });
});
