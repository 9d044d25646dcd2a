/** What people and models are shown of a text that may be long or malformed: its beginning, always valid Unicode. */
export const shorten = (text: string): string =>
  text.length <= 200 ? text.toWellFormed() : `${text.slice(0, 200).toWellFormed()}…`;
