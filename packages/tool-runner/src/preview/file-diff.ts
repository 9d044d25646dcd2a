import type { Preview } from '@countersign/protocol';
import { lineEndingOf } from '../files/line-endings.ts';
import { type DecodedText, decodeText } from '../files/text-encoding.ts';
import { unifiedDiff } from './unified-diff.ts';
import { visibleName } from './visible-name.ts';

export type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/** One file before and after; null where there is none. Modes are permission bits, where they are known. */
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
  const { body, truncated } = bodyOf(versions);
  const header = [...headerOf(versions)].map((line) => `${line}\n`).join('');
  return {
    path: visibleName(path),
    operation,
    diff: header + body,
    truncated,
    size_before: before?.length ?? null,
    size_after: after?.length ?? null,
  };
}

const NO_TEXT: DecodedText = { text: '', encoding: 'utf-8', bom: false };

function bodyOf({ path, before, after }: FileVersions): { body: string; truncated: boolean } {
  if (before && after && Buffer.compare(before, after) === 0) return { body: '', truncated: false };
  const name = visibleName(path);
  const from = before ? `a/${name}` : '/dev/null';
  const to = after ? `b/${name}` : '/dev/null';
  const old = before ? decodeText(before) : NO_TEXT;
  const renewed = after ? decodeText(after) : NO_TEXT;
  if (!old || !renewed) return { body: `Binary files ${from} and ${to} differ\n`, truncated: false };
  const { hunks, truncated } = unifiedDiff(...withoutCommonReturns(old.text, renewed.text));
  return { body: hunks === '' ? '' : `--- ${from}\n+++ ${to}\n${hunks}`, truncated };
}

/** Where every line of both ends in CRLF, saying so on each line would only hide the rest. */
function withoutCommonReturns(before: string, after: string): [string, string] {
  if (lineEndingOf(before) !== '\r\n' || lineEndingOf(after) !== '\r\n') return [before, after];
  return [before.replaceAll('\r\n', '\n'), after.replaceAll('\r\n', '\n')];
}

function* headerOf({ before, after, modeBefore, modeAfter }: FileVersions): Generator<string> {
  if (modeAfter !== undefined && modeBefore !== undefined && modeAfter !== modeBefore) {
    yield `old mode ${modeText(modeBefore)}`;
    yield `new mode ${modeText(modeAfter)}`;
  } else if (!before && modeAfter !== undefined) yield `new file mode ${modeText(modeAfter)}`;
  const old = before && decodeText(before);
  const renewed = after && decodeText(after);
  if (renewed && !before && renewed.encoding !== 'utf-8') yield `encoding ${renewed.encoding}`;
  if (renewed && !before && renewed.bom) yield 'with a byte order mark';
  if (!old || !renewed) return;
  if (old.encoding !== renewed.encoding) yield `encoding ${old.encoding} becomes ${renewed.encoding}`;
  if (old.bom !== renewed.bom) yield `byte order mark ${renewed.bom ? 'added' : 'removed'}`;
}

const modeText = (mode: number): string => `100${(mode & 0o777).toString(8).padStart(3, '0')}`;
