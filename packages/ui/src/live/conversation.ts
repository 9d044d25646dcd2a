import type {
  CountersignEvent,
  EventPayload,
  Execution,
  ExecutionStatus,
  JsonValue,
  Message,
  RiskLevel,
  ToolErrorValue,
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
  readonly risk: RiskLevel | null;
  readonly approvalId: string | null;
  readonly progress: number | null;
  readonly progressMessage: string | null;
  /** The end of what it has printed so far. */
  readonly output: string;
  /** Undefined if not known here: it is fetched when the person opens the call. */
  readonly result: JsonValue | undefined;
  readonly error: ToolErrorValue | null;
  readonly executionMs: number | null;
  /** Of a command that ended by itself. */
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
  /** Tool ids by run and the model's call id, which is how a message names calls that have no result yet. */
  readonly callIds: ReadonlyMap<string, string>;
  readonly agent: AgentState;
  readonly runId: string | null;
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
};

/** Live output kept in the page; all of it is in the call's result. */
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

/** Adds or replaces a message. `text` is given while it is being streamed. */
export function withMessage(state: Conversation, message: Message, text = message.content): Conversation {
  const { message_id: id } = message;
  const known = state.messages.get(id);
  const leftOut = message.omitted?.includes('tool_params') && known;
  const next: ChatMessage = {
    id,
    role: message.role,
    text,
    isStreaming: !message.complete,
    runId: message.run_id,
    model: message.model,
    toolCalls: (leftOut ? known.toolCalls : message.tool_calls) ?? [],
    createdAt: message.created_at,
  };
  return {
    ...state,
    order: known ? state.order : [...state.order, id],
    messages: new Map(state.messages).set(id, next),
  };
}

export function withText(state: Conversation, id: string, text: string): Conversation {
  const known = state.messages.get(id);
  if (!known) return state;
  return { ...state, messages: new Map(state.messages).set(id, { ...known, text }) };
}

/** The conversation as the server has it, oldest first; what came by events meanwhile follows. */
export function withHistory(
  state: Conversation,
  messages: readonly Message[],
  executions: readonly Execution[],
  textOf: (message: Message) => string,
): Conversation {
  let next: Conversation = { ...state, status: 'ready', problem: null };
  for (const message of messages) next = withMessage(next, message, textOf(message));
  const stored = messages.map(({ message_id }) => message_id);
  const newer = next.order.filter((id) => !stored.includes(id));
  next = { ...next, order: [...stored, ...newer] };
  for (const execution of executions) next = withExecution(next, execution);
  return next;
}

function withExecution(state: Conversation, execution: Execution): Conversation {
  const known = state.calls.get(execution.tool_id);
  return withCall(state, {
    ...(known ?? newCall(execution.tool_id)),
    toolCallId: execution.tool_call_id,
    runId: execution.run_id,
    toolName: execution.tool_name,
    params: known?.params ?? execution.tool_params,
    status: execution.status,
    isUndone: execution.undone_at !== null,
    risk: execution.risk_level,
    approvalId: execution.approval_id,
    error: execution.error,
    executionMs: execution.execution_time_ms,
    exitCode: execution.exit_code,
    createdAt: execution.created_at,
  });
}

/**
 * Applies the newest run from the server. Its state comes from the last event if there was one, else from its calls.
 */
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

/** Whether a run is still active. Only the newest one of a conversation can be. */
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
      const { tool_id, status } = event.data;
      const known = state.calls.get(tool_id);
      return known?.status === 'awaiting_approval' ? changeCall(state, tool_id, { status }) : state;
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
      if (undo_id !== undefined)
        return status === 'completed' ? changeCall(state, tool_id, { isUndone: true }) : state;
      if (late) return state;
      const known = omitted?.includes('result') ? undefined : result;
      return changeCall(state, tool_id, {
        status,
        result: known,
        error,
        executionMs: execution_time_ms,
        exitCode: exit_code,
      });
    }
    case 'agent.state':
      return { ...state, agent: event.data.state, runId: event.data.run_id ?? state.runId };
    default:
      return state;
  }
}

const newCall = (toolId: string): ChatCall => ({
  toolId,
  toolCallId: '',
  runId: null,
  toolName: '',
  params: {},
  status: 'pending',
  isUndone: false,
  risk: null,
  approvalId: null,
  progress: null,
  progressMessage: null,
  output: '',
  result: undefined,
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
