/** Splits a text at white space, for long lists of names. */
export const wordList = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

/** The first 200 characters of a text, as valid Unicode, to show to people and models. */
export const shorten = (text: string): string =>
  text.length <= 200 ? text.toWellFormed() : `${text.slice(0, 200).toWellFormed()}…`;
