import { grantCovers, isRefused, type PolicyDecision } from '@countersign/policy';
import type { ErrorCode, PolicyRule } from '@countersign/protocol';
import type { CallRequest } from '../record/call-request.ts';
import { Refusal } from '../refusal.ts';
import type { GrantRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';

/** What becomes of a new call: refused, asked about, or run at once because nobody minds or a grant or rule says so. */
export type Permission =
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'ask' }
  | {
      readonly kind: 'run';
      readonly by: 'auto' | 'config';
      readonly grant: GrantRow | undefined;
      readonly rule: PolicyRule | undefined;
    };

/** At most this many approvals wait in one session (AG-3). */
const MAX_PENDING_APPROVALS = 10;
/** A call that was rejected this often is not asked again (AG-3). */
const MAX_REJECTIONS = 2;

/** Inside the unit that records a call. */
export function* findPermission(
  tx: Transaction,
  request: CallRequest,
  { verdict, assessed, allowedBy, call, details }: PolicyDecision,
  paramsDigest: string,
  now: number,
): Unit<Permission> {
  if (isRefused(verdict)) return { kind: 'refused', code: verdict.code, message: verdict.message };
  if (allowedBy) return { kind: 'run', by: 'config', grant: undefined, rule: allowedBy };
  if (verdict.decision === 'LOW') return { kind: 'run', by: 'auto', grant: undefined, rule: undefined };
  const workspace = request.project.workspace ?? '';
  for (const grant of yield* tx.liveGrants(request.userId, request.project.id, now)) {
    if (!call || !details || !assessed || grant.revoked_at !== null) continue;
    const here = { sessionId: request.sessionId, workspace, risk: assessed.decision, now };
    if (grantCovers(grant, call, details, here)) return { kind: 'run', by: 'config', grant, rule: undefined };
  }
  const refusal = yield* whyNotAsked(tx, request, paramsDigest);
  return refusal ? { kind: 'refused', code: refusal.code, message: refusal.message } : { kind: 'ask' };
}

/** AG-3: in a session, and over all sessions of a token that opens one after the other. */
function* whyNotAsked(
  tx: Transaction,
  request: CallRequest,
  paramsDigest: string,
): Unit<Refusal | undefined> {
  const { userId, sessionId, opens, isOutsideAgent } = request;
  const requestedBy = isOutsideAgent || opens ? request.requestedBy : null;
  // Locked, so that of many calls at once each counts those before it.
  if (opens) yield* tx.get('projects', request.project.id);
  else yield* tx.get('sessions', sessionId);
  const rejections = yield* tx.countRejections(userId, { paramsDigest, sessionId, requestedBy });
  if (rejections >= MAX_REJECTIONS) return new Refusal('REJECTED_BEFORE');
  const pending = Math.max(
    yield* tx.countPendingApprovals(sessionId),
    requestedBy === null ? 0 : yield* tx.countAwaiting(userId, requestedBy),
  );
  if (pending < MAX_PENDING_APPROVALS) return undefined;
  return new Refusal('TOO_MANY_PENDING', { limit: MAX_PENDING_APPROVALS });
}
