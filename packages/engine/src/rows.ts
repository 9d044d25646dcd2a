import type {
  ApprovalScope,
  ApprovalStatus,
  ApprovedBy,
  CustomTool,
  ErrorCode,
  ExecutionStatus,
  GrantScope,
  Limits,
  MachinePolicy,
  OfferedScope,
  PolicyFile,
  PolicyRule,
  Preview,
  QueuedMessage,
  Reason,
  RiskLevel,
  SessionMode,
  TokenScope,
} from '@countersign/protocol';
import type { ServerEvent } from './record/announcements.ts';
import type { CallContext } from './record/call-request.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** PostgreSQL stores `json`, not `jsonb`, which refuses a NUL in a string: a tool's output may have one. */
export type ColumnKind = 'text' | 'integer' | 'number' | 'boolean' | 'json';

/** How a column is stored. `holds` is never set: it carries the type of the value for `RowOf`. */
export interface Column<T = unknown> {
  readonly kind: ColumnKind;
  readonly nullable: boolean;
  readonly holds?: T;
}

const text: Column<string> = { kind: 'text', nullable: false };
const integer: Column<number> = { kind: 'integer', nullable: false };
const number: Column<number> = { kind: 'number', nullable: false };
const boolean: Column<boolean> = { kind: 'boolean', nullable: false };
const textOf = <T extends string>(): Column<T> => ({ kind: 'text', nullable: false });
const json = <T>(): Column<T> => ({ kind: 'json', nullable: false });
const orNull = <T>({ kind }: Column<T>): Column<T | null> => ({ kind, nullable: true });

/**
 * What is stored (DA-1), defined once: row types, migrations and statements derive from these tables, so that both
 * databases give the same values. Times are milliseconds since 1970 by the store's clock.
 *
 * Large columns come last, because SQLite reads a row from its beginning and only as far as it must.
 */
