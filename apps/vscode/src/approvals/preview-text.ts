import {
  findTool,
  leavesItToParameters,
  makeVisible,
  type Preview,
  visibleLine,
} from '@countersign/protocol';
import type { ApprovalRequest } from '@countersign/tool-runner';
import type { Words } from '../words/words.ts';
import { said } from './request-title.ts';

type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/**
 * What will happen and why the person is asked, as plain text for a dialog. Everything hidden is visible already. Where
 * it is longer than the dialog, the reasons stay.
 */
export function requestText(
  request: ApprovalRequest,
  words: Words,
  maxLines = Number.POSITIVE_INFINITY,
): string {
  const { preview, reasons } = request;
  const told = preview ? previewText(preview, words) : words.preview.pending;
  const whole = [...shellLines(request, words), ...told.split('\n'), ...parameterLines(request, words)];
  const what = firstLines(whole, maxLines);
  if (reasons.length === 0) return what.join('\n');
  const why = reasons.map(({ why, operand }) => {
    const isNamed = operand === undefined || why.includes(operand);
    return `• ${said(why, words)}${isNamed ? '' : `: ${visibleLine(operand)}`}`;
  });
  return [...what, '', `${words.preview.reasons}:`, ...why].join('\n');
}

/** Characters of a line in a dialog; what is longer takes several. */
const lineWidth = 80;

function firstLines(lines: readonly string[], max: number): readonly string[] {
  const kept: string[] = [];
  let left = max;
  for (const line of lines) {
    if (left <= 0) return [...kept, '…'];
    const room = left * lineWidth;
    if (line.length > room) return [...kept, `${line.slice(0, room)}…`];
    kept.push(line);
    left -= Math.max(1, Math.ceil(line.length / lineWidth));
  }
  return kept;
}

/** As it was written: the programs that run do not tell where their output goes, nor what joins them. */
function shellLines({ tool_name, tool_params }: ApprovalRequest, words: Words): string[] {
  if (findTool(tool_name)?.category !== 'shell' || typeof tool_params.command !== 'string') return [];
  return [`${words.preview.shellLine}:`, ...tool_params.command.split('\n').map(makeVisible)];
}

/** Where the preview says little, or there is none, the parameters are what there is to read. */
function parameterLines({ tool_params, preview }: ApprovalRequest, words: Words): string[] {
  const entries = Object.entries(tool_params);
  if ((preview && !leavesItToParameters(preview)) || entries.length === 0) return [];
  const lines = entries.flatMap(([name, value]) => {
    // Whoever calls a custom tool writes its names too: one with line feeds must not look like a line of ours.
    const shownName = /^[\w.$-]{1,40}$/.test(name) ? name : JSON.stringify(name);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${shownName} = ${text}`.split('\n').map((line) => `  ${makeVisible(line)}`);
  });
  return [`${words.preview.parameters}:`, ...lines];
}

export function previewText(preview: Preview, all: Words): string {
  const { preview: words } = all;
  switch (preview.kind) {
    case 'diff':
      return preview.files.map((file) => fileText(file, words)).join('\n');
    case 'delete':
      return lines(
        words.deletes(preview.path, preview.size),
        preview.head === '' ? words.emptyFile : preview.head.trimEnd(),
      );
    case 'directory':
      return words.makesFolder(preview.path);
    case 'command':
      return lines(
        ...preview.commands.map(
          (parts) => `${words.runs}: ${parts.map((word) => shown(word, words)).join(' ')}`,
        ),
        `${words.in} ${preview.cwd === '' ? '.' : preview.cwd} · ${preview.network ? words.network : words.noNetwork}${preview.reversible ? '' : ` · ${words.irreversible}`}`,
        preview.scripts.length > 0 && `${words.executes} ${preview.scripts.join('  ')}`,
      );
    case 'commit':
      return lines(
        words.commit(preview.message),
        preview.hooks.length > 0 && `${words.hooks} ${preview.hooks.join('  ')}`,
        ...preview.files.map((file) => fileText(file, words)),
      );
    case 'push':
      return lines(
        words.push(preview.branch, preview.remote, preview.url),
        preview.hooks.length > 0 && `${words.hooks} ${preview.hooks.join('  ')}`,
        ...preview.commits.map(({ id, subject, author }) => `${id.slice(0, 8)}  ${subject}  (${author})`),
      );
    case 'custom':
      return customText(preview, words);
    case 'summary':
      return preview.summary;
    case 'unavailable':
      return said(preview.reason, all);
  }
}

/** What the tool says of itself is its own word: what runs, with or without network, is known. */
function customText(
  { server, tool, summary, runs, network, hints = [] }: Extract<Preview, { kind: 'custom' }>,
  words: Words['preview'],
): string {
  return lines(
    words.custom(tool === undefined ? server : `${server} · ${tool}`),
    summary,
    runs !== undefined && `${words.runs}: ${runs}`,
    network !== undefined && (network ? words.network : words.noNetwork),
    hints.includes('destructive') && words.saysDestructive,
    hints.includes('read_only') && words.saysReadOnly,
    runs !== undefined && words.itsProgram,
  );
}

function fileText(file: FileDiff, words: Words['preview']): string {
  return lines(
    `${file.path}${file.unsaved ? ` (${words.unsaved})` : ''}`,
    file.diff.trimEnd(),
    file.truncated && words.truncated,
  );
}

/** A word of a command as a shell would take it back. */
function shown(word: string | null, words: Words['preview']): string {
  if (word === null) return words.unknownWord;
  return word !== '' && /^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

const lines = (...parts: (string | false)[]): string => parts.filter((part) => part !== false).join('\n');
