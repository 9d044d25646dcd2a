import { isReadOnly, type ToolCallPolicy } from '@countersign/policy';
import { changingToolsPattern, type RequestBody, type SessionMode } from '@countersign/protocol';
import type { EngineParts } from '../engine-parts.ts';
import { commit } from '../fault-points.ts';
import { newId } from '../ids.ts';
import { announceCall, isoTime, makeEvent } from '../record/announcements.ts';
import type { Caller } from '../record/call-request.ts';
import { belongsToCaller } from '../record/execution-record.ts';
import { notFound } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow, GrantRow, SessionRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';
import { type ApprovalRows, failCall } from './approval-requests.ts';
import { readOnlyRefusal } from './read-only-sessions.ts';
import { releaseCovered } from './released-calls.ts';

/** A session as the wire shows it. */
export const sessionView = (row: SessionRow) => ({
  session_id: row.id,
  project_id: row.project_id,
  title: row.title,
  mode: row.mode,
  created_at: isoTime(row.created_at),
  last_message_at: row.last_message_at === null ? null : isoTime(row.last_message_at),
});

/** Calls that have not begun are refused in one unit; a session has far fewer. */
const REFUSED_AT_ONCE = 1_000;

interface Changed {
  readonly session: SessionRow;
  /** Requests that the grant of *accept edits* covers. */
  readonly released: readonly ApprovalRows[];
  /** Calls that *read only* refuses. */
  readonly refused: readonly {
    readonly execution: ExecutionRow;
    readonly approval: ApprovalRow | undefined;
  }[];
}

/**
 * The mode of a conversation (AP-11). *Accept edits* is a grant like any other, made and revoked by the switch, so that
 * server and runner check it as they check every grant. *Read only* is checked by the server alone, which makes the calls.
 */
export class SessionModes {
  readonly #parts: EngineParts;

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /** Renames a session or switches its mode. Everything that follows from it is in the same transaction. */
  async change(
    caller: Caller,
    sessionId: string,
    changes: RequestBody<'changeSession'>,
  ): Promise<SessionRow> {
    const { policies, decisions, assignments, outcomes } = this.#parts;
    const workspace = await this.#workspaceOf(caller, sessionId);
    const policy = await policies.freshPolicyFor(caller.userId, workspace);
    const changed = await commit(this.#parts, 'mode', (tx) =>
      this.#change(tx, caller, sessionId, changes, policy, workspace ?? ''),
    );
    if (changed === 'POLICY_CHANGED') return this.change(caller, sessionId, changes);
    for (const { approval, execution } of changed.released) {
      decisions.decided(approval);
      assignments.watch(execution);
    }
    for (const { approval, execution } of changed.refused) {
      if (approval) decisions.decided(approval);
      outcomes.settled(execution);
    }
    return changed.session;
  }

  /**
   * Revokes a grant at once. That of a mode switches its conversation back to *ask*, unless another device has switched
   * it meanwhile: then the grant is revoked already.
   */
  async revokeGrant(caller: Caller, grantId: string): Promise<GrantRow> {
    const { store } = this.#parts;
    const found = await store.read((tx) => tx.get('grants', grantId));
    if (found?.user_id !== caller.userId) throw notFound('grant');
    const { scope, session_id } = found;
    return commit(this.#parts, 'mode', function* (tx) {
      const now = store.now();
      // Sessions are locked before all else.
      const before =
        scope === 'mode' && session_id !== null ? yield* tx.get('sessions', session_id) : undefined;
      const grant = (yield* tx.get('grants', grantId)) ?? found;
      if (before && grant.revoked_at === null) {
        const session = { ...before, mode: 'ask' } as const;
        recordSwitch(tx, caller, before, session.mode);
        yield* storeChanged(tx, session, now);
      }
      return yield* revoke(tx, caller, grant, now);
    });
  }

  async #workspaceOf(caller: Caller, sessionId: string): Promise<string | null> {
    return this.#parts.store.read(function* (tx) {
      const session = yield* tx.get('sessions', sessionId);
      if (!session || !belongsToCaller(caller, session) || session.deleted_at !== null)
        throw notFound('session');
      return (yield* tx.get('projects', session.project_id))?.workspace ?? null;
    });
  }

  *#change(
    tx: Transaction,
    caller: Caller,
    sessionId: string,
    { title, mode }: RequestBody<'changeSession'>,
    policy: ToolCallPolicy,
    workspace: string,
  ): Unit<Changed | 'POLICY_CHANGED'> {
    const { store, policies, signals } = this.#parts;
    const now = store.now();
    // The session's row is the lock: calls of the session are recorded before the switch or after it.
    const before = yield* tx.get('sessions', sessionId);
    if (!before || before.deleted_at !== null) throw notFound('session');
    const policyVersion = policies.versionOf(policy);
    if ((yield* tx.policyVersion(caller.userId)) !== policyVersion) return 'POLICY_CHANGED';
    const session = { ...before, title: title ?? before.title, mode: mode ?? before.mode };
    let released: Changed['released'] = [];
    let refused: Changed['refused'] = [];
    if (session.mode !== before.mode) {
      recordSwitch(tx, caller, before, session.mode);
      // Lock calls before grants, in the same order as a claim: otherwise the two could deadlock.
      if (session.mode === 'read_only') refused = yield* refuseUnstarted(tx, session, policy, now);
      yield* endMode(tx, caller, before, now);
      if (session.mode === 'accept_edits') {
        const grant = modeGrant(session, workspace, now);
        yield* tx.insert('grants', grant);
        const { tool, pattern, max_risk } = grant;
        announceCall(tx, grant, [], 'grant.made', { tool, pattern, max_risk });
        const granted = {
          caller,
          device: null,
          workspace,
          projectId: session.project_id,
          now,
          policy,
          policyVersion,
          grants: [grant],
          rules: [],
        };
        released = yield* releaseCovered(tx, signals, granted);
      }
    }
    if (session.title !== before.title || session.mode !== before.mode) yield* storeChanged(tx, session, now);
    return { session, released, refused };
  }
}