export const columnsOf = {
  projects: {
    id: text,
    user_id: text,
    name: text,
    /** The root on the person's machine; null until it is known. */
    workspace: orNull(text),
    created_at: integer,
  },

  sessions: {
    id: text,
    user_id: text,
    project_id: text,
    title: text,
    /** What the agent may do unasked here. `accept_edits` has a grant of scope `mode` beside it (AP-11). */
    mode: textOf<SessionMode>(),
    /** The token whose call opened it; null: a person's conversation. Not listed until it has a message. */
    opened_by: orNull(text),
    created_at: integer,
    last_message_at: orNull(integer),
    /** When the person deleted it. The row stays for its calls, which stay in the history. */
    deleted_at: orNull(integer),
  },

  messages: {
    id: text,
    user_id: text,
    session_id: text,
    run_id: orNull(text),
    /** Orders the messages of a session. */
    position: integer,
    role: textOf<'user' | 'assistant' | 'tool' | 'system'>(),
    content: text,
    /** Tool calls of an assistant message: [{tool_call_id, tool_name, tool_params, index}]. */
    tool_calls: orNull(json<Json>()),
    /** The execution that a tool message answers. */
    tool_id: orNull(text),
    complete: boolean,
    created_at: integer,
    /** When the conversation went back to before this message; the model no longer gets it. */
    rewound_at: orNull(integer),
  },

  /** Messages that wait until the agent takes them (AG-5). They become rows of `messages` with the same id. */
  queued_messages: {
    id: text,
    user_id: text,
    project_id: text,
    session_id: text,
    /** Orders the queue of a session. */
    position: integer,
    when_busy: textOf<QueuedMessage['when_busy']>(),
    /** The model that answers if this message starts a run; null: the default. */
    model: orNull(text),
    created_at: integer,
    content: text,
  },

  runs: {
    id: text,
    user_id: text,
    project_id: text,
    session_id: text,
    model: text,
    status: textOf<'running' | 'completed' | 'failed' | 'stopped'>(),
    /** The step that is under way, counted from 0. */
    step: integer,
    /** Raised each time the run is taken over. Only the holder of the current epoch may store a step (AG-2). */
    epoch: integer,
    lease_owner: orNull(text),
    lease_until: orNull(integer),
    input_tokens: integer,
    output_tokens: integer,
    error: orNull(text),
    created_at: integer,
    ended_at: orNull(integer),
  },

  tool_executions: {
    id: text,
    user_id: text,
    project_id: text,
    session_id: text,
    run_id: orNull(text),
    /** (run_id, step, call_index) is unique where run_id is not null: a call of a run is made once (AG-2). */
    step: orNull(integer),
    call_index: orNull(integer),
    tool_call_id: text,
    /** Which token asked, so that an agent sees only its own calls (AP-9). */
    requested_by: text,
    tool_name: text,
    /** Masked (DA-3). The full parameters are in `payloads`. */
    tool_params: orNull(json<Json>()),
    /** Digest of the parameters as they were asked for, so that the same call is recognised (AG-3). */
    params_digest: text,
    status: textOf<ExecutionStatus>(),
    risk_level: orNull(textOf<RiskLevel>()),
    reasons: json<readonly Reason[]>(),
    network: boolean,
    requires_approval: boolean,
    approval_id: orNull(text),
    approved_by: orNull(textOf<ApprovedBy>()),
    grant_id: orNull(text),
    /** Ids of further grants that the call needs: with `grant_id` and `allowed_by` they cover each command of a line. */
    further_grants: orNull(json<readonly string[]>()),
    /**
     * The policy version that judged these parameters. A newer version judges them again before the call begins (RK-5).
     */
    policy_version: integer,
    /** The rules of the person's policy that together allowed the call. The runner checks them too. */
    allowed_by: orNull(json<readonly PolicyRule[]>()),
    digest: orNull(text),
    runner_id: orNull(text),
    /**
     * The `instance` of the program that made the claim, if it sent one: no other program may repeat the claim (EX-6).
     * If `runner_id` is null, the program that the call was taken from: only that program may still report it (AP-9).
     */
    claimed_by: orNull(text),
    attempt: integer,
    /**
     * When an open call must be looked at again, by any node: no runner has it (EX-10), or a retry is due (EX-5). Null: a
     * runner has it, or a person is asked.
     */
    due_at: orNull(integer),
    cancel_requested: boolean,
    error: orNull(text),
    error_type: orNull(textOf<ErrorCode>()),
    /** Whether the runner called its failure recoverable; null: the error code decides (EX-5). */
    error_recoverable: orNull(boolean),
    execution_time_ms: orNull(number),
    /** The exit code of a command that ended by itself (TL-2). */
    exit_code: orNull(integer),
    /** Digest of the accepted result. The same result twice is fine, a different one is a conflict (EX-7). */
    result_digest: orNull(text),
    undoable: boolean,
    /** The latest undo that was asked for (RN-3). */
    undo_id: orNull(text),
    /** The runner that was asked to undo the call. */
    undo_runner_id: orNull(text),
    /** Why the latest undo failed; null: it succeeded, or has not ended. */
    undo_error: orNull(json<{ readonly code: ErrorCode; readonly message: string }>()),
    undone_at: orNull(integer),
    created_at: integer,
    approved_at: orNull(integer),
    /** When this attempt was claimed, or signalled if the signal is the claim; null: not begun. */
    started_at: orNull(integer),
    completed_at: orNull(integer),
  },

  /** Full contents, kept apart from the records, for their owner only and for a limited time (DA-3). */
  payloads: {
    /** The execution's id. */
    id: text,
    user_id: text,
    created_at: integer,
    /** `sizeOf` the parameters, so that lists and events need not read large ones. */
    params_size: integer,
    /** The sentence about the call on its card; null until a person is asked. */
    description: orNull(text),
    /** Wider approvals that fit the parameters, by the policy at that moment; null: not computed. */
    offered_scopes: orNull(json<readonly OfferedScope[]>()),
    /** The agent's parameters, if a person edited them (AP-6); null: not edited. */
    requested_params: orNull(json<JsonObject>()),
    /** The parameters that ran or would run. */
    params: json<JsonObject>(),
  },

  /** What a runner reported. Kept apart from the parameters, which may be a whole file and do not change. */
  results: {
    /** The execution's id. */
    id: text,
    user_id: text,
    created_at: integer,
    result: orNull(json<Json>()),
    /** A report that came after the call had ended (EX-7), as the protocol's `LateResult`. */
    late_result: orNull(json<Json>()),
  },

  /** A file that a call changed, and what its run has made of the file up to then (docs/decisions/0025). */
  file_changes: {
    /** The execution's id and the place in its list of changed files. */
    id: text,
    user_id: text,
    session_id: text,
    run_id: orNull(text),
    tool_id: text,
    path: text,
    /** What this call did to the file. */
    operation: textOf<FileOperation>(),
    /** What the run did to the file so far; null: the runner did not tell. */
    run_operation: orNull(textOf<FileOperation | 'none'>()),
    added: orNull(integer),
    removed: orNull(integer),
    truncated: boolean,
    created_at: integer,
    /** Orders changes of the same moment: by step, then by call. */
    place: integer,
    /** From before the run to after this call. Null: not reported, or no longer kept (DA-3). */
    diff: orNull(text),
  },

  approvals: {
    id: text,
    user_id: text,
    project_id: text,
    session_id: text,
    tool_id: text,
    tool_call_id: text,
    tool_name: text,
    agent: text,
    risk_level: textOf<RiskLevel>(),
    reasons: json<readonly Reason[]>(),
    network: boolean,
    status: textOf<ApprovalStatus>(),
    revision: integer,
    timeout_seconds: number,
    deadline_at: integer,
    digest: orNull(text),
    /** The runner's part of the digest; front ends check the digest with it (AP-8). */
    digest_base: orNull(text),
    /** The runner that previewed it. It gets the call if it is connected at the approval (EX-6). */
    previewed_by: orNull(text),
    /** The runner that tries the call now, and its `instance` (RN-13). `wanted`: as soon as its preview is there. Null: nobody. */
    trial: orNull(json<'wanted' | { readonly runner_id: string; readonly instance: string | null }>()),
    context: json<CallContext>(),
    /** How often the person was asked again because something changed after the approval (AP-8). */
    stale_count: integer,
    decided_at: orNull(integer),
    decided_device: orNull(text),
    decided_token: orNull(text),
    scope: orNull(textOf<ApprovalScope | GrantScope>()),
    reason: orNull(text),
    message: orNull(text),
    created_at: integer,
    /** `sizeOf` the preview, so that lists need not read a large one; 0: no preview. */
    preview_size: integer,
    preview: orNull(json<Preview>()),
  },

  grants: {
    id: text,
    user_id: text,
    project_id: text,
    /** Null: for all sessions of the project. */
    session_id: orNull(text),
    scope: textOf<GrantScope>(),
    tool: text,
    /** A glob on paths or a command pattern, depending on the tool; null covers every call of the tool. */
    pattern: orNull(text),
    /** The root that the grant was made for. The grant does not apply after the project moved to another root. */
    workspace: text,
    max_risk: textOf<RiskLevel>(),
    uses: integer,
    created_at: integer,
    expires_at: orNull(integer),
    revoked_at: orNull(integer),
  },

  runners: {
    /** `runnerKey`: people choose the ids of their runners, each for themselves. */
    id: text,
    runner_id: text,
    user_id: text,
    workspace: text,
    capabilities: json<readonly string[]>(),
    /** True until its lease has ended (EX-7). */
    connected: boolean,
    /** When a node last heard the runner. Stored every few seconds. */
    last_seen_at: integer,
    /** Tells two programs with the same runner id apart; null if the runner did not send it. */
    instance: orNull(text),
    /** The node that has its stream, and the stream's id; null: no stream is open. */
    node: orNull(text),
    stream: orNull(text),
    /** The custom tools of that machine, as last reported (RN-8). */
    custom_tools: json<readonly CustomTool[]>(),
    /** Its own limits, as last reported (TL-3). */
    limits: json<Partial<Limits>>(),
    /** The person's policy file there, as last reported (RK-5). */
    policy: json<MachinePolicy>(),
  },

  tokens: {
    id: text,
    user_id: text,
    name: text,
    scope: textOf<TokenScope>(),
    /** The only project that the token may use; null: all projects of the person. */
    project_id: orNull(text),
    created_at: integer,
    expires_at: orNull(integer),
    last_used_at: orNull(integer),
    revoked_at: orNull(integer),
  },

  /** Which runner a token of scope runner belongs to, from its first use on (AP-9). */
  runner_bindings: {
    /** Token and person: an issuer may give two people tokens with the same id. */
    id: text,
    user_id: text,
    token_id: text,
    runner_id: text,
    /** The program of that runner; derived from the token if the program did not send one. */
    instance: text,
    bound_at: integer,
    /** When the token expires; the row is removed some time later. */
    expires_at: orNull(integer),
  },

  policies: {
    /** The person's id: each person has one policy. */
    id: text,
    user_id: text,
    policy: json<PolicyFile>(),
    /** Raised with each change, so that every node sees at once that its cached policy is old. */
    version: integer,
    /** The file that this is a copy of; null: the rules are kept here. */
    file: orNull(text),
    updated_at: integer,
  },

  /** A server process that shares the database with others (docs/decisions/0014). */
  nodes: {
    id: text,
    /** The machine and process, for people to read. */
    name: text,
    /** A keyed hash that proves which secret the node signs with: all nodes must share one. */
    key_check: text,
    started_at: integer,
    /** Whether all deadlines from before its start are watched, by it or by others. */
    ready: boolean,
    /** Written every few seconds; 0 once it has stopped. */
    seen_at: integer,
  },

  /** An event as it is stored: ids count from 1 for each person, without gaps (EV-2). */
  events: {
    user_id: text,
    id: integer,
    project_id: orNull(text),
    event: json<ServerEvent>(),
    created_at: integer,
  },

  /** One line of the audit log, hash-chained per person (DA-4). `data` is masked. */
  audit: {
    user_id: text,
    seq: integer,
    at: integer,
    action: text,
    subject: text,
    data: orNull(json<Json>()),
    previous_hash: text,
    hash: text,
  },

  /** The newest event, the newest audit row and its hash: the last lock of a unit of writing (EV-2). */
  counters: {
    user_id: text,
    event_id: integer,
    audit_seq: integer,
    audit_head: text,
  },
} satisfies Readonly<Record<string, Readonly<Record<string, Column>>>>;

