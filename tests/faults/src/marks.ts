import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The name of a call's file says what is meant to become of it, whose it is and which: `append-ada-12.md`. */
export const markOf = (kind: string, user: string, n: number): string => `${kind}-${user}-${n}.md`;

const markPattern = /\b([a-z]+)-([a-z]+)-\d+\.md\b/;

/** The mark that a call's parameters name; undefined for what is none of ours. */
export function markIn(
  params: unknown,
): { readonly mark: string; readonly kind: string; readonly user: string } | undefined {
  const text = typeof params === 'string' ? params : JSON.stringify(params);
  const [mark, kind, user] = markPattern.exec(text) ?? [];
  return mark === undefined || kind === undefined || user === undefined ? undefined : { mark, kind, user };
}

/** Whose marks a text names. */
export const usersIn = (text: string): string[] =>
  [...text.matchAll(new RegExp(markPattern, 'g'))].map(([, , user]) => String(user));

export const firstBase = 'base 1';
export const changedBase = 'base 2';
/** The line that a tool leaves, each time that it runs. */
export const doneLine = 'done';
/** Beside the mark: what a second program did that was allowed to begin. */
export const rivalOf = (mark: string): string => `${mark}.rival`;

/** Beside the mark: there once the second program has been answered. */
export const rivalCameTo = (mark: string): string => `${mark}.asked`;

export interface Traces {
  /** How often the tool ran. */
  readonly times: number;
  readonly base: string | undefined;
}

/** What is on the disk of a call, whatever anybody says about it. */
export function tracesOf(root: string, mark: string): Traces {
  const lines = [mark, rivalOf(mark)].map((name) => linesOf(join(root, name)));
  return {
    times: lines.flat().filter((line) => line === doneLine).length,
    base: lines[0]?.find((line) => line.startsWith('base ')),
  };
}

const linesOf = (path: string): string[] => (existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []);

/** The base line as a card shows it in its preview. */
export function shownBase(preview: unknown): string | undefined {
  return /\bbase \d\b/.exec(JSON.stringify(preview))?.[0];
}
