import {
  grantCovers,
  isReadOnly,
  isRefused,
  type PolicyDecision,
  parseGlob,
  type ToolCallPolicy,
} from '@countersign/policy';
import { type PolicyRule, type RiskLevel, riskLevels } from '@countersign/protocol';
import type { Signals } from '../dispatch/signals.ts';
import type { Caller } from '../record/call-request.ts';
import { withoutExamples } from '../record/new-call.ts';
import type { ApprovalRow, GrantRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';
import { type ApprovalRows, approvalRows, approveCall } from './approval-requests.ts';

/** What the person has just granted, beyond the call that they approved. */
export interface Granted {
  readonly caller: Caller;
  readonly device: string | null;
  readonly workspace: string;
  readonly now: number;
  /** Includes `rule`, if a rule was saved. */
  readonly policy: ToolCallPolicy;
  readonly policyVersion: number;
  readonly grant: GrantRow;
  /** The rule that "always" saved; undefined if a grant was stored. */
  readonly rule: PolicyRule | undefined;
}

/**
 * Inside the unit that made a grant: approves the pending requests of the project that the grant covers (AP-4). They
 * run as if the grant had existed before them: allowed by it, with a digest that the runner computes.
 */
export function* releaseCovered(
  tx: Transaction,
  signals: Signals,
  granted: Granted,
): Unit<readonly ApprovalRows[]> {
  const { grant, caller } = granted;
  const tools = parseGlob(grant.tool);
  const released: ApprovalRows[] = [];
  for (const { id, session_id, tool_name } of yield* tx.pendingInProject(caller.userId, grant.project_id)) {
    if (grant.session_id !== null && grant.session_id !== session_id) continue;
    // The parameters may be a whole file: read them only if the grant's tool matches.
    if (!tools.ok || !tools.glob.matches(tool_name)) continue;
    const rows = yield* releaseIfCovered(tx, signals, id, granted);
    if (rows) released.push(rows);
  }
  return released;
}

function* releaseIfCovered(
  tx: Transaction,
  signals: Signals,
  approvalId: string,
  granted: Granted,
): Unit<ApprovalRows | undefined> {
  const { caller, device, workspace, now, policy, grant, rule } = granted;
  const { approval, execution } = yield* approvalRows(tx, caller, approvalId);
  if (approval.status !== 'pending' || approval.deadline_at <= now) return undefined;
  const params = (yield* tx.get('payloads', execution.id))?.params;
  if (params === undefined) return undefined;
  const decision = policy.decide(approval.tool_name, params);
  if (!covers(granted, approval, decision)) return undefined;
  // The request was made just as its conversation was switched to read only (AP-11).
  if (!isReadOnly(decision) && (yield* tx.modeOf(execution.session_id)) === 'read_only') return undefined;

  const grantId = rule ? null : grant.id;
  const rules = policy.rulesOnPaths(approval.tool_name);
  return yield* approveCall(
    tx,
    signals,
    { approval, execution },
    {
      caller,
      device,
      workspace,
      now,
      scope: grant.scope,
      grantId,
      signal: { params, grant: rule ? undefined : grant, rules },
      row: {
        approved_by: 'config',
        grant_id: grantId,
        allowed_by: rule ? rulesOf(decision).map(withoutExamples) : null,
        policy_version: granted.policyVersion,
      },
      audit: {
        action: 'approval.released',
        data: { tool_id: execution.id, grant: grantId, rule: rule?.id ?? null },
      },
    },
  );
}

/** Whether the grant or rule would allow the call if it were made now. Uses what the runner found. */
function covers(
  { grant, rule, workspace, now }: Granted,
  { session_id, risk_level, reasons }: ApprovalRow,
  decision: PolicyDecision,
): boolean {
  const { verdict, askedBy, call, details } = decision;
  if (rule) return rulesOf(decision).some(({ id }) => id === rule.id) && isAtMost(risk_level, grant.max_risk);
  if (isRefused(verdict) || !call || !details) return false;
  return grantCovers(grant, call, details, {
    sessionId: session_id,
    workspace,
    risk: risk_level,
    reasons,
    askedBy,
    now,
  });
}

const rulesOf = ({ allowedBy, allowedWith = [] }: PolicyDecision): readonly PolicyRule[] =>
  allowedBy ? [allowedBy, ...allowedWith] : [];

const isAtMost = (risk: RiskLevel, most: RiskLevel): boolean =>
  riskLevels.indexOf(risk) <= riskLevels.indexOf(most);