type FileOperation = 'created' | 'modified' | 'deleted';

type RowOf<Columns> = {
  readonly [Name in keyof Columns]: Columns[Name] extends Column<infer Value> ? Value : never;
};

/** A row of each table. */
export type Database = { readonly [Table in keyof typeof columnsOf]: RowOf<(typeof columnsOf)[Table]> };
/** Tables that are read and written row by row. The store writes the others itself. */
export type Tables = Omit<Database, 'events' | 'audit' | 'counters'>;
export type TableName = keyof Tables;

export type ProjectRow = Database['projects'];
export type SessionRow = Database['sessions'];
export type MessageRow = Database['messages'];
export type QueuedMessageRow = Database['queued_messages'];
export type RunRow = Database['runs'];
export type ExecutionRow = Database['tool_executions'];
export type PayloadRow = Database['payloads'];
export type ResultRow = Database['results'];
export type FileChangeRow = Database['file_changes'];
export type ApprovalRow = Database['approvals'];
export type GrantRow = Database['grants'];
export type RunnerRow = Database['runners'];
export type TokenRow = Database['tokens'];
export type RunnerBindingRow = Database['runner_bindings'];
export type PolicyRow = Database['policies'];
export type NodeRow = Database['nodes'];
export type StoredEvent = Database['events'];
export type AuditRow = Database['audit'];
export type CounterRow = Database['counters'];

/** A changed file without its diff, which may be large. */
export type FileChangeSummary = Omit<FileChangeRow, 'diff'>;

/** A payload as events and lists show it: `params` is null if they are too large. */
export interface ShownPayload extends Pick<PayloadRow, 'description' | 'offered_scopes'> {
  readonly params: JsonObject | null;
}
