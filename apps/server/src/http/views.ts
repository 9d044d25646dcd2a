import { posix } from 'node:path';
import {
  type ExecutionRow,
  errorOf,
  type GrantRow,
  isNotStarted,
  type JsonObject,
  type ProjectRow,
  predicateOf,
  type RunRow,
  type TokenRow,
} from '@countersign/engine';
import type { CallDecision, Execution } from '@countersign/protocol';

/** Converts rows to the shapes of the protocol. */

export const isoTime = (at: number): string => new Date(at).toISOString();
const isoTimeOrNull = (at: number | null): string | null => (at === null ? null : isoTime(at));

export const projectView = ({ id, name, workspace, created_at }: ProjectRow) => ({
  project_id: id,
  name,
  workspace,
  created_at: isoTime(created_at),
});

export const runView = (row: RunRow) => ({
  run_id: row.id,
  session_id: row.session_id,
  model: row.model,
  status: row.status,
  steps: row.step,
  input_tokens: row.input_tokens,
  output_tokens: row.output_tokens,
  error: row.error,
  created_at: isoTime(row.created_at),
  ended_at: isoTimeOrNull(row.ended_at),
});

export const tokenView = (row: TokenRow) => ({
  token_id: row.id,
  name: row.name,
  scope: row.scope,
  project_id: row.project_id,
  created_at: isoTime(row.created_at),
  expires_at: isoTimeOrNull(row.expires_at),
  last_used_at: isoTimeOrNull(row.last_used_at),
  revoked_at: isoTimeOrNull(row.revoked_at),
});

export const grantView = (row: GrantRow) => ({
  ...predicateOf(row),
  grant_id: row.id,
  project_id: row.project_id,
  uses: row.uses,
  created_at: isoTime(row.created_at),
  revoked_at: isoTimeOrNull(row.revoked_at),
});

/** `params` are the full parameters, for their owner; the row's own are masked (DA-3). */
export function executionView(
  row: ExecutionRow,
  { decision, params }: { decision: CallDecision | undefined; params?: JsonObject | undefined },
): Execution {
  return {
    tool_id: row.id,
    project_id: row.project_id,
    session_id: row.session_id,
    run_id: row.run_id,
    tool_call_id: row.tool_call_id,
    tool_name: row.tool_name,
    tool_params: (params ?? row.tool_params ?? {}) as Execution['tool_params'],
    status: row.status,
    risk_level: row.risk_level,
    reasons: [...row.reasons],
    requires_approval: row.requires_approval,
    approval_id: row.approval_id,
    approved_by: row.approved_by,
    grant_id: row.grant_id,
    runner_id: row.runner_id,
    digest: row.digest,
    attempt: row.attempt,
    error: errorOf(row),
    execution_time_ms: row.execution_time_ms,
    ...(row.exit_code !== null && { exit_code: row.exit_code }),
    ...(isNotStarted(row) && { not_started: true }),
    undoable: row.undoable && row.undone_at === null,
    created_at: isoTime(row.created_at),
    approved_at: isoTimeOrNull(row.approved_at),
    completed_at: isoTimeOrNull(row.completed_at),
    undone_at: isoTimeOrNull(row.undone_at),
    decision: decision ?? null,
  };
}

/** Normalises a workspace root, so that a project and a runner with the same folder match (EX-10). */
export function workspaceRoot(path: string): string {
  const plain = path.startsWith('/') ? posix.normalize(path) : path;
  return plain.length > 1 ? plain.replace(/(?<=[^:])[/\\]+$/, '') : plain;
}
