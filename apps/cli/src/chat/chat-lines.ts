import { type QueuedMessage, type SessionMode, visibleLine } from '@countersign/protocol';
import type { ActivityLines } from '../activity-line.ts';
import type { TerminalApprovals } from '../approvals/terminal-approvals.ts';
import type { LineEditor } from '../screen/line-editor.ts';
import { inputLines, layOut } from '../screen/paragraph.ts';
import { fit, spread } from '../screen/text-width.ts';
import { paints } from '../terminal.ts';
import type { Words } from '../words.ts';
import type { AgentState } from './run-follower.ts';

/** What a chat shows below its transcript, which scrolls away above. */
export interface ChatState {
  readonly words: Words;
  readonly color: boolean;
  readonly columns: number;
  readonly rows: number;
  readonly editor: LineEditor;
  readonly queued: readonly QueuedMessage[];
  readonly mode: SessionMode;
  /** What is wrong with the connection. */
  readonly trouble: string | undefined;
  /** A question that only y answers with yes. */
  readonly question: string | undefined;
  /** Undefined while no run is under way. */
  readonly run: { readonly state: AgentState; readonly isStopping: boolean } | undefined;
  /** True while cards of other conversations are shown too. */
  readonly isDeciding: boolean;
  readonly cards: Pick<TerminalApprovals, 'lines' | 'count' | 'otherCount'>;
  /** The lines of the reply that are not complete. */
  readonly tail: () => string[];
  readonly activity: Pick<ActivityLines, 'running' | 'runningOutput'>;
}

export function chatLines(state: ChatState): string[] {
  const { question, color, run, isDeciding } = state;
  if (question !== undefined) return [paints(color).yellow(question)];
  return run || isDeciding ? busyLines(state) : idleLines(state);
}

/** While the agent works, or the person decides: cards first, then what happens, the queue and what is typed. */
function busyLines(state: ChatState): string[] {
  const { words, color, columns, rows, editor, queued, run, cards, activity } = state;
  const paint = paints(color);
  const width = columns - 1;
  const isWriting = editor.text !== '';
  const hint = isWriting ? words.chat.writingHint : words.chat.queueHint;
  const below = [
    ...queuedLines(state),
    ...(isWriting || queued.length > 0
      ? [...inputLines(`${words.chat.prompt} `, editor, width, color), paint.dim(fit(hint, width))]
      : []),
  ];
  const card = cards.lines(columns, rows - 3 - below.length);
  const others = card.length > 0 ? 0 : cards.otherCount;
  const room = Math.max(rows - 4 - below.length, 1);
  const tail = state.tail();
  const output = tail.length > 0 ? [] : activity.runningOutput(columns);
  return [
    ...(card.length > 0 ? [] : [...tail, ...output].slice(-room)),
    ...card,
    ...troubleLines(state),
    ...(run && card.length === 0 ? [runLine(state, run)] : []),
    ...(others > 0 ? [paint.yellow(fit(words.chat.othersHint(others), width))] : []),
    ...below,
  ];
}

function idleLines(state: ChatState): string[] {
  const { words, color, columns, editor, cards, mode } = state;
  const paint = paints(color);
  const width = columns - 1;
  const isNotable = cards.count > 0 || mode !== 'ask';
  const pending = cards.count > 0 ? `${words.chat.pendingHint(cards.count)} · ` : '';
  const right = `${pending}${words.modes[mode].name}`;
  return [
    ...queuedLines(state),
    ...troubleLines(state),
    paint.dim('─'.repeat(width)),
    ...inputLines(`${words.chat.prompt} `, editor, width, color),
    spread(paint.dim(words.chat.inputHint), isNotable ? paint.yellow(right) : paint.dim(right), width),
  ];
}

const queuedLines = ({ queued, words, color, columns }: ChatState): string[] =>
  queued.map(({ content }) => paints(color).dim(fit(words.chat.queued(visibleLine(content)), columns - 1)));

const troubleLines = ({ trouble, color }: ChatState): string[] =>
  trouble === undefined ? [] : [paints(color).yellow(trouble)];

function runLine(
  { words, color, columns, mode, activity }: ChatState,
  run: NonNullable<ChatState['run']>,
): string {
  const { chat } = words;
  const paint = paints(color);
  if (run.isStopping) return paint.yellow(chat.stopping);
  const [call] = activity.running;
  const doing = {
    thinking: chat.thinking,
    tool_execution: call ?? chat.working,
    awaiting_approval: chat.waitingForApproval,
    idle: chat.working,
  }[run.state];
  const line = `${doing} · ${chat.stopHint} · ${words.modes[mode].name}`;
  return paint.dim(layOut([{ text: line }], columns - 1, false)[0] ?? '');
}
