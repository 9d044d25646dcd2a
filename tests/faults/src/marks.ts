import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A call's file name (its mark) says what should happen to the call, its user and its number: `append-ada-12.md`. */
export const markOf = (kind: string, user: string, n: number): string => `${kind}-${user}-${n}.md`;

const markPattern = /\b([a-z]+)-([a-z]+)-\d+\.md\b/;

/** The mark in a call's parameters; undefined if there is none. */
export function markIn(
  params: unknown,
): { readonly mark: string; readonly kind: string; readonly user: string } | undefined {
  const text = typeof params === 'string' ? params : JSON.stringify(params);
  const [mark, kind, user] = markPattern.exec(text) ?? [];
  return mark === undefined || kind === undefined || user === undefined ? undefined : { mark, kind, user };
}

/** The users whose marks a text contains. */
export const usersIn = (text: string): string[] =>
  [...text.matchAll(new RegExp(markPattern, 'g'))].map(([, , user]) => String(user));

export const firstBase = 'base 1';
export const changedBase = 'base 2';
/** The line that a tool appends each time it runs. */
export const doneLine = 'done';
/** The file beside the mark that a second program writes if it got the claim. */
export const rivalOf = (mark: string): string => `${mark}.rival`;

/** The file in the shown folder that exists once the second program's claim was answered. */
export const rivalAnswered = (mark: string): string => `${mark}.asked`;

export interface Traces {
  /** How often the tool ran. */
  readonly times: number;
  readonly base: string | undefined;
}

/** What the call left on disk. */
export function tracesOf(root: string, mark: string): Traces {
  const lines = [mark, rivalOf(mark)].map((name) => linesOf(join(root, name)));
  return {
    times: lines.flat().filter((line) => line === doneLine).length,
    base: lines[0]?.find((line) => line.startsWith('base ')),
  };
}

const linesOf = (path: string): string[] => (existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []);

/** The base line in a card's preview. */
export function shownBase(preview: unknown): string | undefined {
  return /\bbase \d\b/.exec(JSON.stringify(preview))?.[0];
}
