import { isUtf8 } from 'node:buffer';
import { makeVisible, type Preview } from '@countersign/protocol';
import { structuredPatch } from 'diff';
import { countLines, type DecodedText, decodeText, lineEndingOf } from '../files/text-encoding.ts';
import { visibleName } from './look.ts';

export type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/** Git's file mode of a symbolic link. */
export const LINK_MODE = 0o120000;

/** A file before and after; null if it does not exist. A mode is permission bits or LINK_MODE, undefined if unknown. */
export interface FileVersions {
  readonly path: string;
  readonly operation: FileDiff['operation'];
  readonly before: Uint8Array | null;
  readonly after: Uint8Array | null;
  readonly modeBefore?: number | undefined;
  readonly modeAfter?: number | undefined;
}

/**
 * Returns a unified diff of one file (AP-7). Hidden characters are made visible, and header lines show changes of
 * permissions, encoding and byte order mark. Size and computing time are limited.
 */
export function fileDiff(versions: FileVersions): FileDiff {
  const { path, operation, before, after } = versions;
  const content = before && after && Buffer.compare(before, after) === 0 ? SAME : contentOf(versions);
  const header = [...modeLines(versions), ...content.header].map((line) => `${line}\n`).join('');
  return {
    path: visibleName(path),
    operation,
    diff: header + content.body,
    truncated: content.truncated,
    size_before: before?.length ?? null,
    size_after: after?.length ?? null,
  };
}

interface Content {
  readonly header: readonly string[];
  readonly body: string;
  readonly truncated: boolean;
}

const SAME: Content = { header: [], body: '', truncated: false };
const NO_TEXT: DecodedText = { text: '', encoding: 'utf-8', bom: false };

function contentOf({ path, before, after }: FileVersions): Content {
  const name = visibleName(path);
  const from = before ? `a/${name}` : '/dev/null';
  const to = after ? `b/${name}` : '/dev/null';
  const old = before ? readableText(before) : NO_TEXT;
  const renewed = after ? readableText(after) : NO_TEXT;
  if (!renewed || (!old && !after)) return { ...SAME, body: `Binary files ${from} and ${to} differ\n` };
  // The old content is binary: show the whole new text.
  if (!old) {
    const { hunks, truncated } = unifiedDiff('', renewed.text);
    const header = ['the old content is binary and is not shown', ...formOf(renewed)];
    return { header, body: `--- ${from}\n+++ ${to}\n${hunks}`, truncated };
  }
  const { hunks, truncated } = unifiedDiff(...withoutCommonReturns(old.text, renewed.text));
  const header = before && after ? formChange(old, renewed) : formOf(after ? renewed : old);
  return { header, body: hunks === '' ? '' : `--- ${from}\n+++ ${to}\n${hunks}`, truncated };
}

/**
 * Decodes text, also text with control characters such as NUL, which make a file count as binary: the person must see the
 * text that a tool writes.
 */
function readableText(bytes: Uint8Array): DecodedText | undefined {
  const decoded = decodeText(bytes);
  if (decoded || !isUtf8(bytes)) return decoded;
  return { text: Buffer.from(bytes).toString('utf8'), encoding: 'utf-8', bom: false };
}

/** If all lines of both texts end in CRLF, removes the CRs: a visible CR on every line would only distract. */
function withoutCommonReturns(before: string, after: string): [string, string] {
  if (lineEndingOf(before) !== '\r\n' || lineEndingOf(after) !== '\r\n') return [before, after];
  return [before.replaceAll('\r\n', '\n'), after.replaceAll('\r\n', '\n')];
}

function formChange(old: DecodedText, renewed: DecodedText): string[] {
  const lines: string[] = [];
  if (old.encoding !== renewed.encoding) lines.push(`encoding ${old.encoding} becomes ${renewed.encoding}`);
  if (old.bom !== renewed.bom) lines.push(`byte order mark ${renewed.bom ? 'added' : 'removed'}`);
  return lines;
}

/** Returns no lines for UTF-8 without a byte order mark, which is the usual form. */
function formOf({ encoding, bom }: DecodedText): string[] {
  const lines = encoding === 'utf-8' ? [] : [`encoding ${encoding}`];
  if (bom) lines.push('with a byte order mark');
  return lines;
}

