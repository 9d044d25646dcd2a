/** A program and its arguments as one line that a person can edit. `commandWords` reads it back. */
export const commandLine = (words: readonly string[]): string => words.map(quoted).join(' ');

const quoted = (word: string): string =>
  /^[^\s'"\\]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/**
 * The words of a line: split at blanks, except in quotation marks. No shell reads the line, so nothing else in it has a
 * meaning. Undefined if a quotation mark has no end.
 */
export function commandWords(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; at += 1) {
    const letter = line.charAt(at);
    if (/\s/.test(letter)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (letter === "'" || letter === '"') {
      const end = line.indexOf(letter, at + 1);
      if (end < 0) return undefined;
      word = (word ?? '') + line.slice(at + 1, end);
      at = end;
    } else if (letter === '\\' && at + 1 < line.length) {
      at += 1;
      word = (word ?? '') + line.charAt(at);
    } else word = (word ?? '') + letter;
  }
  if (word !== undefined) words.push(word);
  return words;
}
