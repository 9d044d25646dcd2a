import { makeVisible } from '@countersign/protocol';
import { hunksBetween, type Run } from './diff-hunks.ts';

/** Most characters of one file's diff: what a person reads, and what fits into a preview. */
const MOST_CHARACTERS = 512 * 1024;
/** Most characters of one line. */
const MOST_OF_A_LINE = 4_000;

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
    for (const run of hunk.runs) addRun(run, shown);
  }
  return { hunks: shown.text, truncated: shown.truncated };
}

/** A run gets at most half of the room there is: what is removed must not push out what comes in its place. */
function addRun({ lines, count }: Run, shown: ShownLines): void {
  const least = shown.room / 2;
  let added = 0;
  for (const line of lines) {
    if (shown.room - Math.min(line.length, MOST_OF_A_LINE) < least || !shown.add(line)) break;
    added++;
  }
  if (added === count) return;
  const kind = lines[0]?.startsWith('-') ? 'removed' : lines[0]?.startsWith('+') ? 'added' : 'unchanged';
  shown.leaveOut(`${count - added} more ${kind} lines are not shown`);
}

/** Lines made visible, as long as there is room. */
class ShownLines {
  #lines: string[] = [];
  room = MOST_CHARACTERS;
  truncated = false;

  get text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }

  add(line: string): boolean {
    const visible = makeVisible(line.slice(0, MOST_OF_A_LINE));
    const rest = line.length - MOST_OF_A_LINE;
    const shown = rest > 0 ? `${visible}⟨${rest} more characters⟩` : visible;
    if (shown.length >= this.room) return false;
    if (rest > 0) this.truncated = true;
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
