import { posix } from 'node:path';
import { isReadOnly, isRefused, type PolicyDecision, type ToolCallPolicy } from '@countersign/policy';
import {
  approvalTimeoutSeconds,
  describeCall,
  type ErrorCode,
  higherRisk,
  type PolicyRule,
  ruleWithoutExamples,
  type SessionMode,
} from '@countersign/protocol';
import { findCovering } from '../approve/covering-grants.ts';
import { scopesOffered } from '../approve/grants.ts';
import { readOnlyRefusal } from '../approve/read-only-sessions.ts';
import { digestOf, newId } from '../ids.ts';
import { Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow, GrantRow, Json, JsonObject, PayloadRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';
import { sizeOf } from './announcements.ts';
import type { CallContext, CallRequest } from './call-request.ts';
import { failure, moved, recordedReasons } from './execution-record.ts';

/** A call as the person's policy judged it, before it is recorded. */
export interface Judged {
  readonly policy: ToolCallPolicy;
  readonly decision: PolicyDecision;
  /** The version of the policy that judged it. */
  readonly version: number;
  readonly rules: readonly PolicyRule[];
  /** The parameters that will run: with the tool's defaults, and paths in their short form. */
  readonly params: JsonObject;
  readonly paramsDigest: string;
  readonly maskedParams: Json;
}

/** A new call as it is first announced: pending. */
export function newExecution(
  id: string,
  request: CallRequest,
  { decision: { assessed, verdict }, version, paramsDigest, maskedParams }: Judged,
  permission: Permission,
  runnerId: string | undefined,
  now: number,
): ExecutionRow {
  const runs = permission.kind === 'run';
  const asks = permission.kind === 'ask';
  return {
    id,
    user_id: request.userId,
    project_id: request.project.id,
    session_id: request.sessionId,
    run_id: request.run?.runId ?? null,
    step: request.run?.step ?? null,
    call_index: request.run?.index ?? null,
    tool_call_id: request.toolCallId,
    requested_by: request.requestedBy,
    tool_name: request.toolName,
    tool_params: maskedParams,
    params_digest: paramsDigest,
    status: 'pending',
    // If a rule asks about a harmless call, the person gets as much time to decide as for a MEDIUM call.
    risk_level: assessed && asks ? higherRisk(assessed.decision, 'MEDIUM') : (assessed?.decision ?? null),
    reasons: recordedReasons(verdict.reasons),
    network: assessed?.network ?? false,
    requires_approval: asks,
    approval_id: asks ? newId(now) : null,
    approved_by: runs ? permission.by : null,
    grant_id: runs ? (permission.grants[0]?.id ?? null) : null,
    further_grants:
      runs && permission.grants.length > 1 ? permission.grants.slice(1).map(({ id }) => id) : null,
    policy_version: version,
    allowed_by: runs && permission.rules.length > 0 ? permission.rules.map(ruleWithoutExamples) : null,
    digest: null,
    runner_id: runnerId ?? null,
    claimed_by: null,
    attempt: runs ? 1 : 0,
    due_at: null,
    cancel_requested: false,
    error: null,
    error_type: null,
    error_recoverable: null,
    execution_time_ms: null,
    exit_code: null,
    result_digest: null,
    undoable: false,
    undo_id: null,
    undo_runner_id: null,
    created_at: now,
    approved_at: runs ? now : null,
    started_at: null,
    completed_at: null,
    undo_error: null,
    undone_at: null,
    ...(permission.kind === 'refused' && failure(permission.code, permission.message, now)),
  };
}

/** A new call as it is stored: it passes its first states in one commit, and only the last is written (EX-2, PF-1). */
export function recordedAs(created: ExecutionRow, { kind }: Permission): ExecutionRow {
  if (kind === 'refused') return moved(created, 'failed');
  if (kind === 'ask') return moved(created, 'awaiting_approval');
  const approved = moved(created, 'approved');
  if (created.risk_level !== 'LOW' || created.runner_id === null) return approved;
  return { ...moved(approved, 'executing'), started_at: created.created_at };
}

export function newPayload(
  { id, user_id, created_at, tool_name, requires_approval: asks }: ExecutionRow,
  agent: string,
  { policy, decision, params }: Judged,
): PayloadRow {
  return {
    id,
    user_id,
    created_at,
    params_size: sizeOf(params),
    description: asks ? describeCall(agent, tool_name, params) : null,
    offered_scopes: asks ? scopesOffered(policy, decision) : null,
    requested_params: null,
    params,
  };
}

export function newApproval(
  execution: ExecutionRow,
  about: {
    readonly agent: string;
    readonly context: CallContext;
    readonly staleCount?: number;
    readonly isTried?: boolean;
  },
  now: number,
): ApprovalRow {
  const risk = execution.risk_level ?? 'MEDIUM';
  const seconds = approvalTimeoutSeconds[risk];
  return {
    id: execution.approval_id ?? newId(),
    user_id: execution.user_id,
    project_id: execution.project_id,
    session_id: execution.session_id,
    tool_id: execution.id,
    tool_call_id: execution.tool_call_id,
    tool_name: execution.tool_name,
    agent: about.agent,
    risk_level: risk,
    reasons: execution.reasons,
    network: execution.network,
    status: 'pending',
    revision: 1,
    timeout_seconds: seconds,
    deadline_at: now + seconds * 1000,
    digest: null,
    digest_base: null,
    previewed_by: null,
    trial: about.isTried === true ? 'wanted' : null,
    context: about.context,
    stale_count: about.staleCount ?? 0,
    decided_at: null,
    decided_device: null,
    decided_token: null,
    scope: null,
    reason: null,
    message: null,
    created_at: now,
    preview_size: 0,
    preview: null,
  };
}

/** Names of parameters that hold paths of the workspace, in any tool. */
const pathParameters: ReadonlySet<string> = new Set(['path', 'source', 'dest', 'cwd', 'files']);

/** The same digest however a call is written (AG-3): `./a.md` or `a.md`, with or without defaults. */
export function digestOfCall(
  { toolName, toolParams, project }: CallRequest,
  { call }: PolicyDecision,
): string {
  if (!call) return digestOf([toolName, toolParams]);
  const root = project.workspace ?? '/';
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(plain);
    return typeof value === 'string' ? posix.resolve(root, value) : value;
  };
  const params = Object.entries(call.params).map(([name, value]) => [
    name,
    pathParameters.has(name) ? plain(value) : value,
  ]);
  return digestOf([call.tool, Object.fromEntries(params)]);
}

