import type { BuiltInToolCall, BuiltInToolName, EventPayload } from '@countersign/protocol';
import type { CallContext, Executor, ToolResult } from './executor.ts';
import { shownView } from './preview/call-digest.ts';
import type { ApprovalRequest, ExecutionSignal } from './runner-api.ts';
import type { ToolHandler } from './tool-handler.ts';

/** A small real executor. The test decides what it does and when. */
export class ScriptedExecutor implements Executor {
  readonly tools: readonly BuiltInToolName[];
  readonly executed: { readonly call: BuiltInToolCall; readonly context: CallContext }[] = [];
  isDisposed = false;
  readonly #work: (call: BuiltInToolCall, context: CallContext) => Promise<ToolResult> | ToolResult;

  constructor(
    tools: readonly BuiltInToolName[],
    work: (call: BuiltInToolCall, context: CallContext) => Promise<ToolResult> | ToolResult,
  ) {
    this.tools = tools;
    this.#work = work;
  }

  async execute(call: BuiltInToolCall, context: CallContext): Promise<ToolResult> {
    this.executed.push({ call, context });
    return this.#work(call, context);
  }

  async dispose(): Promise<void> {
    this.isDisposed = true;
  }
}

const place = { project_id: 'project', session_id: 'session' };
const timestamp = '2026-11-15T12:00:00.000Z';

export const readSignal = (over: Partial<ExecutionSignal> = {}): ExecutionSignal => ({
  ...place,
  tool_id: 'tool-1',
  tool_call_id: 'call-1',
  tool_name: 'read_file',
  tool_params: { path: 'README.md' },
  risk_level: 'LOW',
  network: false,
  attempt: 1,
  runner_id: 'runner-1',
  approved_by: 'auto',
  approval_id: null,
  grant_id: null,
  grant: null,
  rule: null,
  digest: null,
  timestamp,
  ...over,
});

/** A signal that a person approved. The caller passes the digest. */
export const writeSignal = (over: Partial<ExecutionSignal> = {}): ExecutionSignal =>
  readSignal({
    tool_name: 'write_file',
    tool_params: { path: 'notes.md', content: 'new\n' },
    risk_level: 'MEDIUM',
    approved_by: 'user',
    approval_id: 'approval-1',
    ...over,
  });

/** The digest of the card that a person would approve now, at the machine of this handler. */
export async function shownDigestOf(handler: ToolHandler, signal: ExecutionSignal): Promise<string> {
  const own = handler.decide(signal.tool_name, signal.tool_params);
  if (!own.call) throw new Error(JSON.stringify(own.verdict));
  return shownView(signal, own, await handler.previews.preview(own.call, own)).digest;
}

export const approvalRequest = (over: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  ...place,
  approval_id: 'approval-1',
  tool_id: 'tool-1',
  tool_call_id: 'call-1',
  agent: 'Agent',
  tool_name: 'write_file',
  description: 'Agent wants to change notes.md',
  tool_params: { path: 'notes.md', content: 'new\n' },
  risk_level: 'MEDIUM',
  reasons: [],
  network: false,
  revision: 1,
  timeout_seconds: 300,
  remaining_ms: 300_000,
  expires_at: '2026-11-15T12:05:00.000Z',
  runner_id: null,
  preview: null,
  digest: null,
  digest_base: null,
  offered_scopes: [],
  context: { message_id: null, run_id: null, step: null, excerpt: '' },
  timestamp,
  ...over,
});

export function approvalUpdate(
  request: ApprovalRequest,
  over: Partial<EventPayload<'approval.updated'>>,
): EventPayload<'approval.updated'> {
  const { tool_call_id: _t, agent: _a, tool_name: _n, context: _c, ...kept } = request;
  return { ...kept, ...over };
}

export const approvalResolved = (
  over: Partial<EventPayload<'approval.resolved'>> = {},
): EventPayload<'approval.resolved'> => ({
  ...place,
  approval_id: 'approval-1',
  tool_id: 'tool-1',
  status: 'approved',
  approved_by: 'user',
  grant_id: null,
  device: null,
  reason: null,
  message: null,
  timestamp,
  ...over,
});
