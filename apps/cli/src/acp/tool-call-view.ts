import { join } from 'node:path';
import type { ToolCallContent, ToolCallStatus, ToolKind } from '@agentclientprotocol/sdk';
import { parseUnifiedDiff } from '@countersign/approvals';
import {
  type Approval,
  type EventPayload,
  type ExecutionStatus,
  findTool,
  type JsonValue,
  type Preview,
} from '@countersign/protocol';
import { whatIsCalled } from '../approvals/approval-card.ts';
import { layOut, visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import { fenced } from './prompt-text.ts';

type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];

/** Longer results are cut in the editor; the history has them in full. */
const MAX_SHOWN = 20_000;
const COLUMNS = 100;

/** How an editor draws a call. */
export const kindOf = (tool: string): ToolKind => findTool(tool)?.kind ?? 'other';

export function acpStatusOf(status: ExecutionStatus): ToolCallStatus {
  switch (status) {
    case 'pending':
    case 'awaiting_approval':
    case 'approved':
      return 'pending';
    case 'executing':
      return 'in_progress';
    case 'completed':
      return 'completed';
    default:
      return 'failed';
  }
}

/** The files that a call is about, for editors that follow along. */
export function locationsOf(root: string, params: Readonly<Record<string, JsonValue>>): { path: string }[] {
  return [params.path, params.dest].flatMap((path) =>
    typeof path === 'string' && path !== '' ? [{ path: join(root, path) }] : [],
  );
}

export const textContent = (text: string): ToolCallContent => wholeText(cut(text));

/** What is approved is shown in full, regardless of its length. */
export const wholeText = (text: string): ToolCallContent => ({
  type: 'content',
  content: { type: 'text', text: fenced(visible(text)) },
});

/** What will happen (AP-7): a diff where files change, else what a terminal would show. */
export function previewContent(
  preview: Preview,
  call: Pick<Approval, 'tool_name' | 'tool_params'>,
  root: string,
  words: Words,
): ToolCallContent[] {
  if (preview.kind === 'diff' && preview.files.every(hasTwoSides)) {
    return preview.files.map(({ path, diff, size_before }) => ({
      type: 'diff',
      path: join(root, path),
      ...sidesOf(diff),
      ...(size_before === null && { oldText: null }),
    }));
  }
  const lines = layOut(whatIsCalled(preview, call, words), COLUMNS, false);
  return [wholeText(lines.join('\n'))];
}

/** The result of a call. A change was already shown as a diff. */
export function resultContent(
  { result, error, exit_code = 0 }: Pick<EventPayload<'tool.result'>, 'result' | 'error' | 'exit_code'>,
  { said, activity }: Pick<Words, 'said' | 'activity'>,
): ToolCallContent[] | undefined {
  if (error) return [textContent(said(error.message))];
  const exit = exit_code === 0 ? '' : activity.exit(exit_code);
  if (typeof result !== 'object' || result === null || Array.isArray(result))
    return exit === '' ? undefined : [textContent(exit)];
  const { content, stdout, stderr, encoding } = result;
  if (typeof content === 'string' && encoding !== 'base64') return [textContent(content)];
  if (typeof stdout === 'string') {
    const printed = `${stdout}${typeof stderr === 'string' ? stderr : ''}`;
    // The exit code comes first, because a long output is cut at its end.
    return [textContent(exit === '' ? printed : `[${exit}]\n${printed}`)];
  }
  if ('changed_files' in result) return undefined;
  return [textContent(JSON.stringify(result, null, 2))];
}

/** Whether the two sides show the whole change: no binary file, nothing cut off, nothing that only words can say. */
function hasTwoSides({ truncated, unsaved, diff }: FileDiff): boolean {
  const { oldText, newText } = sidesOf(diff);
  return !truncated && unsaved !== true && oldText !== newText && !saysMore(diff);
}

/**
 * Whether there are notes before the first hunk: other permissions, another encoding, old content that is not shown.
 */
function saysMore(diff: string): boolean {
  const lines = parseUnifiedDiff(diff);
  const first = lines.findIndex(({ kind }) => kind === 'hunk');
  return lines.slice(0, Math.max(first, 0)).some(({ text }) => text !== 'new file mode 100644');
}

/** Both sides of a unified diff as far as it shows them; gaps have the same mark on both. */
function sidesOf(diff: string): { oldText: string; newText: string } {
  const before: string[] = [];
  const after: string[] = [];
  for (const { kind, text } of parseUnifiedDiff(diff)) {
    if (kind === 'note' || (kind === 'hunk' && before.length + after.length === 0)) continue;
    const shown = kind === 'hunk' ? '⋯' : text;
    if (kind !== 'added') before.push(shown);
    if (kind !== 'removed') after.push(shown);
  }
  return { oldText: visible(before.join('\n')), newText: visible(after.join('\n')) };
}

const cut = (text: string): string => (text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}\n…`);
