import { structuredPatch } from 'diff';

/** Lines of one kind, each with its sign. `count` is more than there are lines where the text was too long. */
export interface Run {
  readonly lines: readonly string[];
  readonly count: number;
}

export interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly runs: readonly Run[];
}

const CONTEXT = 3;
/**
 * A longer text, or one that differs in more lines, is shown as replaced: looking for the least difference takes time
 * that grows with lines times edits. By counts, not by the clock: the same call has the same preview everywhere.
 */
const MAX_CHARACTERS = 2 * 1024 * 1024;
const MAX_LINES = 40_000;
const MAX_EDITS = 2_000;
/** Lines after this many characters of a run are counted but not shown. */
const MAX_RUN_CHARACTERS = 512 * 1024;
const NO_NEWLINE = '\\ No newline at end of file';

/** Where two texts differ, quickly whatever they are. What they have in common at both ends is not looked at. */
export function hunksBetween(before: string, after: string): Hunk[] {
  if (before === after) return [];
  const { prefix, oldEnd, newEnd } = commonEnds(before, after);
  const skipped = countLines(before.slice(0, prefix));
  const old = before.slice(prefix, oldEnd);
  const renewed = after.slice(prefix, newEnd);
  const hunks = leastDifference(old, renewed) ?? [replacement(old, renewed)];
  return hunks.map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + skipped,
    newStart: hunk.newStart + skipped,
  }));
}

function leastDifference(before: string, after: string): Hunk[] | undefined {
  // If one side is empty, everything differs.
  if (before === '' || after === '' || before.length + after.length > MAX_CHARACTERS) return undefined;
  if (countLines(before) + countLines(after) > MAX_LINES) return undefined;
  const patch = structuredPatch('', '', before, after, undefined, undefined, {
    context: CONTEXT,
    maxEditLength: MAX_EDITS,
  });
  return patch?.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
    oldStart,
    oldLines,
    newStart,
    newLines,
    runs: runsOf(lines),
  }));
}

/** Shows the whole old text as removed and the whole new text as added: not minimal, but correct. */
function replacement(before: string, after: string): Hunk {
  const removed = signed('-', before);
  const added = signed('+', after);
  return {
    oldStart: 1,
    oldLines: countLines(before),
    newStart: 1,
    newLines: countLines(after),
    runs: [...removed, ...added],
  };
}

function signed(sign: '-' | '+', text: string): Run[] {
  if (text === '') return [];
  const lines: string[] = [];
  for (let at = 0; at < text.length && at < MAX_RUN_CHARACTERS; ) {
    const next = text.indexOf('\n', at);
    const end = next < 0 ? text.length : next;
    lines.push(sign + text.slice(at, end));
    at = end + 1;
  }
  const runs: Run[] = [{ lines, count: countLines(text) }];
  if (!text.endsWith('\n')) runs.push({ lines: [NO_NEWLINE], count: 1 });
  return runs;
}

function runsOf(lines: readonly string[]): Run[] {
  const runs: string[][] = [];
  for (const line of lines) {
    const current = runs.at(-1);
    if (current?.[0]?.[0] === line[0]) current?.push(line);
    else runs.push([line]);
  }
  return runs.map((run) => ({ lines: run, count: run.length }));
}

/** How much both texts share before and behind their difference, in whole lines, less the context to show. */
function commonEnds(before: string, after: string): { prefix: number; oldEnd: number; newEnd: number } {
  const shorter = Math.min(before.length, after.length);
  let same = 0;
  while (same < shorter && before.charCodeAt(same) === after.charCodeAt(same)) same++;
  let prefix = before.lastIndexOf('\n', same - 1) + 1;
  if (same === 0) prefix = 0;
  let sameEnd = 0;
  const most = shorter - prefix;
  while (
    sameEnd < most &&
    before.charCodeAt(before.length - 1 - sameEnd) === after.charCodeAt(after.length - 1 - sameEnd)
  )
    sameEnd++;
  let oldEnd = before.indexOf('\n', before.length - sameEnd) + 1 || before.length;
  for (let line = 0; line < CONTEXT && prefix > 0; line++) prefix = before.lastIndexOf('\n', prefix - 2) + 1;
  for (let line = 0; line < CONTEXT && oldEnd < before.length; line++)
    oldEnd = before.indexOf('\n', oldEnd) + 1 || before.length;
  return { prefix, oldEnd, newEnd: after.length - (before.length - oldEnd) };
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return text === '' || text.endsWith('\n') ? lines : lines + 1;
}