function recordSwitch(tx: Transaction, caller: Caller, before: SessionRow, mode: SessionMode): void {
  const data = { mode, before: before.mode, token: caller.tokenId };
  announceCall(tx, before, [], 'session.mode_switched', data);
}

function* storeChanged(tx: Transaction, session: SessionRow, now: number): Unit<void> {
  yield* tx.update('sessions', session.id, { title: session.title, mode: session.mode });
  const data = { session: sessionView(session), timestamp: isoTime(now) };
  announceCall(tx, session, [makeEvent('session.changed', data)]);
}

/** Inside a unit that has locked the session: ends what its mode granted. */
function* endMode(tx: Transaction, caller: Caller, session: SessionRow, now: number): Unit<void> {
  if (session.mode !== 'accept_edits') return;
  const { id, user_id, project_id } = session;
  for (const grant of yield* tx.liveGrants(user_id, project_id, now))
    if (grant.scope === 'mode' && grant.session_id === id) yield* revoke(tx, caller, grant, now);
}

function* revoke(tx: Transaction, caller: Caller, { id }: GrantRow, now: number): Unit<GrantRow> {
  const grant = yield* tx.get('grants', id);
  if (!grant) throw notFound('grant');
  if (grant.revoked_at !== null) return grant;
  yield* tx.update('grants', id, { revoked_at: now });
  announceCall(tx, grant, [], 'grant.revoked', { token: caller.tokenId });
  return { ...grant, revoked_at: now };
}

/** It does not cover deleting and moving, which are HIGH, nor VA-3 places, which no grant covers. */
const modeGrant = ({ id, user_id, project_id }: SessionRow, workspace: string, now: number): GrantRow => ({
  id: newId(now),
  user_id,
  project_id,
  session_id: id,
  scope: 'mode',
  tool: changingToolsPattern,
  pattern: null,
  workspace,
  max_risk: 'MEDIUM',
  uses: 0,
  created_at: now,
  expires_at: null,
  revoked_at: null,
});

/** Refuses the session's calls that may change something and have not begun: those that wait, and approved ones. */
function* refuseUnstarted(
  tx: Transaction,
  session: SessionRow,
  policy: ToolCallPolicy,
  now: number,
): Unit<Changed['refused']> {
  const refused: { execution: ExecutionRow; approval: ApprovalRow | undefined }[] = [];
  // While this unit waits for a lock, a call may be approved or asked about again, so look for pending calls twice.
  for (const status of ['awaiting_approval', 'approved', 'awaiting_approval'] as const) {
    const filter = { sessionId: session.id, status, limit: REFUSED_AT_ONCE };
    for (const { id } of yield* tx.history(session.user_id, filter)) {
      const execution = yield* tx.get('tool_executions', id);
      if (execution?.status !== 'awaiting_approval' && execution?.status !== 'approved') continue;
      const params = (yield* tx.get('payloads', id))?.params;
      if (isReadOnly(policy.decide(execution.tool_name, params))) continue;
      refused.push(yield* failCall(tx, execution, readOnlyRefusal(execution.tool_name), 'policy', now));
    }
  }
  return refused;
}
