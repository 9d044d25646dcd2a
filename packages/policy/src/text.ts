/** The words of a text: long lists of names are written as a manual writes them. */
export const wordList = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '');

/** What people and models are shown of a text that may be long or malformed: its beginning, always valid Unicode. */
export const shorten = (text: string): string =>
  text.length <= 200 ? text.toWellFormed() : `${text.slice(0, 200).toWellFormed()}…`;
