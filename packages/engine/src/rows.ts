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
import type { CallContext } from './record/call-request.ts';
import type { ServerEvent } from './record/make-event.ts';

/**
 * What is stored (DA-1). Names are the columns' names. Times are milliseconds since 1970 by the store's clock;
 * JSON columns hold the value itself here, text or jsonb in a database.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export interface ProjectRow {
  readonly id: string;
  readonly user_id: string;
  readonly name: string;
  /** The root on the person's machine; null until it is known. */
  readonly workspace: string | null;
  readonly created_at: number;
}

export interface SessionRow {
  readonly id: string;
  readonly user_id: string;
  readonly project_id: string;
  readonly title: string;
  /**
   * The token whose call opened it, or the agent that did; null: a person's conversation. While nobody has spoken there,
   * it is not listed among the conversations.
   */
  readonly opened_by: string | null;
  readonly created_at: number;
  readonly last_message_at: number | null;
}

export interface MessageRow {
  readonly id: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly run_id: string | null;
  /** Orders the messages of a session. */
  readonly position: number;
  readonly role: 'user' | 'assistant' | 'tool' | 'system';
  readonly content: string;
  /** Tool calls of an assistant message: [{tool_call_id, tool_name, tool_params, index}]. */
  readonly tool_calls: Json;
  /** The execution that a tool message answers. */
  readonly tool_id: string | null;
  readonly complete: boolean;
  readonly created_at: number;
}

export interface RunRow {
  readonly id: string;
  readonly user_id: string;
  readonly project_id: string;
  readonly session_id: string;
  readonly model: string;
  readonly status: 'running' | 'completed' | 'failed' | 'stopped';
  /** The step that is under way, counted from 0. */
  readonly step: number;
  /** Raised each time the run is taken over; a step is stored only by the holder of the current one (AG-2). */
  readonly epoch: number;
  readonly lease_owner: string | null;
  readonly lease_until: number | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly error: string | null;
  readonly created_at: number;
  readonly ended_at: number | null;
}

export interface ExecutionRow {
  readonly id: string;
  readonly user_id: string;
  readonly project_id: string;
  readonly session_id: string;
  readonly run_id: string | null;
  /** (run_id, step, call_index) is unique where run_id is not null: a call of a run is made once (AG-2). */
  readonly step: number | null;
  readonly call_index: number | null;
  readonly tool_call_id: string;
  /** Which token asked, so that an agent sees only its own calls (AP-9). */
  readonly requested_by: string;
  readonly tool_name: string;
  /** Masked (DA-3). The full parameters are in `payloads`. */
  readonly tool_params: Json;
  /** Digest of the parameters as they were asked for, so that the same call is recognised (AG-3). */
  readonly params_digest: string;
  readonly status: ExecutionStatus;
  readonly risk_level: RiskLevel | null;
  readonly reasons: readonly Reason[];
  readonly network: boolean;
  readonly requires_approval: boolean;
  readonly approval_id: string | null;
  readonly approved_by: ApprovedBy | null;
  readonly grant_id: string | null;
  /** Of the person's own policy, when it judged these parameters: a newer one is asked before the call begins (RK-5). */
  readonly policy_version: number;
  /** The rule of the person's own policy that approved it. The runner checks it too. */
  readonly allowed_by: PolicyRule | null;
  readonly digest: string | null;
  readonly runner_id: string | null;
  /**
   * Which program of that runner made the claim, where it said so: no other may repeat it (EX-6). Without a runner: the
   * program that the call was taken from, which alone may still report it (AP-9).
   */
  readonly claimed_by: string | null;
  readonly attempt: number;
  /**
   * When somebody has to look at an open call again: nobody has it (EX-10), or it is to be tried again (EX-5). Whichever
   * node is there then; null: it is with a runner, or decided about elsewhere.
   */
  readonly due_at: number | null;
  readonly cancel_requested: boolean;
  readonly error: string | null;
  readonly error_type: ErrorCode | null;
  /** What the runner said of its failure; null: as the code is (EX-5). */
  readonly error_recoverable: boolean | null;
  readonly execution_time_ms: number | null;
  /** Of a command that ended by itself (TL-2). */
  readonly exit_code: number | null;
  /** Digest of the accepted result: the same one twice is fine, a different one is a conflict (EX-7). */
  readonly result_digest: string | null;
  readonly undoable: boolean;
  /** The latest undo that was asked for (RN-3). */
  readonly undo_id: string | null;
  /** The runner that was asked for it. */
  readonly undo_runner_id: string | null;
  readonly created_at: number;
  readonly approved_at: number | null;
  /** Of this attempt: when it was claimed, or signalled where the signal is the claim; null: it has not begun. */
  readonly started_at: number | null;
  readonly completed_at: number | null;
  readonly undone_at: number | null;
}

/** Full contents, kept apart from the records, for their owner only and for a limited time (DA-3). */
export interface PayloadRow {
  /** The execution's id. */
  readonly id: string;
  readonly user_id: string;
  readonly created_at: number;
  /** `sizeOf` the parameters: who does not show large ones need not read them. */
  readonly params_size: number;
  /** One sentence about the parameters, as a card says it; null while nobody is asked. */
  readonly description: string | null;
  /** Wider approvals that fit the parameters, by the policy of that moment; null: not found out. */
  readonly offered_scopes: readonly OfferedScope[] | null;
  /** What the agent asked for, where a person edited it (AP-6); null: the parameters as they are. */
  readonly requested_params: JsonObject | null;
  /** What ran or would run. */
  readonly params: JsonObject;
}

/** What events and lists show of a payload: null for parameters that are too large for it. */
export interface ShownPayload extends Pick<PayloadRow, 'description' | 'offered_scopes'> {
  readonly params: JsonObject | null;
}

