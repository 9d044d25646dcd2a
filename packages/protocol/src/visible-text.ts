/**
 * Text from a tool, a model or a file as a person may safely read it: nothing in it moves the cursor, hides,
 * reorders or imitates (AP-7, UI-6). Line feeds and tabs stay. What is visible already stays as it is.
 */
export function makeVisible(text: string): string {
  if (plainText.test(text)) return text;
  return text.replace(hidden, name).replace(imitations, name).replace(word, markLookAlikes);
}

/**
 * The same on one line. Hidden characters are named before white space is collapsed: several of them, U+FEFF and U+2028
 * for two, count as white space and would vanish.
 */
export const visibleLine = (text: string): string =>
  makeVisible(text)
    .replace(/[ \t\n]+/g, ' ')
    .trim();

const plainText = /^[\x20-\x7e\n\t]*$/;

/** Control, format, surrogate and private-use characters, odd spaces, and marks that stand on nothing. */
const hidden =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u115f\u1160\u3164\uffa0]|\p{Default_Ignorable_Code_Point}/gu;

/**
 * Characters that look like `| || ! ; . / :` in nearly every font, some of which compilers treat as letters
 * (`environmentǃ=x` sets a variable), and letters and digits in mathematical styles, which Python reads as plain ones.
 */
const imitations = /[\u01c0\u01c1\u01c3\u037e\u2024\u2044\u2215\u29f8\ua789\u{1d400}-\u{1d7ff}]/gu;

const word = /[\p{L}\p{M}\p{N}_-]+/gu;
const foreignLetter =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]|[\uff01-\uff5e]/gu;
const latinLetter = /\p{Script=Latin}/u;

/** A word that mixes Latin with letters that look like Latin is made to show which ones they are. */
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