/** Whether a new call is refused, asked about, or run at once because it is harmless or a grant or rule allows it. */
export type Permission =
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'ask' }
  | {
      readonly kind: 'run';
      readonly by: 'auto' | 'config';
      readonly grants: readonly GrantRow[];
      readonly rules: readonly PolicyRule[];
    };

/** At most this many approvals wait in one session (AG-3). */
const MAX_PENDING_APPROVALS = 10;
/** A call that was rejected this often is not asked again (AG-3). */
const MAX_REJECTIONS = 2;

/** Inside the unit that records a call: whether it may run, must be asked about, or is refused. */
export function* findPermission(
  tx: Transaction,
  request: CallRequest,
  { policy, decision, paramsDigest }: Judged,
  mode: SessionMode,
  now: number,
): Unit<Permission> {
  const { verdict, assessed, allowedBy, allowedWith = [], askedBy } = decision;
  if (isRefused(verdict)) return { kind: 'refused', code: verdict.code, message: verdict.message };
  if (mode === 'read_only' && !isReadOnly(decision)) return refusedWith(readOnlyRefusal(request.toolName));
  if (allowedBy) return { kind: 'run', by: 'config', grants: [], rules: [allowedBy, ...allowedWith] };
  if (verdict.decision === 'LOW') return { kind: 'run', by: 'auto', grants: [], rules: [] };
  const workspace = request.project.workspace ?? '';
  const live = yield* tx.liveGrants(request.userId, request.project.id, now);
  if (assessed) {
    const here = { sessionId: request.sessionId, workspace, risk: assessed.decision, askedBy, now };
    const covering = findCovering(policy, decision, live, here);
    if (covering) return { kind: 'run', by: 'config', ...covering };
  }
  const refusal = yield* whyNotAsked(tx, request, paramsDigest);
  return refusal ? refusedWith(refusal) : { kind: 'ask' };
}

const refusedWith = ({ code, message }: Refusal): Permission => ({ kind: 'refused', code, message });

/** Checks the limits of AG-3: per session, or over all sessions that one token opened. */
function* whyNotAsked(
  tx: Transaction,
  request: CallRequest,
  paramsDigest: string,
): Unit<Refusal | undefined> {
  const { userId, sessionId, opens, isOutsideAgent } = request;
  const requestedBy = isOutsideAgent || opens ? request.requestedBy : null;
  // Locks the row, so that concurrent calls count each other. A session that exists is locked already.
  if (opens) yield* tx.get('projects', request.project.id);
  const rejections = yield* tx.countRejections(userId, { paramsDigest, sessionId, requestedBy });
  if (rejections >= MAX_REJECTIONS) return new Refusal('REJECTED_BEFORE');
  const pending = Math.max(
    yield* tx.countPendingApprovals(sessionId),
    requestedBy === null ? 0 : yield* tx.countAwaiting(userId, requestedBy),
  );
  if (pending < MAX_PENDING_APPROVALS) return undefined;
  return new Refusal('TOO_MANY_PENDING', { limit: MAX_PENDING_APPROVALS });
}
