import {
  defaultLimits,
  describeCall,
  describeError,
  isFinal,
  maxEventBytes,
  type PolicyRule,
  type ToolErrorValue,
} from '@countersign/protocol';
import type { ApprovalRow, ExecutionRow, GrantRow, Json, JsonObject, ShownPayload } from '../rows.ts';
import { type EventData, fits, isoTime, makeEvent, type ServerEvent } from './announcements.ts';
import type { CallContext } from './call-request.ts';

/**
 * Events about one call, made from its rows. Each stays under 64 KB: clients fetch larger parts by id (EV-2). Parameters
 * that are known to be larger are not read; they are null here.
 */

type Omittable = 'tool_params' | 'preview' | 'result';

const shownParams = (params: JsonObject | null): { tool_params: JsonObject; omitted?: Omittable[] } =>
  params === null ? { tool_params: {}, omitted: ['tool_params'] } : { tool_params: params };
const pathRules = (rules: readonly PolicyRule[]) => (rules.length > 0 ? { path_rules: rules } : {});
const placeOf = ({ project_id, session_id }: { project_id: string; session_id: string }) => ({
  project_id,
  session_id,
});
const toolOf = (row: ExecutionRow) => ({
  tool_id: row.id,
  ...placeOf(row),
  tool_call_id: row.tool_call_id,
  tool_name: row.tool_name,
});

/** `allowed`: what allows the call, if nobody is asked about it. */
export const callEvent = (
  row: ExecutionRow,
  params: JsonObject | null,
  context: CallContext,
  now: number,
  allowed: Pick<EventData<'tool.call'>, 'approved_by' | 'scope'> = {},
): ServerEvent =>
  makeEvent(
    'tool.call',
    fit({
      ...toolOf(row),
      ...shownParams(params),
      risk_level: row.risk_level,
      requires_approval: row.requires_approval,
      ...allowed,
      status: row.status,
      context,
      timestamp: isoTime(now),
    }),
  );

/** The new state of a call. Clients already know its parameters. */
export const statusEvent = (row: ExecutionRow, now: number): ServerEvent =>
  callEvent(row, null, { message_id: null, run_id: row.run_id, step: row.step, excerpt: '' }, now);

export const signalEvent = (
  row: ExecutionRow,
  params: JsonObject | null,
  [grant, ...furtherGrants]: readonly GrantRow[],
  rules: readonly PolicyRule[],
  now: number,
): ServerEvent =>
  makeEvent(
    'tool.execution_signal',
    fit({
      ...toolOf(row),
      ...(row.run_id !== null && { run_id: row.run_id }),
      ...shownParams(params),
      risk_level: row.risk_level ?? 'LOW',
      network: row.network,
      attempt: row.attempt,
      runner_id: row.runner_id,
      approved_by: row.approved_by ?? 'auto',
      approval_id: row.approval_id,
      grant_id: row.grant_id,
      grant: grant ? predicateOf(grant) : null,
      ...(furtherGrants.length > 0 && { further_grants: furtherGrants.map(predicateOf) }),
      rule: row.allowed_by?.[0] ?? null,
      ...(row.allowed_by && row.allowed_by.length > 1 && { further_rules: row.allowed_by.slice(1) }),
      ...pathRules(rules),
      digest: row.digest,
      timestamp: isoTime(now),
    }),
  );

/** What a grant covers, in the form that the runner checks as well (AP-4). */
export const predicateOf = (grant: GrantRow) => ({
  scope: grant.scope,
  tool: grant.tool,
  pattern: grant.pattern,
  max_risk: grant.max_risk,
  session_id: grant.session_id,
  workspace: grant.workspace,
  expires_at: grant.expires_at === null ? null : isoTime(grant.expires_at),
});

