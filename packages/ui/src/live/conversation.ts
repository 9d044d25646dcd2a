import type { CallDecision } from '@countersign/approvals';
import {
  type CountersignEvent,
  type EventPayload,
  type Execution,
  type ExecutionStatus,
  isShortened,
  type JsonValue,
  type Message,
  type QueuedMessage,
  type RiskLevel,
  readModelResult,
  type ToolErrorValue,
} from '@countersign/protocol';

/** One message as the transcript shows it. */
export interface ChatMessage {
  readonly id: string;
  readonly role: Message['role'];
  readonly text: string;
  readonly isStreaming: boolean;
  readonly runId: string | null;
  /** The model of its run: `provider:model` or `manual`. */
  readonly model: string | undefined;
  readonly toolCalls: NonNullable<Message['tool_calls']>;
  /** Set on a note for the model: the result of this call came late. */
  readonly lateToolId: string | null;
  /** True if the conversation went back to before it: the agent no longer reads it. */
  readonly isRewound: boolean;
  readonly createdAt: string;
}

/** One tool call as the transcript shows it, live or from the history. */
export interface ChatCall {
  readonly toolId: string;
  readonly toolCallId: string;
  readonly runId: string | null;
  readonly toolName: string;
  readonly params: Readonly<Record<string, JsonValue>>;
  readonly status: ExecutionStatus;
  /** True after a successful undo. */
  readonly isUndone: boolean;
  /** True if it was cancelled before it began. */
  readonly isNotStarted: boolean;
  readonly risk: RiskLevel | null;
  readonly approvalId: string | null;
  readonly progress: number | null;
  readonly progressMessage: string | null;
  /** The last part of its output so far. */
  readonly output: string;
  /** Undefined if unknown; the result is fetched when the person opens the call. */
  readonly result: JsonValue | undefined;
  /** True if `result` is shortened, as the model got it. */
  readonly isShortened: boolean;
  readonly decision: CallDecision | null;
  readonly error: ToolErrorValue | null;
  readonly executionMs: number | null;
  /** Set if the call was a command that ended by itself. */
  readonly exitCode: number | undefined;
  readonly createdAt: string;
}

export type AgentState = EventPayload<'agent.state'>['state'];

export interface Conversation {
  readonly status: 'loading' | 'ready' | 'failed';
  readonly problem: string | null;
  readonly order: readonly string[];
  readonly messages: ReadonlyMap<string, ChatMessage>;
  readonly calls: ReadonlyMap<string, ChatCall>;
  /** Tool ids by run and the model's call id. A message names its calls by the latter until they have a tool id. */
  readonly callIds: ReadonlyMap<string, string>;
  readonly agent: AgentState;
  readonly runId: string | null;
  /** Messages that wait until the agent takes them, oldest first. */
  readonly queued: readonly QueuedMessage[];
}

export const emptyConversation: Conversation = {
  status: 'loading',
  problem: null,
  order: [],
  messages: new Map(),
  calls: new Map(),
  callIds: new Map(),
  agent: 'idle',
  runId: null,
  queued: [],
};

/** Limit for live output in the page, in characters. The call's result has all of it. */
const maxOutput = 16_000;

const callKey = (runId: string | null, toolCallId: string): string => `${runId ?? ''}/${toolCallId}`;

/** The call behind one entry of a message's `tool_calls`, once it is known. */
export function callOf(
  { calls, callIds }: Pick<Conversation, 'calls' | 'callIds'>,
  runId: string | null,
  { tool_id, tool_call_id }: ChatMessage['toolCalls'][number],
): ChatCall | undefined {
  const id = tool_id ?? callIds.get(callKey(runId, tool_call_id));
  return id === undefined ? undefined : calls.get(id);
}

/** Whether a note of the call's run says why the call ended, so that the call itself need not. */
export const isToldByNote = ({ messages }: Conversation, { runId, error, status }: ChatCall): boolean =>
  status === 'cancelled' &&
  error !== null &&
  [...messages.values()].some(
    ({ role, runId: noted, text }) => role === 'system' && noted === runId && text === error.message,
  );

/** Adds or replaces a message. `text` replaces the content of a message that is being streamed. */
export function withMessage(state: Conversation, message: Message, text = message.content): Conversation {
  const { message_id: id } = message;
  const known = state.messages.get(id);
  const next: Conversation = {
    ...state,
    order: known ? state.order : [...state.order, id],
    messages: new Map(state.messages).set(id, shownMessage(message, text, known)),
  };
  const call = message.tool_id === undefined ? undefined : state.calls.get(message.tool_id);
  return call ? withCall(next, withToolMessage(call, message)) : next;
}

