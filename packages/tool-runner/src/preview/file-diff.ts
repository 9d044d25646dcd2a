import { isUtf8 } from 'node:buffer';
import type { Preview } from '@countersign/protocol';
import { lineEndingOf } from '../files/line-endings.ts';
import { type DecodedText, decodeText } from '../files/text-encoding.ts';
import { visibleName } from './look.ts';
import { unifiedDiff } from './unified-diff.ts';

export type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/** What git calls a symbolic link. */
export const LINK_MODE = 0o120000;

/** One file before and after; null where there is none. Modes are permission bits, or LINK_MODE, where they are known. */
export interface FileVersions {
  readonly path: string;
  readonly operation: FileDiff['operation'];
  readonly before: Uint8Array | null;
  readonly after: Uint8Array | null;
  readonly modeBefore?: number | undefined;
  readonly modeAfter?: number | undefined;
}

/**
 * Draws what happens to one file (AP-7): a unified diff with everything hidden made visible, and lines in its header
 * for what no line of text shows: permissions, encoding, byte order mark. Bounded in size and time.
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
  // Show the whole new text, even if it replaces binary content.
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
 * A tool writes text, and the person must see it: a bell or a NUL in it, by which a file would count as binary, is
 * shown as what it is.
 */
function readableText(bytes: Uint8Array): DecodedText | undefined {
  const decoded = decodeText(bytes);
  if (decoded || !isUtf8(bytes)) return decoded;
  return { text: Buffer.from(bytes).toString('utf8'), encoding: 'utf-8', bom: false };
}

/** Where every line of both ends in CRLF, saying so on each line would only hide the rest. */
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

/** UTF-8 without a mark is what everybody expects. */
function formOf({ encoding, bom }: DecodedText): string[] {
  const lines = encoding === 'utf-8' ? [] : [`encoding ${encoding}`];
  if (bom) lines.push('with a byte order mark');
  return lines;
}

/** As git writes them. */
function modeLines({ before, modeBefore, modeAfter }: FileVersions): string[] {
  if (modeAfter === undefined) return [];
  if (!before) return [`new file mode ${modeText(modeAfter)}`];
  if (modeBefore === undefined || modeText(modeBefore) === modeText(modeAfter)) return [];
  return [`old mode ${modeText(modeBefore)}`, `new mode ${modeText(modeAfter)}`];
}

const modeText = (mode: number): string =>
  mode === LINK_MODE ? '120000' : `100${(mode & 0o7777).toString(8).padStart(3, '0')}`;