/** An approval as front ends show it. `now` is the store's time. `omitted` lists the parts that were not read. */
export function approvalView(row: ApprovalRow, payload: ShownPayload, now: number) {
  const { tool_params, omitted: notRead = [] } = shownParams(payload.params);
  const omitted: Omittable[] = [...notRead];
  if (row.preview === null && row.preview_size > 0) omitted.push('preview');
  return {
    approval_id: row.id,
    tool_id: row.tool_id,
    tool_call_id: row.tool_call_id,
    ...placeOf(row),
    agent: row.agent,
    tool_name: row.tool_name,
    description: payload.description ?? describeCall(row.agent, row.tool_name, {}),
    tool_params,
    risk_level: row.risk_level,
    reasons: row.reasons,
    network: row.network,
    status: row.status,
    revision: row.revision,
    ...(row.stale_count > 0 && { asked_before: row.stale_count }),
    timeout_seconds: row.timeout_seconds,
    remaining_ms: Math.max(0, Math.round(row.deadline_at - now)),
    expires_at: isoTime(row.deadline_at),
    runner_id: row.previewed_by,
    ...(row.trial !== null && { trying: true }),
    preview: row.preview,
    digest: row.digest,
    digest_base: row.digest_base,
    offered_scopes: payload.offered_scopes ?? [],
    context: row.context,
    created_at: isoTime(row.created_at),
    ...(omitted.length > 0 && { omitted }),
  };
}

/** `rules` are the path rules that the previewing runner applies (VA-8). */
export function approvalRequestEvent(
  row: ApprovalRow,
  payload: ShownPayload,
  rules: readonly PolicyRule[],
  now: number,
): ServerEvent<'tool.approval_request'> {
  const { status: _status, created_at: _created, ...view } = approvalView(row, payload, now);
  return makeEvent('tool.approval_request', fit({ ...view, ...pathRules(rules), timestamp: isoTime(now) }));
}

export function approvalUpdatedEvent(
  row: ApprovalRow,
  payload: ShownPayload,
  rules: readonly PolicyRule[],
  now: number,
): ServerEvent {
  const {
    status: _s,
    created_at: _c,
    tool_call_id: _t,
    agent: _a,
    tool_name: _n,
    context: _x,
    asked_before: _b,
    ...view
  } = approvalView(row, payload, now);
  return makeEvent('approval.updated', fit({ ...view, ...pathRules(rules), timestamp: isoTime(now) }));
}

export const approvalResolvedEvent = (
  row: ApprovalRow,
  resolution: {
    status: EventData<'approval.resolved'>['status'];
    /** Who approved it: the person, or a grant or rule of theirs. */
    approvedBy?: EventData<'approval.resolved'>['approved_by'];
    device?: string | null;
    scope?: EventData<'approval.resolved'>['scope'];
    grantId?: string | null;
    error?: ToolErrorValue | null;
  },
  now: number,
): ServerEvent =>
  makeEvent('approval.resolved', {
    approval_id: row.id,
    tool_id: row.tool_id,
    ...placeOf(row),
    status: resolution.status,
    approved_by: resolution.approvedBy ?? null,
    grant_id: resolution.grantId ?? null,
    device: resolution.device ?? null,
    scope: resolution.scope ?? null,
    reason: row.reason,
    message: row.message,
    ...(resolution.error && { error: resolution.error }),
    timestamp: isoTime(now),
  });

export function resultEvent(
  row: ExecutionRow,
  result: Json,
  now: number,
  { late = false }: { late?: boolean } = {},
): ServerEvent {
  const { status } = row;
  if (!isFinal(status)) throw new Error(`The call ${row.id} has no result: it is ${status}`);
  return makeEvent(
    'tool.result',
    fit({
      ...toolOf(row),
      status,
      result,
      error: errorOf(row),
      execution_time_ms: row.execution_time_ms,
      ...(row.exit_code !== null && { exit_code: row.exit_code }),
      ...(isNotStarted(row) && { not_started: true }),
      late,
      timestamp: isoTime(now),
    }),
  );
}

export const ackEvent = (toolId: string, now: number, attempt: number | undefined): ServerEvent =>
  makeEvent('tool.result_ack', {
    tool_id: toolId,
    status: 'received',
    ...(attempt !== undefined && { attempt }),
    timestamp: isoTime(now),
  });