function shownMessage(message: Message, text: string, known: ChatMessage | undefined): ChatMessage {
  const leftOut = message.omitted?.includes('tool_params') && known;
  return {
    id: message.message_id,
    role: message.role,
    // What a tool message or a late result says is for the model; the row of the call shows it to the person.
    text: message.tool_id === undefined ? text : '',
    isStreaming: !message.complete,
    runId: message.run_id,
    model: message.model,
    toolCalls: (leftOut ? known.toolCalls : message.tool_calls) ?? [],
    lateToolId: message.role === 'system' ? (message.tool_id ?? null) : null,
    isRewound: message.rewound ?? known?.isRewound ?? false,
    createdAt: message.created_at,
  };
}

/** The call with the result that its tool message has, unless the whole result is known. */
function withToolMessage(call: ChatCall, { role, content }: Message): ChatCall {
  if (role !== 'tool' || (call.result !== undefined && !call.isShortened)) return call;
  const told = readModelResult(content);
  if (told === undefined || told.status === 'rejected' || told.result === undefined) return call;
  return { ...call, result: told.result, isShortened: isShortened(content) };
}

export function withText(state: Conversation, id: string, text: string): Conversation {
  const known = state.messages.get(id);
  if (!known) return state;
  return { ...state, messages: new Map(state.messages).set(id, { ...known, text }) };
}

/** Merges the server's messages and calls, oldest first. Messages that only events have brought follow. */
export function withHistory(
  state: Conversation,
  messages: readonly Message[],
  executions: readonly Execution[],
  textOf: (message: Message) => string,
): Conversation {
  const shown = new Map(state.messages);
  const calls = new Map(state.calls);
  const callIds = new Map(state.callIds);
  for (const message of messages)
    shown.set(message.message_id, shownMessage(message, textOf(message), shown.get(message.message_id)));
  for (const execution of executions) {
    const call = callOfExecution(execution, calls.get(execution.tool_id));
    calls.set(call.toolId, call);
    callIds.set(callKey(call.runId, call.toolCallId), call.toolId);
  }
  for (const message of messages) {
    const call = message.tool_id === undefined ? undefined : calls.get(message.tool_id);
    if (call) calls.set(call.toolId, withToolMessage(call, message));
  }
  const stored = new Set(messages.map(({ message_id }) => message_id));
  const newer = state.order.filter((id) => !stored.has(id));
  return {
    ...state,
    status: 'ready',
    problem: null,
    order: [...stored, ...newer],
    messages: shown,
    calls,
    callIds,
  };
}

function callOfExecution(execution: Execution, known: ChatCall | undefined): ChatCall {
  return {
    ...(known ?? newCall(execution.tool_id)),
    toolCallId: execution.tool_call_id,
    runId: execution.run_id,
    toolName: execution.tool_name,
    params: known?.params ?? execution.tool_params,
    status: execution.status,
    isUndone: execution.undone_at !== null,
    isNotStarted: execution.not_started ?? false,
    risk: execution.risk_level,
    approvalId: execution.approval_id,
    decision: recordedDecision(execution) ?? known?.decision ?? impliedDecision(execution),
    error: execution.error,
    executionMs: execution.execution_time_ms,
    exitCode: execution.exit_code,
    createdAt: execution.created_at,
  };
}

const recordedDecision = ({ decision, approved_by }: Execution): CallDecision | undefined =>
  decision ? { ...decision, approvedBy: approved_by } : undefined;

/** The decision as the call's own status shows it: approved or rejected, but not where. */
function impliedDecision(execution: Execution): CallDecision | null {
  const { approved_by: approvedBy, approval_id, status } = execution;
  if (approvedBy === 'user' || approvedBy === 'config') return allowedBy(approvedBy, null);
  if (approval_id === null || (status !== 'rejected' && status !== 'timeout')) return null;
  return { ...allowedBy(approvedBy, null), status };
}

const allowedBy = (approvedBy: CallDecision['approvedBy'], scope: CallDecision['scope']): CallDecision => ({
  status: 'approved',
  approvedBy,
  scope,
  device: null,
  reason: null,
  message: null,
});

/** Applies the newest run from the server. The agent's state is the last event's, or else derived from the calls. */
export function withRun(
  state: Conversation,
  { run_id, status }: { readonly run_id: string; readonly status: string },
): Conversation {
  if (status !== 'running') return { ...state, runId: run_id, agent: 'idle' };
  const isKnown = state.runId === run_id && state.agent !== 'idle';
  return { ...state, runId: run_id, agent: isKnown ? state.agent : agentStateOf(state) };
}

function agentStateOf({ calls }: Conversation): AgentState {
  const statuses = new Set([...calls.values()].map(({ status }) => status));
  if (statuses.has('awaiting_approval')) return 'awaiting_approval';
  return statuses.has('executing') || statuses.has('approved') ? 'tool_execution' : 'thinking';
}

/** Whether a run is still active. Only the newest run of a conversation can be. */
export const isAtWork = ({ agent, runId }: Pick<Conversation, 'agent' | 'runId'>, run: string | null) =>
  agent !== 'idle' && runId === run;

