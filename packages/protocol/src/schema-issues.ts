import type { z } from 'zod';

const maxIssues = 3;
const maxCharacters = 200;

/**
 * A zod error as a part of a sentence: `path: expected string, received number; …`. Only the first problems are listed,
 * each cut short, because the input can be of any size.
 */
export function describeIssues(error: z.ZodError): string {
  const shown = error.issues.slice(0, maxIssues).map((issue) => {
    const where = issue.path.map(String).join('.');
    if (where !== '' && issue.message.endsWith('received undefined')) return shorten(`${where} is missing`);
    const what = issue.message.charAt(0).toLowerCase() + issue.message.slice(1);
    return shorten(where === '' ? what : `${where}: ${what}`);
  });
  const more = error.issues.length - shown.length;
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

function shorten(text: string): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text;
}
