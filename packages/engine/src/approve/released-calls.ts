import {
  isReadOnly,
  isRefused,
  type PolicyDecision,
  parseGlob,
  type ToolCallPolicy,
} from '@countersign/policy';
import { isAbove, type PolicyRule, ruleWithoutExamples } from '@countersign/protocol';
import type { Signals } from '../dispatch/signals.ts';
import type { Caller } from '../record/call-request.ts';
import type { ApprovalRow, GrantRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';
import { type ApprovalRows, approvalRows, approveCall } from './approval-requests.ts';
import { type Covering, findCovering } from './covering-grants.ts';

/** What the person has just granted, beyond the call that they approved: grants, or rules that "always" saved. */
export interface Granted extends Covering {
  readonly caller: Caller;
  readonly device: string | null;
  readonly workspace: string;
  readonly projectId: string;
  readonly now: number;
  /** Includes `rules`. */
  readonly policy: ToolCallPolicy;
  readonly policyVersion: number;
}

/**
 * Inside the unit that made grants or saved rules: approves the pending requests of the project that they cover, alone or
 * with earlier ones (AP-4). The calls run as if they had been made afterwards, with a digest that the runner computes.
 */
export function* releaseCovered(
  tx: Transaction,
  signals: Signals,
  granted: Granted,
): Unit<readonly ApprovalRows[]> {
  const { grants, rules, caller, projectId, now } = granted;
  const tools = [...grants, ...rules].map(({ tool }) => parseGlob(tool));
  const sessions = new Set(
    [...grants, ...rules].map((made) => ('session_id' in made ? made.session_id : null)),
  );
  const live = yield* tx.liveGrants(caller.userId, projectId, now);
  const released: ApprovalRows[] = [];
  for (const { id, session_id, tool_name } of yield* tx.pendingInProject(caller.userId, projectId)) {
    if (!sessions.has(null) && !sessions.has(session_id)) continue;
    // The parameters may be a whole file: read them only if what was granted is for the tool.
    if (!tools.some((tool) => tool.ok && tool.glob.matches(tool_name))) continue;
    const rows = yield* releaseIfCovered(tx, signals, id, granted, live);
    if (rows) released.push(rows);
  }
  return released;
}

function* releaseIfCovered(
  tx: Transaction,
  signals: Signals,
  approvalId: string,
  granted: Granted,
  live: readonly GrantRow[],
): Unit<ApprovalRows | undefined> {
  const { caller, device, workspace, now, policy } = granted;
  const { approval, execution } = yield* approvalRows(tx, caller, approvalId);
  if (approval.status !== 'pending' || approval.deadline_at <= now) return undefined;
  const params = (yield* tx.get('payloads', execution.id))?.params;
  if (params === undefined) return undefined;
  const decision = policy.decide(approval.tool_name, params);
  const covering = coveringNow(granted, live, approval, decision);
  if (!covering) return undefined;
  // The request was made just as its conversation was switched to read only (AP-11).
  if (!isReadOnly(decision) && (yield* tx.modeOf(execution.session_id)) === 'read_only') return undefined;

  const { grants, rules } = covering;
  const [grantId = null, ...furtherGrants] = grants.map(({ id }) => id);
  return yield* approveCall(
    tx,
    signals,
    { approval, execution },
    {
      caller,
      device,
      workspace,
      now,
      scope: grants[0]?.scope ?? 'always',
      grantId,
      signal: { params, grants, rules: policy.rulesOnPaths(approval.tool_name) },
      row: {
        approved_by: 'config',
        grant_id: grantId,
        further_grants: furtherGrants.length > 0 ? furtherGrants : null,
        allowed_by: rules.length > 0 ? rules.map(ruleWithoutExamples) : null,
        policy_version: granted.policyVersion,
      },
      audit: {
        action: 'approval.released',
        data: { tool_id: execution.id, grant: grantId, rule: rules[0]?.id ?? null },
      },
    },
  );
}

/** What would allow the call if it were made now, with what the runner found. Undefined unless it needs what was granted. */
function coveringNow(
  { grants, rules, policy, workspace, now }: Granted,
  live: readonly GrantRow[],
  { session_id, risk_level, reasons }: ApprovalRow,
  decision: PolicyDecision,
): Covering | undefined {
  const { verdict, askedBy } = decision;
  if (isRefused(verdict)) return undefined;
  const allowing = rulesOf(decision).filter(({ max_risk }) => !isAbove(risk_level, max_risk ?? 'MEDIUM'));
  const covering =
    decision.allowedBy && allowing.length === rulesOf(decision).length
      ? { grants: [], rules: allowing }
      : findCovering(policy, decision, live, {
          sessionId: session_id,
          workspace,
          risk: risk_level,
          reasons,
          askedBy,
          now,
        });
  const made = new Set([...grants, ...rules].map(({ id }) => id));
  return covering && [...covering.grants, ...covering.rules].some(({ id }) => made.has(id))
    ? covering
    : undefined;
}

const rulesOf = ({ allowedBy, allowedWith = [] }: PolicyDecision): readonly PolicyRule[] =>
  allowedBy ? [allowedBy, ...allowedWith] : [];