/** Applies an event to its conversation, apart from message texts. */
export function withEvent(state: Conversation, event: CountersignEvent): Conversation {
  switch (event.event) {
    case 'tool.call': {
      const { data } = event;
      const known = state.calls.get(data.tool_id);
      // For a known call, this event only tells its new status; its parameters may be masked.
      if (known && data.status !== 'pending')
        return changeCall(state, data.tool_id, { status: data.status, risk: data.risk_level });
      return withCall(state, {
        ...(known ?? newCall(data.tool_id)),
        toolCallId: data.tool_call_id,
        runId: data.context.run_id,
        toolName: data.tool_name,
        params: data.tool_params,
        status: data.status,
        risk: data.risk_level,
        decision: data.approved_by ? allowedBy(data.approved_by, data.scope ?? null) : null,
        createdAt: data.timestamp,
      });
    }
    case 'tool.approval_request': {
      const { tool_id, approval_id, risk_level, context, tool_call_id, tool_name, tool_params } = event.data;
      const known = state.calls.get(tool_id) ?? {
        ...newCall(tool_id),
        toolCallId: tool_call_id,
        runId: context.run_id,
        toolName: tool_name,
        params: tool_params,
        createdAt: event.data.timestamp,
      };
      return withCall(state, {
        ...known,
        status: 'awaiting_approval',
        risk: risk_level,
        approvalId: approval_id,
      });
    }
    case 'approval.updated': {
      const { tool_id, tool_params, omitted, risk_level } = event.data;
      const params = omitted?.includes('tool_params') ? {} : { params: tool_params };
      return changeCall(state, tool_id, { ...params, risk: risk_level });
    }
    case 'approval.resolved': {
      const { tool_id, status, approved_by: approvedBy, device, scope = null, reason, message } = event.data;
      const known = state.calls.get(tool_id);
      if (!known) return state;
      const decision = { status, approvedBy, device, scope, reason, message };
      const settled = known.status === 'awaiting_approval' ? { status } : {};
      return changeCall(state, tool_id, { ...settled, decision });
    }
    case 'tool.progress': {
      const { tool_id, progress, message, output } = event.data;
      const known = state.calls.get(tool_id);
      if (!known) return state;
      return withCall(state, {
        ...known,
        status: known.status === 'approved' || known.status === 'pending' ? 'executing' : known.status,
        progress: progress ?? known.progress,
        progressMessage: message ?? known.progressMessage,
        output: output === null ? known.output : (known.output + output.chunk).slice(-maxOutput),
      });
    }
    case 'tool.result': {
      const { tool_id, status, result, error, execution_time_ms, exit_code, late, undo_id, omitted } =
        event.data;
      const { not_started: isNotStarted = false } = event.data;
      if (undo_id !== undefined)
        return status === 'completed' ? changeCall(state, tool_id, { isUndone: true }) : state;
      if (late) return state;
      const known = omitted?.includes('result') ? undefined : result;
      return changeCall(state, tool_id, {
        status,
        isNotStarted,
        ...(known !== null && { result: known, isShortened: false }),
        error,
        executionMs: execution_time_ms,
        exitCode: exit_code,
      });
    }
    case 'agent.state':
      return { ...state, agent: event.data.state, runId: event.data.run_id ?? state.runId };
    case 'session.rewound':
      return withRewound(state, event.data.message_id);
    case 'queue.changed':
      return { ...state, queued: event.data.queued };
    default:
      return state;
  }
}

/** Marks a message and all that follow it. */
function withRewound(state: Conversation, id: string): Conversation {
  const start = state.order.indexOf(id);
  if (start < 0) return state;
  const messages = new Map(state.messages);
  for (const later of state.order.slice(start)) {
    const message = messages.get(later);
    if (message) messages.set(later, { ...message, isRewound: true });
  }
  return { ...state, messages };
}

const newCall = (toolId: string): ChatCall => ({
  toolId,
  toolCallId: '',
  runId: null,
  toolName: '',
  params: {},
  status: 'pending',
  isUndone: false,
  isNotStarted: false,
  risk: null,
  approvalId: null,
  progress: null,
  progressMessage: null,
  output: '',
  result: undefined,
  isShortened: false,
  decision: null,
  error: null,
  executionMs: null,
  exitCode: undefined,
  createdAt: '',
});

function withCall(state: Conversation, call: ChatCall): Conversation {
  const key = callKey(call.runId, call.toolCallId);
  return {
    ...state,
    calls: new Map(state.calls).set(call.toolId, call),
    callIds: state.callIds.has(key) ? state.callIds : new Map(state.callIds).set(key, call.toolId),
  };
}

function changeCall(state: Conversation, toolId: string, change: Partial<ChatCall>): Conversation {
  const known = state.calls.get(toolId);
  return known ? withCall(state, { ...known, ...change }) : state;
}
