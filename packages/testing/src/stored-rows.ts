import type {
  ApprovalRow,
  ExecutionRow,
  GrantRow,
  MessageRow,
  NodeRow,
  PayloadRow,
  PolicyRow,
  ProjectRow,
  ResultRow,
  RunnerRow,
  RunRow,
  SessionRow,
  Tables,
  TokenRow,
} from '@countersign/engine';

/** One row of each table, as a test wants it: what does not matter there has a value from here. */

const createdAt = 1_700_000_000_000;

export const projectRow = (row: Partial<ProjectRow> = {}): ProjectRow => ({
  id: 'project',
  user_id: 'ada',
  name: 'Engine',
  workspace: '/home/ada/engine',
  created_at: createdAt,
  ...row,
});

export const sessionRow = (row: Partial<SessionRow> = {}): SessionRow => ({
  id: 'session',
  user_id: 'ada',
  project_id: 'project',
  title: 'Notes on the engine',
  created_at: createdAt,
  last_message_at: null,
  ...row,
});

export const messageRow = (row: Partial<MessageRow> = {}): MessageRow => ({
  id: 'message',
  user_id: 'ada',
  session_id: 'session',
  run_id: null,
  position: 1,
  role: 'assistant',
  content: 'Reading it.',
  tool_calls: [{ tool_call_id: 'call_0', tool_name: 'read_file', tool_params: { path: 'a.md' }, index: 0 }],
  tool_id: null,
  complete: true,
  created_at: createdAt,
  ...row,
});

export const runRow = (row: Partial<RunRow> = {}): RunRow => ({
  id: 'run',
  user_id: 'ada',
  project_id: 'project',
  session_id: 'session',
  model: 'manual',
  status: 'running',
  step: 0,
  epoch: 1,
  lease_owner: 'node',
  lease_until: createdAt + 30_000,
  input_tokens: 0,
  output_tokens: 0,
  error: null,
  created_at: createdAt,
  ended_at: null,
  ...row,
});

export const executionRow = (row: Partial<ExecutionRow> = {}): ExecutionRow => ({
  id: 'tool',
  user_id: 'ada',
  project_id: 'project',
  session_id: 'session',
  run_id: null,
  step: null,
  call_index: null,
  tool_call_id: 'call_0',
  requested_by: 'token',
  tool_name: 'read_file',
  tool_params: { path: 'README.md' },
  params_digest: 'sha256:00',
  status: 'approved',
  risk_level: 'LOW',
  reasons: [],
  network: false,
  requires_approval: false,
  approval_id: null,
  approved_by: 'auto',
  grant_id: null,
  allowed_by: null,
  digest: null,
  runner_id: null,
  claimed_by: null,
  attempt: 1,
  due_at: null,
  cancel_requested: false,
  error: null,
  error_type: null,
  error_recoverable: null,
  execution_time_ms: null,
  result_digest: null,
  undoable: false,
  undo_id: null,
  undone_at: null,
  created_at: createdAt,
  approved_at: null,
  completed_at: null,
  ...row,
});

export const payloadRow = (row: Partial<PayloadRow> = {}): PayloadRow => ({
  id: 'tool',
  user_id: 'ada',
  created_at: createdAt,
  params_size: 10,
  description: null,
  offered_scopes: null,
  requested_params: null,
  params: { path: 'README.md' },
  ...row,
});

export const resultRow = (row: Partial<ResultRow> = {}): ResultRow => ({
  id: 'tool',
  user_id: 'ada',
  created_at: createdAt,
  result: { success: true },
  late_result: null,
  ...row,
});

export const approvalRow = (row: Partial<ApprovalRow> = {}): ApprovalRow => ({
  id: 'approval',
  user_id: 'ada',
  project_id: 'project',
  session_id: 'session',
  tool_id: 'tool',
  tool_call_id: 'call_0',
  tool_name: 'write_file',
  agent: 'agent',
  risk_level: 'MEDIUM',
  reasons: [],
  network: false,
  status: 'pending',
  revision: 1,
  timeout_seconds: 300,
  deadline_at: createdAt + 300_000,
  digest: null,
  previewed_by: null,
  context: null,
  stale_count: 0,
  decided_at: null,
  decided_device: null,
  decided_token: null,
  scope: null,
  reason: null,
  message: null,
  created_at: createdAt,
  preview_size: 0,
  preview: null,
  ...row,
});

export const grantRow = (row: Partial<GrantRow> = {}): GrantRow => ({
  id: 'grant',
  user_id: 'ada',
  project_id: 'project',
  session_id: 'session',
  scope: 'class',
  tool: 'write_file',
  pattern: 'src/**',
  workspace: '/home/ada/engine',
  max_risk: 'MEDIUM',
  uses: 0,
  created_at: createdAt,
  expires_at: null,
  revoked_at: null,
  ...row,
});

export const runnerRow = (row: Partial<RunnerRow> = {}): RunnerRow => ({
  id: 'runner@ada',
  runner_id: 'runner',
  user_id: 'ada',
  workspace: '/home/ada/engine',
  capabilities: ['filesystem', 'git'],
  connected: true,
  last_seen_at: createdAt,
  instance: null,
  node: null,
  stream: null,
  custom_tools: [],
  ...row,
});

export const tokenRow = (row: Partial<TokenRow> = {}): TokenRow => ({
  id: 'token',
  user_id: 'ada',
  name: 'laptop',
  scope: 'person',
  project_id: null,
  created_at: createdAt,
  expires_at: null,
  last_used_at: null,
  revoked_at: null,
  ...row,
});

export const policyRow = (row: Partial<PolicyRow> = {}): PolicyRow => ({
  id: 'ada',
  user_id: 'ada',
  policy: { version: 1, rules: [] },
  version: 1,
  updated_at: createdAt,
  ...row,
});

export const nodeRow = (row: Partial<NodeRow> = {}): NodeRow => ({
  id: 'node',
  name: 'host/1',
  key_check: 'a check',
  started_at: createdAt,
  ready: true,
  seen_at: createdAt,
  ...row,
});

/** One of each. */
export const oneRowOfEach = (): Tables => ({
  projects: projectRow(),
  sessions: sessionRow(),
  messages: messageRow(),
  runs: runRow(),
  tool_executions: executionRow(),
  payloads: payloadRow(),
  results: resultRow(),
  approvals: approvalRow(),
  grants: grantRow(),
  runners: runnerRow(),
  tokens: tokenRow(),
  policies: policyRow(),
  nodes: nodeRow(),
});
