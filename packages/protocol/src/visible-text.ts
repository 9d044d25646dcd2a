/**
 * Makes text from a tool, a model or a file safe to read: replaces or marks characters that move the cursor, hide or
 * reorder text, or look like other characters (AP-7, UI-6). Line feeds, tabs and visible text stay as they are.
 */
export function makeVisible(text: string): string {
  if (plainText.test(text)) return text;
  return text.replace(hidden, name).replace(imitations, name).replace(word, markLookAlikes);
}

/**
 * The same on one line. Replaces hidden characters before it collapses white space, because some of them, such as U+FEFF
 * and U+2028, count as white space and would vanish.
 */
export const visibleLine = (text: string): string =>
  makeVisible(text)
    .replace(/[ \t\n]+/g, ' ')
    .trim();

const plainText = /^[\x20-\x7e\n\t]*$/;

/** Control, format, surrogate and private-use characters, unusual spaces, and characters that are drawn as nothing. */
const hidden =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u115f\u1160\u3164\uffa0]|\p{Default_Ignorable_Code_Point}/gu;

/**
 * Characters that look like `| || ! ; . / :` in most fonts, some of which compilers treat as letters (`environmentǃ=x`
 * sets a variable), and letters and digits in mathematical styles, which Python treats as plain letters and digits.
 */
const imitations = /[\u01c0\u01c1\u01c3\u037e\u2024\u2044\u2215\u29f8\ua789\u{1d400}-\u{1d7ff}]/gu;

const word = /[\p{L}\p{M}\p{N}_-]+/gu;
const foreignLetter =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]|[\uff01-\uff5e]/gu;
const latinLetter = /\p{Script=Latin}/u;

/** Marks the foreign letters in a word that mixes them with Latin letters, because they may look like Latin letters. */
function markLookAlikes(text: string, start: number, whole: string): string {
  if (!latinLetter.test(text)) return text;
  return text.replace(foreignLetter, (letter, at: number) => {
    const isMarked = whole.startsWith(name(letter), start + at + letter.length);
    return isMarked ? letter : `${letter}${name(letter)}`;
  });
}

function name(character: string): string {
  if (character === '\n' || character === '\t') return character;
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
