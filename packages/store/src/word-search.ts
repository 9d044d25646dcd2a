import { type RawBuilder, sql } from 'kysely';
import type { Dialect, Slots } from './statements.ts';

/** Further words of a search are ignored. */
const wordsAtMost = 6;

/**
 * Searching for words in columns. Neither SQLite nor a database with the collation "C" folds the case of letters beyond
 * ASCII, so a pattern is tried as typed, in lower case, in upper case and capitalised. Both databases then find the same
 * rows, whatever their locale.
 */
export const countWords = (words: readonly string[]): number => Math.min(words.length, wordsAtMost);

/** The values of the slots that `hasAllWords` names. */
export function wordValues(words: readonly string[]): Readonly<Record<string, string>> {
  const values = words.slice(0, wordsAtMost).flatMap((word, index) =>
    spellings(word).flatMap((spelling, variant) => [
      [`word${index}_${variant}`, pattern(spelling)],
      [`json${index}_${variant}`, pattern(JSON.stringify(spelling).slice(1, -1))],
    ]),
  );
  return Object.fromEntries(values);
}

/** A condition: each word occurs in one of the columns. A JSON column, or a query for one, is searched as its text. */
export function hasAllWords(
  { count, dialect }: { readonly count: number; readonly dialect: Dialect },
  slot: Slots,
  columns: {
    readonly text: readonly string[];
    readonly json?: readonly (string | RawBuilder<unknown>)[];
  },
): RawBuilder<boolean> {
  const like = sql.raw(dialect === 'postgres' ? 'ilike' : 'like');
  const occurs = (column: RawBuilder<unknown>, name: string) =>
    Array.from(
      { length: SPELLINGS },
      (_, variant) => sql`${column} ${like} ${slot.text(`${name}_${variant}`)} escape '\\'`,
    );
  const words = Array.from({ length: count }, (_, index) => {
    const text = columns.text.flatMap((name) => occurs(sql`${sql.ref(name)}`, `word${index}`));
    const json = (columns.json ?? []).flatMap((column) =>
      occurs(sql`cast(${typeof column === 'string' ? sql.ref(column) : column} as text)`, `json${index}`),
    );
    return sql`(${sql.join([...text, ...json], sql` or `)})`;
  });
  return sql<boolean>`(${sql.join(words, sql` and `)})`;
}

const SPELLINGS = 4;

function spellings(word: string): readonly string[] {
  const lower = word.toLowerCase();
  const [first = '', ...rest] = lower;
  return [word, lower, word.toUpperCase(), first.toUpperCase() + rest.join('')];
}

const pattern = (text: string): string => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
