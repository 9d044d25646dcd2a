import type {
  ApprovalScope,
  ApprovalStatus,
  ApprovedBy,
  CustomTool,
  ErrorCode,
  ExecutionStatus,
  Limits,
  OfferedScope,
  PolicyFile,
  PolicyRule,
  Preview,
  Reason,
  RiskLevel,
  TokenScope,
} from '@countersign/protocol';
import type { ServerEvent } from './record/announcements.ts';
import type { CallContext } from './record/call-request.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/**
 * `json` is text on SQLite and `json` on PostgreSQL, not `jsonb`: that one refuses a NUL inside a string, and a tool's
 * output may hold one.
 */
export type ColumnKind = 'text' | 'integer' | 'number' | 'boolean' | 'json';

/** How a column is kept. `holds` is never set: it carries the type of the value for `RowOf`. */
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
 * What is stored (DA-1), told once: row types, migrations and statements derive from these tables, so that both databases
 * give the same values. Times are milliseconds since 1970 by the store's clock; a JSON column holds the value itself.
 *
 * Columns that may be large stand last: SQLite reads a row from its beginning, and only as far as it must.
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
    /**
     * The token whose call opened it, or the agent that did; null: a person's conversation. While nobody has spoken there,
     * it is not listed among the conversations.
     */
    opened_by: orNull(text),
    created_at: integer,
    last_message_at: orNull(integer),
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
    /** Raised each time the run is taken over; a step is stored only by the holder of the current one (AG-2). */
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
    /** Of the person's own policy, when it judged these parameters: a newer one is asked before the call begins (RK-5). */
    policy_version: integer,
    /** The rule of the person's own policy that approved it. The runner checks it too. */
    allowed_by: orNull(json<PolicyRule>()),
    digest: orNull(text),
    runner_id: orNull(text),
    /**
     * Which program of that runner made the claim, where it said so: no other may repeat it (EX-6). Without a runner: the
     * program that the call was taken from, which alone may still report it (AP-9).
     */
    claimed_by: orNull(text),
    attempt: integer,
    /**
     * When somebody has to look at an open call again: nobody has it (EX-10), or it is to be tried again (EX-5). Whichever
     * node is there then; null: it is with a runner, or decided about elsewhere.
     */
    due_at: orNull(integer),
    cancel_requested: boolean,
    error: orNull(text),
    error_type: orNull(textOf<ErrorCode>()),
    /** What the runner said of its failure; null: as the code is (EX-5). */
    error_recoverable: orNull(boolean),
    execution_time_ms: orNull(number),
    /** Of a command that ended by itself (TL-2). */
    exit_code: orNull(integer),
    /** Digest of the accepted result: the same one twice is fine, a different one is a conflict (EX-7). */
    result_digest: orNull(text),
    undoable: boolean,
    /** The latest undo that was asked for (RN-3). */
    undo_id: orNull(text),
    /** The runner that was asked for it. */
    undo_runner_id: orNull(text),
    undone_at: orNull(integer),
    created_at: integer,
    approved_at: orNull(integer),
    /** Of this attempt: when it was claimed, or signalled where the signal is the claim; null: it has not begun. */
    started_at: orNull(integer),
    completed_at: orNull(integer),
  },

  /** Full contents, kept apart from the records, for their owner only and for a limited time (DA-3). */
  payloads: {
    /** The execution's id. */
    id: text,
    user_id: text,
    created_at: integer,
    /** `sizeOf` the parameters: who does not show large ones need not read them. */
    params_size: integer,
    /** One sentence about the parameters, as a card says it; null while nobody is asked. */
    description: orNull(text),
    /** Wider approvals that fit the parameters, by the policy of that moment; null: not found out. */
    offered_scopes: orNull(json<readonly OfferedScope[]>()),
    /** What the agent asked for, where a person edited it (AP-6); null: the parameters as they are. */
    requested_params: orNull(json<JsonObject>()),
    /** What ran or would run. */
    params: json<JsonObject>(),
  },

  /** What a runner reported of a call: apart from the parameters, which may be a whole file and stay as they are. */
  results: {
    /** The execution's id. */
    id: text,
    user_id: text,
    created_at: integer,
    result: orNull(json<Json>()),
    /** What came after the call had ended (EX-7), as the protocol's `LateResult`; null when nothing did. */
    late_result: orNull(json<Json>()),
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
    /** The runner's part of it, which front ends check it with (AP-8). */
    digest_base: orNull(text),
    /** The runner that previewed it: only this one may claim the call (EX-6). */
    previewed_by: orNull(text),
    context: json<CallContext>(),
    /** How often it was asked again because the approved state had changed (AP-8). */
    stale_count: integer,
    decided_at: orNull(integer),
    decided_device: orNull(text),
    decided_token: orNull(text),
    scope: orNull(textOf<ApprovalScope>()),
    reason: orNull(text),
    message: orNull(text),
    created_at: integer,
    /** `sizeOf` the preview, 0 where there is none: lists do not read a large one. */
    preview_size: integer,
    preview: orNull(json<Preview>()),
  },

  grants: {
    id: text,
    user_id: text,
    project_id: text,
    /** Null: for all sessions of the project. */
    session_id: orNull(text),
    scope: textOf<'class' | 'session' | 'always'>(),
    tool: text,
    /** Glob on paths or command pattern, as the tool has it; null covers every call of the tool. */
    pattern: orNull(text),
    /** The root it was made for; a project that moved elsewhere has no grants. */
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
    /** Its lease has not ended: it is there, or was a moment ago (EX-7). */
    connected: boolean,
    /** The last sign of life that was stored, by whichever node heard it. */
    last_seen_at: integer,
    /** Which program it is, where it said so. */
    instance: orNull(text),
    /** The node that has its stream, and which stream that is; null: none is open. */
    node: orNull(text),
    stream: orNull(text),
    /** What the person registered on that machine, as it told us last (RN-8). */
    custom_tools: json<readonly CustomTool[]>(),
    /** Its own bounds, as it told us last (TL-3). */
    limits: json<Partial<Limits>>(),
  },

  tokens: {
    id: text,
    user_id: text,
    name: text,
    scope: textOf<TokenScope>(),
    /** The only project that it reaches; null: all of the person's. */
    project_id: orNull(text),
    created_at: integer,
    expires_at: orNull(integer),
    last_used_at: orNull(integer),
    revoked_at: orNull(integer),
  },

  /** Which runner a token of scope runner belongs to, from its first use on (AP-9). */
  runner_bindings: {
    /** Of the token and its person: an issuer may give two people tokens of one id. */
    id: text,
    user_id: text,
    token_id: text,
    runner_id: text,
    /** Which program of that runner; of one that does not say, its token stands for it. */
    instance: text,
    bound_at: integer,
    /** When the token ends: then nothing has to be known of it any more. */
    expires_at: orNull(integer),
  },

  policies: {
    /** The person: each has one policy of their own. */
    id: text,
    user_id: text,
    policy: json<PolicyFile>(),
    /** Raised with each change, so that every node sees at once that what it remembers is old. */
    version: integer,
    updated_at: integer,
  },

  /** A server process that shares the database with others (docs/decisions/0014). */
  nodes: {
    id: text,
    /** For people: which machine and process it is. */
    name: text,
    /** What its secret gives for a known text: nodes that sign tokens differently must not serve the same people. */
    key_check: text,
    started_at: integer,
    /** Whether it knows that what was waited for before it is waited for, by itself or by others. */
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

type RowOf<Columns> = {
  readonly [Name in keyof Columns]: Columns[Name] extends Column<infer Value> ? Value : never;
};

/** A row of each table. */
export type Database = { readonly [Table in keyof typeof columnsOf]: RowOf<(typeof columnsOf)[Table]> };
/** Tables that are read and written row by row. The store keeps the others itself. */
export type Tables = Omit<Database, 'events' | 'audit' | 'counters'>;
export type TableName = keyof Tables;

export type ProjectRow = Database['projects'];
export type SessionRow = Database['sessions'];
export type MessageRow = Database['messages'];
export type RunRow = Database['runs'];
export type ExecutionRow = Database['tool_executions'];
export type PayloadRow = Database['payloads'];
export type ResultRow = Database['results'];
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

/** What events and lists show of a payload: null for parameters that are too large for it. */
export interface ShownPayload extends Pick<PayloadRow, 'description' | 'offered_scopes'> {
  readonly params: JsonObject | null;
}