/** Returns the mode lines in git's format. */
function modeLines({ before, modeBefore, modeAfter }: FileVersions): string[] {
  if (modeAfter === undefined) return [];
  if (!before) return [`new file mode ${modeText(modeAfter)}`];
  if (modeBefore === undefined || modeText(modeBefore) === modeText(modeAfter)) return [];
  return [`old mode ${modeText(modeBefore)}`, `new mode ${modeText(modeAfter)}`];
}

const modeText = (mode: number): string =>
  mode === LINK_MODE ? '120000' : `100${(mode & 0o7777).toString(8).padStart(3, '0')}`;

/** Maximum length of one file's diff. */
const MAX_CHARACTERS = 512 * 1024;
const MAX_LINE_CHARACTERS = 4_000;
/** Number of characters that are shown before the change in a long line. */
const BEFORE_INTEREST = 200;

interface ShownDiff {
  /** The hunks, without the file's header. Empty if the texts are the same. */
  readonly hunks: string;
  readonly truncated: boolean;
}

/**
 * Returns the difference of two texts in the unified format, with hidden characters made visible. Its size is limited: a
 * line that begins with a backslash, like "No newline at end of file", tells what was left out.
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

/** Adds lines of one kind. They get at most half of the room, so that removed lines leave room for the added lines. */
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

/** Returns the added lines that replace a run of removed lines, and vice versa; else an empty list. */
function otherSideOf(runs: readonly Run[], index: number): readonly string[] {
  const isOf = (run: Run | undefined, sign: string): boolean => run?.lines[0]?.startsWith(sign) ?? false;
  const step = isOf(runs[index], '-') ? 1 : -1;
  const sign = step === 1 ? '+' : '-';
  const next = isOf(runs[index + step], '\\') ? runs[index + 2 * step] : runs[index + step];
  return isOf(runs[index], step === 1 ? '-' : '+') && isOf(next, sign) ? (next?.lines ?? []) : [];
}

/** Returns the index of the first difference of two lines, after their signs; 0 if the line is short enough to show. */
function firstDifference(line: string, other: string | undefined): number {
  if (other === undefined || line.length <= MAX_LINE_CHARACTERS) return 0;
  let at = 1;
  while (at < line.length && line.charCodeAt(at) === other.charCodeAt(at)) at++;
  return at;
}

/** Collects lines, with hidden characters made visible, as long as there is room. */
class ShownLines {
  #lines: string[] = [];
  room = MAX_CHARACTERS;
  truncated = false;

  get text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }

  /** Adds a line. A long line is cut to the part around the index `interest`. Returns false if there is no room. */
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

/** Returns a range in git's format: a single line has no count, and an empty range names the line before it. */
function rangeOf(start: number, lines: number): string {
  if (lines === 1) return String(start);
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

/** Consecutive lines with the same sign. `count` is their number before `lines` was cut at the limit. */
interface Run {
  readonly lines: readonly string[];
  readonly count: number;
}

interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly runs: readonly Run[];
}

const CONTEXT = 3;
/**
 * Beyond these limits, the whole text is shown as replaced, because the time for a minimal diff grows with lines times
 * edits. The limits are counts instead of a timeout, so that a call has the same preview on every machine.
 */
const MAX_COMPARED = 2 * 1024 * 1024;
const MAX_COMPARED_LINES = 40_000;
const MAX_EDITS = 2_000;
/** Lines after this many characters are counted but not shown. */
const MAX_RUN_CHARACTERS = 512 * 1024;
const NO_NEWLINE = '\\ No newline at end of file';

/** Compares two texts. Common lines at both ends are skipped, except for the context. */
function hunksBetween(before: string, after: string): Hunk[] {
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
  if (before === '' || after === '' || before.length + after.length > MAX_COMPARED) return undefined;
  if (countLines(before) + countLines(after) > MAX_COMPARED_LINES) return undefined;
  const patch = structuredPatch('', '', before, after, undefined, undefined, {
    context: CONTEXT,
    maxEditLength: MAX_EDITS,
  });
  return patch?.hunks.map(({ lines, ...ranges }) => ({ ...ranges, runs: runsOf(lines) }));
}

/** Shows the whole old text as removed and the whole new text as added: not minimal, but correct. */
function replacement(before: string, after: string): Hunk {
  return {
    oldStart: 1,
    oldLines: countLines(before),
    newStart: 1,
    newLines: countLines(after),
    runs: [...signed('-', before), ...signed('+', after)],
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

/** Returns where the texts differ, in whole lines with context. After `oldEnd` and `newEnd` they are the same. */
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
