import { unreadable } from './foreign-rule.ts';

/** Parses JSON in which comments and commas before a closing bracket are allowed, as settings of editors have them. */
export function parseJsonWithComments(text: string, file: string): unknown {
  try {
    return JSON.parse(withoutCommas(withoutComments(text.replace(/^\uFEFF/, ''))));
  } catch (error) {
    throw unreadable(file, `it is not JSON: ${(error as Error).message}`);
  }
}

/** A string, or a comment: strings come first, so a comment's signs inside one stay. */
const stringOrComment = /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const withoutComments = (text: string): string =>
  text.replace(stringOrComment, (found) => (found.startsWith('"') ? found : ' '));

const stringOrComma = /"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g;
const withoutCommas = (text: string): string =>
  text.replace(stringOrComma, (found) => (found === ',' ? '' : found));