export const cancelEvent = (row: ExecutionRow, reason: string, now: number): ServerEvent =>
  makeEvent('tool.cancel', { tool_id: row.id, ...placeOf(row), reason, timestamp: isoTime(now) });

export const progressEvent = (
  row: Pick<ExecutionRow, 'id' | 'project_id' | 'session_id'>,
  { progress, message, output }: Pick<EventData<'tool.progress'>, 'progress' | 'message' | 'output'>,
  now: number,
): ServerEvent =>
  makeEvent('tool.progress', {
    tool_id: row.id,
    ...placeOf(row),
    progress,
    message,
    output: output && { ...output, chunk: shortChunk(output.chunk) },
    timestamp: isoTime(now),
  });

/** Cuts a chunk that is too large as JSON (a control character takes six bytes); the result has the whole output. */
const shortChunk = (chunk: string): string =>
  Buffer.byteLength(JSON.stringify(chunk)) <= maxEventBytes - 4096 ? chunk : chunk.slice(0, 10_000);

export const fileChangedEvents = (row: ExecutionRow, result: Json, now: number): ServerEvent[] =>
  changedFilesOf(result).map(({ path, operation }) =>
    makeEvent('file.changed', {
      tool_id: row.id,
      ...placeOf(row),
      path,
      operation,
      timestamp: isoTime(now),
    }),
  );

type Operation = 'created' | 'modified' | 'deleted';

/** The files that a result says it changed; entries of another shape are ignored. */
export function changedFilesOf(result: Json): { path: string; operation: Operation }[] {
  const listed = (result as JsonObject | null)?.changed_files;
  if (!Array.isArray(listed)) return [];
  return listed.slice(0, 1000).flatMap((item: Json) => {
    const { path, operation } = (item ?? {}) as { path?: unknown; operation?: unknown };
    const isKnown = operation === 'created' || operation === 'modified' || operation === 'deleted';
    const isPath = typeof path === 'string' && path.length <= defaultLimits.pathBytes;
    return isPath && isKnown ? [{ path, operation }] : [];
  });
}

/** Whether a call was cancelled before it began. */
export const isNotStarted = ({ status, started_at }: ExecutionRow): boolean =>
  status === 'cancelled' && started_at === null;

/** The error of a call that ended without completing. */
export function errorOf(
  row: Pick<ExecutionRow, 'status' | 'error' | 'error_type' | 'error_recoverable'>,
): ToolErrorValue | null {
  if (row.status === 'completed' || !isFinal(row.status)) return null;
  const { code, message, recoverable } = describeError(row.error_type ?? 'EXECUTION_FAILED');
  return { code, message: row.error ?? message, recoverable: row.error_recoverable ?? recoverable };
}

/** An approval as a list entry: clients fetch large parts with the approval itself (EV-2). */
export const listedApproval = (...about: Parameters<typeof approvalView>): ReturnType<typeof approvalView> =>
  fit(approvalView(...about));

/** The parts of an event that may be too large for it. */
interface LargeParts {
  readonly result?: Json;
  readonly preview?: ApprovalRow['preview'];
  readonly tool_params?: JsonObject;
  readonly omitted?: readonly Omittable[];
  readonly reasons?: ApprovalRow['reasons'];
}

/** Leaves out large parts until the event fits, and names them in `omitted`. */
function fit<T extends LargeParts>(data: T): T {
  let shown = data;
  for (const part of ['result', 'preview', 'tool_params'] as const) {
    if (fits(shown)) return shown;
    const { omitted = [] } = shown;
    if (shown[part] === undefined || shown[part] === null || omitted.includes(part)) continue;
    shown = { ...shown, [part]: part === 'tool_params' ? {} : null, omitted: [...omitted, part] };
  }
  if (fits(shown) || !shown.reasons) return shown;
  // A shell line may have a reason for each of its hundred commands: keep the first ones.
  const rest = shown.reasons.length - 20;
  if (rest <= 0) return shown;
  const more = { rule: 'MORE', why: `and ${rest} more reasons; fetch the approval to see them` };
  return { ...shown, reasons: [...shown.reasons.slice(0, 20), more] };
}
