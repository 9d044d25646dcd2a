/**
 * Marks for the parts of a text that are only known when a shell line runs. A mark is a Unicode noncharacter in an ordinary
 * string, so it survives concatenation, splitting and parsing. ShellValidator refuses lines that contain such characters, so
 * a line cannot forge a mark.
 */

/** Unknown text that is not empty. */
export const UNKNOWN = '\uFDD0';
/** Unknown text outside quotes: it may be empty, or several words. */
export const VANISHING = '\uFDD1';
/** A variable that this line never sets, in quotes: empty unless the environment has it. */
export const UNSET_QUOTED = '\uFDD2';
/** An unset variable outside quotes, where an empty value leaves no word at all. */
export const UNSET = '\uFDD3';
/** Text that came from the network. */
export const DOWNLOADED = '\uFDD4';
/** Text that the line decodes or transforms, so that a reader does not see it. */
export const HIDDEN = '\uFDD5';
/** One of too many values to follow. */
export const TOO_MANY = '\uFDD6';
/** An active `*` (or an extended pattern): any text within one path component. */
export const STAR = '\uFDD7';
/** An active `?` or `[…]`: any one character. */
export const ANY_CHARACTER = '\uFDD8';
/** The name of the home directory, if it is not known. */
export const HOME_NAME = '\uFDD9';
/** The unknown name of the account that runs the line: one word, and the name of a home directory. */
export const USER_NAME = '\uFDDA';
/** Prefix of a program's name: stands for the content of the program's own file. */
export const PROGRAM = '\uFDDB';
/** An unknown number: neither a name nor a command. */
export const NUMBER = '\uFDDC';

const HOLE = /[\uFDD0-\uFDD6\uFDDA-\uFDDC]/;
const MARK = /[\uFDD0-\uFDEF]/;

export const hasMark = (text: string): boolean => MARK.test(text);
/** A hole is a mark for text that is only known at run time. */
export const hasHole = (text: string): boolean => HOLE.test(text);
export const hasPattern = (text: string): boolean => text.includes(STAR) || text.includes(ANY_CHARACTER);

/** The word as a shell would pass it, with patterns as written; undefined if it is only known at run time. */
export function knownWord(text: string): string | undefined {
  return hasHole(text) ? undefined : withPlainPatterns(text);
}

/** The text as people see it: holes become `…`. */
export function readable(text: string): string {
  const shown = hasMark(text)
    ? withPlainPatterns(text)
        .replaceAll(USER_NAME, '$USER')
        .replace(/[\uFDD0-\uFDEF]+/g, '…')
    : text;
  return shown.length > 120 ? `${shown.slice(0, 117)}…` : shown;
}

function withPlainPatterns(text: string): string {
  if (!hasMark(text)) return text;
  return text.replaceAll(STAR, '*').replaceAll(ANY_CHARACTER, '?').replaceAll(`/${HOME_NAME}`, '~');
}

/** The text as code for another shell: patterns become characters again, holes may be any number of words. */
export function asCode(text: string): string {
  if (!hasMark(text)) return text;
  return text
    .replaceAll(STAR, '*')
    .replaceAll(ANY_CHARACTER, '?')
    .replaceAll(UNSET_QUOTED, UNSET)
    .replaceAll(UNKNOWN, VANISHING);
}

/** The meaning of a quoted value outside quotes, where `*`, `?` and `[…]` become patterns. */
export function unquoted(text: string): string {
  let result = text;
  if (text.includes('*')) result = result.replaceAll('*', STAR);
  if (text.includes('?')) result = result.replaceAll('?', ANY_CHARACTER);
  if (text.includes('[')) result = result.replace(/\[[^\]]+\]/g, ANY_CHARACTER);
  if (hasHole(result)) result = result.replaceAll(UNSET_QUOTED, UNSET).replaceAll(UNKNOWN, VANISHING);
  return result;
}

/** The word if every unset variable is empty; undefined if no word is left. */
export function whenUnset(text: string): string | undefined {
  if (!text.includes(UNSET) && !text.includes(UNSET_QUOTED)) return text;
  const rest = text.replaceAll(UNSET, '').replaceAll(UNSET_QUOTED, '');
  return rest === '' && !text.includes(UNSET_QUOTED) ? undefined : rest;
}

/** Replaces unquoted marks by quoted ones, so that two spellings of one unknown file compare equal. */
export function inQuotes(text: string): string {
  return hasHole(text) ? text.replaceAll(VANISHING, UNKNOWN).replaceAll(UNSET, UNSET_QUOTED) : text;
}

/** The most suspicious origin of a text, as one mark: DOWNLOADED, else HIDDEN; `''` for other text. */
export function originOf(text: string): string {
  if (text.includes(DOWNLOADED)) return DOWNLOADED;
  return text.includes(HIDDEN) ? HIDDEN : '';
}

/** Unknown text that keeps the origin of what it was made from. */
export const madeFrom = (...texts: readonly string[]): string => originOf(texts.join('')) || UNKNOWN;

/** Replaces marks that an escape such as `\ufdd0` would forge. */
export const withoutForgedMarks = (text: string): string => text.replace(/[\uFDD0-\uFDEF]/g, '\uFFFD');
