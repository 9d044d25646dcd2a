import {
  type ApprovalStatus,
  type ApprovedBy,
  type ErrorCode,
  type ExecutionStatus,
  errorCodes,
  findTool,
  type JsonValue,
  tokenOfDevice,
  visibleLine,
} from '@countersign/protocol';
import { type CallWords, fill } from '@countersign/words';
import { callSummary } from './request-sentences.ts';
import type { ResultView } from './result-view.ts';

interface TitledCall {
  readonly toolName: string;
  readonly params: Readonly<Record<string, JsonValue>>;
  readonly status: ExecutionStatus;
}

/** Longer objects are cut: the title is one line, and the whole call is below it. */
const maxObject = 200;

/** A call as one line, in the tense of its state: `Reading src/app.ts`, `Ran npm test`. */
export function callTitle({ toolName, params, status }: TitledCall, { title, root }: CallWords): string {
  const name = findTool(toolName)?.name ?? 'other';
  const tenses = title[name as keyof typeof title];
  const template = status === 'completed' ? tenses.done : status === 'executing' ? tenses.doing : tenses.plan;
  const object = visibleLine(objectOf(toolName, params, root));
  return fill(template, {
    tool: visibleLine(toolName),
    object: object.length <= maxObject ? object : `${object.slice(0, maxObject - 1)}…`,
  }).trimEnd();
}

/** What a call is about. A search is about its pattern, wherever it looks. */
function objectOf(toolName: string, params: TitledCall['params'], root: string): string {
  const { path, content, pattern } = params;
  if (toolName === 'search_files') {
    const sought = [content, pattern].filter((part) => typeof part === 'string').join(' ');
    return typeof path === 'string' && path !== '.' ? `${sought} (${path})` : sought;
  }
  const object = callSummary(params);
  return object === '.' ? root : object;
}

/** Whether a rule refused the call. It is shown as blocked, not as failed, because nothing was tried. */
export const isBlocked = (
  status: ExecutionStatus,
  error: { readonly code: string } | null | undefined,
): boolean =>
  status === 'failed' &&
  !!error &&
  errorCodes[error.code as ErrorCode]?.status === 403 &&
  error.code !== 'PERMISSION_DENIED';

/** The outcome of a call in a few words; empty if the title says it all. */
export function callOutcome(view: ResultView, { outcome }: CallWords): string {
  const text = outcomeOf(view, outcome);
  return 'truncated' in view && view.truncated ? outcome.cut(text) : text;
}

function outcomeOf(view: ResultView, words: CallWords['outcome']): string {
  switch (view.kind) {
    case 'terminal':
      if (view.exitCode === null) return words.stopped;
      if (view.exitCode !== 0) return words.exit(view.exitCode);
      return [
        view.output === '' ? words.noOutput : words.lines(countLines(view.output)),
        ...(view.landing && view.landing.files.length > 0 ? [words.changed(view.landing.files.length)] : []),
      ].join(', ');
    case 'text':
      return words.lines(countLines(view.text));
    case 'picture':
      return words.picture;
    case 'listing':
      return words.entries(view.entries.length);
    case 'matches': {
      const count = view.files.reduce((sum, { matches }) => sum + matches.length, 0);
      return count === 0 ? words.noMatches : words.matches(count, view.files.length);
    }
    case 'diff':
      return view.files.length === 0 ? words.clean : words.files(view.files.length);
    case 'status':
      return view.status.files.length === 0 ? words.clean : words.files(view.status.files.length);
    case 'commits':
      return words.commits(view.commits.length);
    case 'branches':
      return words.branches(view.branches.length);
    case 'diagnostics':
      return view.diagnostics.length === 0 ? words.noProblems : words.problems(view.diagnostics.length);
    case 'symbols':
      return words.symbols(view.symbols.length);
    case 'locations':
      return words.places(view.locations.length);
    case 'changed':
      return view.lines ? `+${view.lines.added} −${view.lines.removed}` : '';
    case 'facts':
    case 'json':
      return '';
  }
}

const countLines = (text: string): number => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length);

/**
 * The state of a call as its row shows it. `nonzero` is a command that ended with an exit code other than 0 (TL-2).
 * `not_started` was cancelled before it began.
 */
export type CallState = ExecutionStatus | 'blocked' | 'undone' | 'nonzero' | 'not_started';

interface EndedCall {
  readonly status: ExecutionStatus;
  readonly isUndone: boolean;
  readonly isNotStarted: boolean;
  readonly exitCode: number | undefined;
  readonly error: { readonly code: string } | null;
}

export function callState({ status, isUndone, isNotStarted, exitCode, error }: EndedCall): CallState {
  if (status === 'cancelled' && isNotStarted) return 'not_started';
  if (status === 'completed' && isUndone) return 'undone';
  if (status === 'completed' && exitCode !== undefined && exitCode !== 0) return 'nonzero';
  return isBlocked(status, error) ? 'blocked' : status;
}

/** The state in a word or two. */
export const stateText = (state: CallState, { state: names }: CallWords): string =>
  names[state === 'nonzero' ? 'completed' : state];

/** Who or what settled the approval of a call. */
export interface CallDecision {
  readonly status: Exclude<ApprovalStatus, 'pending'>;
  readonly approvedBy: ApprovedBy | null;
  /** How much was approved: `once`, or the scope of the grant or rule. Null if that is not known. */
  readonly scope: string | null;
  /** Where it was decided; null if that is not known. */
  readonly device: string | null;
  readonly reason: string | null;
  readonly message: string | null;
}

/** One sentence about a decision, without its full stop. `isHere`: whether this front end made it, if that is known. */
export function decisionText(
  { status, approvedBy, scope, device }: CallDecision,
  isHere: boolean | undefined,
  { decided }: CallWords,
): string {
  if (status === 'timeout' || status === 'cancelled') return decided[status];
  if (status === 'approved' && approvedBy === 'config')
    return textFor(decided.allowedBy, scope) ?? decided.allowed;
  const place = isHere === true ? '' : placeText(device, isHere === undefined, decided);
  const wider = status === 'approved' ? (textFor(decided.wider, scope) ?? '') : '';
  return `${decided[status]}${place}${wider}`;
}

/** Where a decision was made, with a space before it; empty if that is not known and `mayBeHere`. */
export function placeText(device: string | null, mayBeHere: boolean, decided: CallWords['decided']): string {
  if (device === null) return mayBeHere ? '' : decided.elsewhere;
  const token = tokenOfDevice(device);
  if (token !== undefined) return decided.withToken(visibleLine(token));
  const name = visibleLine(device);
  if (name.startsWith('terminal on ')) return decided.inTerminal;
  // The extension calls itself VS Code; other programs name their machine too, such as "Chrome on Linux".
  return name === 'VS Code' || / on /.test(name) ? decided.inProgram(name) : decided.onDevice(name);
}

const textFor = (table: Readonly<Record<string, string>>, key: string | null): string | undefined =>
  key !== null && Object.hasOwn(table, key) ? table[key] : undefined;
