import { makeVisible } from '@countersign/protocol';
import { hunksBetween, type Run } from './diff-hunks.ts';

/** Most characters of one file's diff: what a person reads, and what fits into a preview. */
const MAX_CHARACTERS = 512 * 1024;
/** Most characters of one line. */
const MAX_LINE_CHARACTERS = 4_000;
/** Of a long line that changes, so much before the change is shown. */
const BEFORE_INTEREST = 200;

export interface ShownDiff {
  /** The hunks, without the header of the file. Empty when the texts are the same. */
  readonly hunks: string;
  readonly truncated: boolean;
}

/**
 * The difference of two texts in the unified format, as a person may safely read it. It is bounded: what is left out
 * is said in a line that begins with a backslash, as the format says "No newline at end of file".
 */
export function unifiedDiff(before: string, after: string): ShownDiff {
  const shown = new ShownLines();
  for (const hunk of hunksBetween(before, after)) {
    const old = rangeOf(hunk.oldStart, hunk.oldLines);
    const header = `@@ -${old} +${rangeOf(hunk.newStart, hunk.newLines)} @@`;
    if (!shown.add(header)) {
      shown.leaveOut('Further changes are not shown');
      break;
    }
    hunk.runs.forEach((run, i) => {
      addRun(run, otherSideOf(hunk.runs, i), shown);
    });
  }
  return { hunks: shown.text, truncated: shown.truncated };
}

/** A run gets at most half of the room there is: what is removed must not push out what comes in its place. */
function addRun({ lines, count }: Run, otherSide: readonly string[], shown: ShownLines): void {
  const least = shown.room / 2;
  let added = 0;
  for (const line of lines) {
    if (shown.room - Math.min(line.length, MAX_LINE_CHARACTERS) < least) break;
    if (!shown.add(line, firstDifference(line, otherSide[added]))) break;
    added++;
  }
  if (added === count) return;
  const kind = lines[0]?.startsWith('-') ? 'removed' : lines[0]?.startsWith('+') ? 'added' : 'unchanged';
  shown.leaveOut(`${count - added} more ${kind} lines are not shown`);
}

/** Of lines that are removed those that are added in their place, and the other way round. */
function otherSideOf(runs: readonly Run[], index: number): readonly string[] {
  const isOf = (run: Run | undefined, sign: string): boolean => run?.lines[0]?.startsWith(sign) ?? false;
  const step = isOf(runs[index], '-') ? 1 : -1;
  const sign = step === 1 ? '+' : '-';
  const next = isOf(runs[index + step], '\\') ? runs[index + 2 * step] : runs[index + step];
  return isOf(runs[index], step === 1 ? '-' : '+') && isOf(next, sign) ? (next?.lines ?? []) : [];
}

/** Where two lines begin to differ behind their signs; 0 where that is not worth looking for. */
function firstDifference(line: string, other: string | undefined): number {
  if (other === undefined || line.length <= MAX_LINE_CHARACTERS) return 0;
  let at = 1;
  while (at < line.length && line.charCodeAt(at) === other.charCodeAt(at)) at++;
  return at;
}

/** Lines made visible, as long as there is room. */
class ShownLines {
  #lines: string[] = [];
  room = MAX_CHARACTERS;
  truncated = false;

  get text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }

  /** Adds a line; of a long line, only the part around `interest`. Returns false if there is no room. */
  add(line: string, interest = 0): boolean {
    const from =
      line.length - MAX_LINE_CHARACTERS > 0 && interest > MAX_LINE_CHARACTERS / 2
        ? interest - BEFORE_INTEREST
        : 1;
    const end = Math.min(line.length, from + MAX_LINE_CHARACTERS);
    const shown = [
      line.slice(0, 1),
      from > 1 ? `⟨${from - 1} characters before⟩` : '',
      makeVisible(line.slice(from, end)),
      end < line.length ? `⟨${line.length - end} more characters⟩` : '',
    ].join('');
    if (shown.length >= this.room) return false;
    if (from > 1 || end < line.length) this.truncated = true;
    this.#lines.push(shown);
    this.room -= shown.length + 1;
    return true;
  }

  leaveOut(what: string): void {
    this.#lines.push(`\\ ${what}`);
    this.truncated = true;
  }
}

/** As git writes it: a single line needs no count, and of no line the one before is named. */
function rangeOf(start: number, lines: number): string {
  if (lines === 1) return String(start);
  return `${lines === 0 ? start - 1 : start},${lines}`;
}