/** What a runner reported of a call: apart from the parameters, which may be a whole file and stay as they are. */
export interface ResultRow {
  /** The execution's id. */
  readonly id: string;
  readonly user_id: string;
  readonly created_at: number;
  readonly result: Json;
  /** What came after the call had ended (EX-7), as the protocol's `LateResult`; null when nothing did. */
  readonly late_result: Json;
}

export interface ApprovalRow {
  readonly id: string;
  readonly user_id: string;
  readonly project_id: string;
  readonly session_id: string;
  readonly tool_id: string;
  readonly tool_name: string;
  readonly tool_call_id: string;
  readonly agent: string;
  readonly risk_level: RiskLevel;
  readonly reasons: readonly Reason[];
  readonly network: boolean;
  readonly status: ApprovalStatus;
  readonly revision: number;
  readonly timeout_seconds: number;
  readonly deadline_at: number;
  readonly digest: string | null;
  /** The runner's part of it, which front ends check it with (AP-8). */
  readonly digest_base: string | null;
  /** The runner that previewed it: only this one may claim the call (EX-6). */
  readonly previewed_by: string | null;
  readonly context: CallContext;
  /** How often it was asked again because the approved state had changed (AP-8). */
  readonly stale_count: number;
  readonly decided_at: number | null;
  readonly decided_device: string | null;
  readonly decided_token: string | null;
  readonly scope: ApprovalScope | null;
  readonly reason: string | null;
  readonly message: string | null;
  readonly created_at: number;
  /** `sizeOf` the preview, 0 where there is none: lists do not read a large one. */
  readonly preview_size: number;
  readonly preview: Preview | null;
}

export interface GrantRow {
  readonly id: string;
  readonly user_id: string;
  readonly project_id: string;
  /** Null: for all sessions of the project. */
  readonly session_id: string | null;
  readonly scope: 'class' | 'session' | 'always';
  readonly tool: string;
  /** Glob on paths or command pattern, as the tool has it; null covers every call of the tool. */
  readonly pattern: string | null;
  /** The root it was made for; a project that moved elsewhere has no grants. */
  readonly workspace: string;
  readonly max_risk: RiskLevel;
  readonly uses: number;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
}

export interface RunnerRow {
  /** `runnerKey`: people choose the ids of their runners, each for themselves. */
  readonly id: string;
  readonly runner_id: string;
  readonly user_id: string;
  readonly workspace: string;
  readonly capabilities: readonly string[];
  /** Its lease has not ended: it is there, or was a moment ago (EX-7). */
  readonly connected: boolean;
  /** The last sign of life that was stored, by whichever node heard it. */
  readonly last_seen_at: number;
  /** Which program it is, where it said so. */
  readonly instance: string | null;
  /** The node that has its stream, and which stream that is; null: none is open. */
  readonly node: string | null;
  readonly stream: string | null;
  /** What the person registered on that machine, as it told us last (RN-8). */
  readonly custom_tools: readonly CustomTool[];
  /** Its own bounds, as it told us last (TL-3). */
  readonly limits: Partial<Limits>;
}

export interface TokenRow {
  readonly id: string;
  readonly user_id: string;
  readonly name: string;
  readonly scope: TokenScope;
  /** The only project that it reaches; null: all of the person's. */
  readonly project_id: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
  readonly revoked_at: number | null;
}

/** Which runner a token of scope runner belongs to, from its first use on (AP-9). */
export interface RunnerBindingRow {
  /** Of the token and its person: an issuer may give two people tokens of one id. */
  readonly id: string;
  readonly user_id: string;
  readonly token_id: string;
  readonly runner_id: string;
  /** Which program of that runner; of one that does not say, its token stands for it. */
  readonly instance: string;
  readonly bound_at: number;
  /** When the token ends: then nothing has to be known of it any more. */
  readonly expires_at: number | null;
}

export interface PolicyRow {
  /** The person: each has one policy of their own. */
  readonly id: string;
  readonly user_id: string;
  readonly policy: PolicyFile;
  /** Raised with each change, so that every node sees at once that what it remembers is old. */
  readonly version: number;
  readonly updated_at: number;
}

/** A server process that shares the database with others (docs/decisions/0014). */
export interface NodeRow {
  readonly id: string;
  /** For people: which machine and process it is. */
  readonly name: string;
  /** What its secret gives for a known text: nodes that sign tokens differently must not serve the same people. */
  readonly key_check: string;
  readonly started_at: number;
  /** Whether it knows that what was waited for before it is waited for, by itself or by others. */
  readonly ready: boolean;
  /** Written every few seconds; 0 once it has stopped. */
  readonly seen_at: number;
}

/** Tables that are read and written row by row. */
export interface Tables {
  projects: ProjectRow;
  sessions: SessionRow;
  messages: MessageRow;
  runs: RunRow;
  tool_executions: ExecutionRow;
  payloads: PayloadRow;
  results: ResultRow;
  approvals: ApprovalRow;
  grants: GrantRow;
  runners: RunnerRow;
  tokens: TokenRow;
  runner_bindings: RunnerBindingRow;
  policies: PolicyRow;
  nodes: NodeRow;
}
export type TableName = keyof Tables;

/** An event as it is stored: ids count from 1 for each person, without gaps (EV-2). */
export interface StoredEvent {
  readonly user_id: string;
  readonly id: number;
  readonly project_id: string | null;
  readonly event: ServerEvent;
  readonly created_at: number;
}

/** One line of the audit log, hash-chained per person (DA-4). `data` is masked. */
export interface AuditRow {
  readonly user_id: string;
  readonly seq: number;
  readonly at: number;
  readonly action: string;
  readonly subject: string;
  readonly data: Json;
  readonly previous_hash: string;
  readonly hash: string;
}
