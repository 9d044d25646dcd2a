import { join } from 'node:path';
import type { ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind } from '@agentclientprotocol/sdk';
import { parseUnifiedDiff, resultText, resultView } from '@countersign/approvals';
import {
  type Approval,
  type EventPayload,
  type ExecutionStatus,
  fenced,
  findTool,
  type JsonValue,
  type Preview,
} from '@countersign/protocol';
import { callParagraphs } from '../approvals/approval-card.ts';
import { layOut, visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import { type DiffSides, firstChangedLine, hunkSides, wholeSides } from './whole-diff.ts';

type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];
type Params = Readonly<Record<string, JsonValue>>;

/** Longer results are cut in the editor; the history has them in full. */
const MAX_SHOWN = 20_000;
const COLUMNS = 100;

/** The kind of a tool in ACP, which decides the icon in the editor. */
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

/** The files that a call is about, for editors that follow along; of a change, the line where it begins. */
export function locationsOf(root: string, params: Params, preview?: Preview | null): ToolCallLocation[] {
  const files = preview?.kind === 'diff' ? preview.files : [];
  if (files.length > 0)
    return files.map(({ path, diff }) => locationAt(join(root, path), firstChangedLine(diff)));
  const line = typeof params.line === 'number' ? params.line : params.start_line;
  return [params.path, params.dest].flatMap((path) =>
    typeof path === 'string' && path !== '' ? [locationAt(join(root, path), line)] : [],
  );
}

const locationAt = (path: string, line: JsonValue | undefined): ToolCallLocation => ({
  path,
  ...(typeof line === 'number' && { line }),
});

/** Shows a text; cuts off the end if it is long. */
export const textContent = (text: string): ToolCallContent =>
  wholeText(text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}\n…`);

/** Shows a command's output; cuts off the beginning if it is long. */
export const outputContent = (text: string): ToolCallContent =>
  wholeText(text.length <= MAX_SHOWN ? text : `…\n${text.slice(-MAX_SHOWN)}`);

/** Shows the full text: whatever a person approves must not be cut. */
export const wholeText = (text: string): ToolCallContent => ({
  type: 'content',
  content: { type: 'text', text: fenced(visible(text)) },
});

/**
 * The preview (AP-7): as diffs if files change, else as the text that a terminal would show. `textOf` reads a file as the
 * person sees it; with it, a diff has the whole old and new text; without it, only the lines of the hunks.
 */
export async function previewContent(
  preview: Preview,
  call: Pick<Approval, 'tool_name' | 'tool_params'>,
  root: string,
  words: Words,
  textOf: (path: string) => Promise<string | undefined>,
): Promise<ToolCallContent[]> {
  const inWords = () => [wholeText(layOut(callParagraphs(preview, call, words), COLUMNS, false).join('\n'))];
  if (preview.kind !== 'diff' || !preview.files.every(hasTwoSides)) return inWords();
  const shown: ToolCallContent[] = [];
  for (const file of preview.files) {
    const path = join(root, file.path);
    const isNew = file.size_before === null;
    const text = isNew ? '' : await textOf(path);
    const whole = text === undefined ? undefined : wholeSides(file.diff, text);
    // Without the editor's own text, words must say that the change is based on an unsaved buffer.
    if (file.unsaved === true && !whole) return inWords();
    const sides: DiffSides = whole ?? hunkSides(file.diff);
    shown.push({ type: 'diff', path, ...sides, ...(isNew && { oldText: null }) });
    if (file.unsaved === true) shown.push(wholeText(words.card.unsaved));
  }
  return shown;
}

/** The change of a file by a call that needed no approval, taken from its parameters; undefined for other calls. */
export function changeContent(tool: string, params: Params, root: string): ToolCallContent[] | undefined {
  const { path, old, new: renewed } = params;
  if (tool !== 'edit_file' || typeof path !== 'string') return undefined;
  if (typeof old !== 'string' || typeof renewed !== 'string') return undefined;
  return [{ type: 'diff', path: join(root, path), oldText: visible(old), newText: visible(renewed) }];
}

type Result = Pick<EventPayload<'tool.result'>, 'result' | 'error' | 'exit_code' | 'not_started'>;

/** The result of a call as a person would print it; undefined for a change, which is shown as a diff. */
export function resultContent(
  tool: string,
  params: Params,
  { result, error, exit_code = 0, not_started: isNotStarted }: Result,
  { told: tell, activity, calls }: Pick<Words, 'told' | 'activity' | 'calls'>,
): ToolCallContent[] | undefined {
  const view = resultView(tool, params, result);
  if (view.kind === 'picture')
    return [{ type: 'content', content: { type: 'image', data: view.base64, mimeType: view.mediaType } }];
  // A note in the conversation already says why the call was not started, such as a stop.
  const told = isNotStarted
    ? activity.not_started
    : error
      ? tell(error)
      : exit_code === 0
        ? ''
        : activity.exit(exit_code);
  if (error && view.kind !== 'terminal') return [textContent(told)];
  if (view.kind === 'changed') return undefined;
  const printed = resultText(view, calls);
  if (printed === '') return told === '' ? undefined : [textContent(told)];
  const content = view.kind === 'terminal' ? outputContent(printed) : textContent(printed);
  // The outcome comes first, because a long output pushes it out of sight otherwise.
  return told === '' ? [content] : [textContent(told), content];
}

/** Whether old and new text show the whole change: not binary, not truncated, and no notes in the diff. */
function hasTwoSides({ truncated, diff }: FileDiff): boolean {
  const { oldText, newText } = hunkSides(diff);
  return !truncated && oldText !== newText && !hasNotes(diff);
}

/**
 * Whether there are notes before the first hunk: other permissions, another encoding, old content that is not shown.
 */
function hasNotes(diff: string): boolean {
  const lines = parseUnifiedDiff(diff);
  const first = lines.findIndex(({ kind }) => kind === 'hunk');
  return lines.slice(0, Math.max(first, 0)).some(({ text }) => text !== 'new file mode 100644');
}
