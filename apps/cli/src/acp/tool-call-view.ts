import { join } from 'node:path';
import type { ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind } from '@agentclientprotocol/sdk';
import {
  factLines,
  parseUnifiedDiff,
  previewLines,
  resultText,
  resultView,
  type TrialFile,
  type TrialOutcome,
  trialLines,
  trialOf,
} from '@countersign/approvals';
import {
  type Approval,
  type EventPayload,
  type ExecutionStatus,
  fenced,
  findTool,
  type JsonValue,
  type Preview,
} from '@countersign/protocol';
import { callParagraphs, previewParagraphs } from '../approvals/approval-card.ts';
import { layOut, visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import { type DiffSides, firstChangedLine, hunkSides, wholeSides } from './whole-diff.ts';

type FileDiff = Extract<Preview, { kind: 'diff' }>['files'][number];
type CommandPreview = Extract<Preview, { kind: 'command' }>;
type Params = Readonly<Record<string, JsonValue>>;

/** Longer results are cut in the editor; the history has them in full. */
const MAX_SHOWN = 20_000;
const COLUMNS = 100;
/** How many files of a command are shown as diffs: an editor draws each. Of a trial, words show the others. */
export const maxDiffs = 50;

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
  const trial = preview.kind === 'command' ? trialOf({ preview }) : undefined;
  if (preview.kind === 'command' && trial) return trialContent(preview, trial, call, root, words);
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

/** A tried command: what it did, the changed files as diffs as far as an editor can draw them, and the rest in words. */
function trialContent(
  preview: CommandPreview,
  trial: TrialOutcome,
  call: Pick<Approval, 'tool_name' | 'tool_params'>,
  root: string,
  words: Words,
): ToolCallContent[] {
  const drawn = trial.files.filter(isDrawable).slice(0, maxDiffs);
  const others = trial.files.filter((file) => !drawn.includes(file));
  const deleted = others.filter(({ change }) => change === 'deleted');
  const counts = { ...trial.counts };
  for (const { change } of [...drawn, ...deleted]) counts[change] -= 1;
  const silent = { stdout: '', stderr: '' };
  const inWords = (part: Partial<TrialOutcome>) =>
    previewParagraphs({ ...preview, trial: { ...trial, ...part } }, words, linesBelowFacts);
  const facts = [
    ...callParagraphs(preview, call, words, factsAndOutcome),
    ...inWords({ files: deleted, counts: { ...noCounts, deleted: deleted.length }, ...silent }),
  ];
  const rest = inWords({ files: others.filter((file) => !deleted.includes(file)), counts });
  return [
    wholeText(layOut(facts, COLUMNS, false).join('\n')),
    ...drawn.map(({ path, change, diff = '' }): ToolCallContent => {
      const sides = hunkSides(diff);
      return {
        type: 'diff',
        path: join(root, path),
        ...sides,
        ...(change === 'created' && { oldText: null }),
      };
    }),
    ...(rest.length === 0 ? [] : [wholeText(layOut(rest, COLUMNS, false).join('\n').trim())]),
  ];
}

const noCounts: TrialOutcome['counts'] = { created: 0, modified: 0, deleted: 0, mode: 0 };

const factsAndOutcome: typeof previewLines = (preview, ...more) => [
  ...factLines(preview, ...more),
  { text: '' },
  ...trialLines(preview, ...more),
];

const linesBelowFacts: typeof previewLines = (preview, ...more) =>
  previewLines(preview, ...more).slice(factsAndOutcome(preview, ...more).length);

const isDrawable = ({ diff = '', truncated = false }: TrialFile): boolean =>
  diff !== '' && hasTwoSides({ diff, truncated });

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
function hasTwoSides({ truncated, diff }: Pick<FileDiff, 'truncated' | 'diff'>): boolean {
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
