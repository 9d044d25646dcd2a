import type { AuditRow, StoredEvent, Tables } from '@countersign/engine';

/**
 * How each column is kept: one list for the migrations, for the statements and for reading rows back, so that both
 * databases give the same values.
 *
 * What may be large stands last in its table: SQLite reads a row from its beginning, and only as far as it must.
 *
 * `json` is text on SQLite and `json` on PostgreSQL, not `jsonb`: that one refuses a NUL inside a string, and a tool's
 * output may hold one.
 */
export type ColumnKind = 'text' | 'integer' | 'number' | 'boolean' | 'json';
export type ColumnType = ColumnKind | `${ColumnKind}?`;
export type Columns = Readonly<Record<string, ColumnType>>;

const executions = {
  id: 'text',
  user_id: 'text',
  project_id: 'text',
  session_id: 'text',
  run_id: 'text?',
  step: 'integer?',
  call_index: 'integer?',
  tool_call_id: 'text',
  requested_by: 'text',
  tool_name: 'text',
  tool_params: 'json?',
  params_digest: 'text',
  status: 'text',
  risk_level: 'text?',
  reasons: 'json',
  network: 'boolean',
  requires_approval: 'boolean',
  approval_id: 'text?',
  approved_by: 'text?',
  grant_id: 'text?',
  policy_version: 'integer',
  allowed_by: 'json?',
  digest: 'text?',
  runner_id: 'text?',
  claimed_by: 'text?',
  attempt: 'integer',
  due_at: 'integer?',
  cancel_requested: 'boolean',
  error: 'text?',
  error_type: 'text?',
  error_recoverable: 'boolean?',
  execution_time_ms: 'number?',
  exit_code: 'integer?',
  result_digest: 'text?',
  undoable: 'boolean',
  undo_id: 'text?',
  undo_runner_id: 'text?',
  undone_at: 'integer?',
  created_at: 'integer',
  approved_at: 'integer?',
  started_at: 'integer?',
  completed_at: 'integer?',
} as const satisfies Columns;

const approvals = {
  id: 'text',
  user_id: 'text',
  project_id: 'text',
  session_id: 'text',
  tool_id: 'text',
  tool_call_id: 'text',
  tool_name: 'text',
  agent: 'text',
  risk_level: 'text',
  reasons: 'json',
  network: 'boolean',
  status: 'text',
  revision: 'integer',
  timeout_seconds: 'number',
  deadline_at: 'integer',
  digest: 'text?',
  digest_base: 'text?',
  previewed_by: 'text?',
  context: 'json?',
  stale_count: 'integer',
  decided_at: 'integer?',
  decided_device: 'text?',
  decided_token: 'text?',
  scope: 'text?',
  reason: 'text?',
  message: 'text?',
  created_at: 'integer',
  preview_size: 'integer',
  preview: 'json?',
} as const satisfies Columns;

/** The newest event, the newest audit row and its hash: the last lock of a unit of writing (EV-2). */
export interface CounterRow {
  readonly user_id: string;
  readonly event_id: number;
  readonly audit_seq: number;
  readonly audit_head: string;
}

/** The tables of the engine, and the three that the store itself keeps. */
export interface Database extends Tables {
  events: StoredEvent;
  counters: CounterRow;
  audit: AuditRow;
}
export type StoredTable = keyof Database;

export const columnsOf: {
  readonly [K in StoredTable]: { readonly [C in keyof Database[K]]-?: ColumnType };
} = {
  projects: { id: 'text', user_id: 'text', name: 'text', workspace: 'text?', created_at: 'integer' },
  sessions: {
    id: 'text',
    user_id: 'text',
    project_id: 'text',
    title: 'text',
    opened_by: 'text?',
    created_at: 'integer',
    last_message_at: 'integer?',
  },
  messages: {
    id: 'text',
    user_id: 'text',
    session_id: 'text',
    run_id: 'text?',
    position: 'integer',
    role: 'text',
    content: 'text',
    tool_calls: 'json?',
    tool_id: 'text?',
    complete: 'boolean',
    created_at: 'integer',
  },
  runs: {
    id: 'text',
    user_id: 'text',
    project_id: 'text',
    session_id: 'text',
    model: 'text',
    status: 'text',
    step: 'integer',
    epoch: 'integer',
    lease_owner: 'text?',
    lease_until: 'integer?',
    input_tokens: 'integer',
    output_tokens: 'integer',
    error: 'text?',
    created_at: 'integer',
    ended_at: 'integer?',
  },
  tool_executions: executions,
  payloads: {
    id: 'text',
    user_id: 'text',
    created_at: 'integer',
    params_size: 'integer',
    description: 'text?',
    offered_scopes: 'json?',
    requested_params: 'json?',
    params: 'json',
  },
  results: { id: 'text', user_id: 'text', created_at: 'integer', result: 'json?', late_result: 'json?' },
  approvals,
  grants: {
    id: 'text',
    user_id: 'text',
    project_id: 'text',
    session_id: 'text?',
    scope: 'text',
    tool: 'text',
    pattern: 'text?',
    workspace: 'text',
    max_risk: 'text',
    uses: 'integer',
    created_at: 'integer',
    expires_at: 'integer?',
    revoked_at: 'integer?',
  },
  runners: {
    id: 'text',
    runner_id: 'text',
    user_id: 'text',
    workspace: 'text',
    capabilities: 'json',
    connected: 'boolean',
    last_seen_at: 'integer',
    instance: 'text?',
    node: 'text?',
    stream: 'text?',
    custom_tools: 'json',
    limits: 'json',
  },
  tokens: {
    id: 'text',
    user_id: 'text',
    name: 'text',
    scope: 'text',
    project_id: 'text?',
    created_at: 'integer',
    expires_at: 'integer?',
    last_used_at: 'integer?',
    revoked_at: 'integer?',
  },
  runner_bindings: {
    id: 'text',
    user_id: 'text',
    token_id: 'text',
    runner_id: 'text',
    instance: 'text',
    bound_at: 'integer',
    expires_at: 'integer?',
  },
  policies: { id: 'text', user_id: 'text', policy: 'json', version: 'integer', updated_at: 'integer' },
  nodes: {
    id: 'text',
    name: 'text',
    key_check: 'text',
    started_at: 'integer',
    ready: 'boolean',
    seen_at: 'integer',
  },
  events: { user_id: 'text', id: 'integer', project_id: 'text?', event: 'json', created_at: 'integer' },
  counters: { user_id: 'text', event_id: 'integer', audit_seq: 'integer', audit_head: 'text' },
  audit: {
    user_id: 'text',
    seq: 'integer',
    at: 'integer',
    action: 'text',
    subject: 'text',
    data: 'json?',
    previous_hash: 'text',
    hash: 'text',
  },
};

export const kindOf = (type: ColumnType): ColumnKind => type.replace('?', '') as ColumnKind;
