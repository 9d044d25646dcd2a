import { IMPLICIT_ALLOW_RULE } from '@countersign/policy';
import {
  areSameRules,
  isMachineRule,
  machineRuleId,
  type PolicyRule,
  type RequestBody,
  timing,
} from '@countersign/protocol';
import { askAgain } from '../approve/approval-requests.ts';
import { isJudgedByOlderPolicy } from '../approve/policy-review.ts';
import { latestRunnerReport, type RunnerRegistry } from '../dispatch/runners.ts';
import { announceCall } from '../record/announcements.ts';
import { statusEvent } from '../record/call-events.ts';
import type { Caller } from '../record/call-request.ts';
import { asApproved, endCall, grantIdsOf, ownExecution, transition } from '../record/execution-record.ts';
import { Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';
import { claimRefused, requireGivenTo } from './runner-bindings.ts';

type ClaimBody = RequestBody<'startExecution'>;

export type Claimed =
  /** Nothing was written: judge the call again first (RK-5). */
  | 'POLICY_CHANGED'
  | { readonly execution: ExecutionRow }
  /** A refusal whose unit is committed: the person is asked again, or the call has ended. */
  | {
      readonly refusal: Refusal;
      readonly asked: ApprovalRow | undefined;
      readonly ended: ExecutionRow | undefined;
    };

/** EX-6: one compare-and-set from approved to executing, after checking what may have changed since. */
export function* claimCall(
  tx: Transaction,
  caller: Caller,
  toolId: string,
  input: ClaimBody,
  { runners, now }: { readonly runners: RunnerRegistry; readonly now: number },
): Unit<Claimed> {
  const execution = asApproved(yield* ownExecution(tx, caller, toolId));
  const attempt = input.attempt ?? execution.attempt;
  if (isRepeated(execution, input, attempt)) {
    requireSameClaim(execution, input);
    return execution.cancel_requested ? yield* endUnstarted(tx, execution, now) : { execution };
  }
  if (execution.status !== 'approved') throw claimRefused(`it is ${execution.status}`);
  if (attempt !== execution.attempt) throw claimRefused('this attempt is over');
  if (execution.runner_id === null && input.runner_id !== undefined)
    throw claimRefused('it was not given to this runner');
  yield* requireGivenTo(tx, execution, input, runners);
  if (execution.cancel_requested) return yield* endUnstarted(tx, execution, now);
  if (yield* isJudgedByOlderPolicy(tx, execution)) return 'POLICY_CHANGED';
  const stale = yield* findStaleness(tx, execution, input.digest, now);
  if (stale) {
    const asked = yield* askAgain(tx, execution, stale.problem, now);
    const ended = asked ? undefined : yield* tx.get('tool_executions', toolId);
    return { refusal: new Refusal(stale.code, { problem: stale.problem }), asked, ended };
  }
  for (const id of grantIdsOf(execution)) yield* tx.countGrantUse(id);
  const claimed = yield* transition(tx, execution, 'executing', {
    runner_id: input.runner_id ?? execution.runner_id,
    claimed_by: input.instance ?? null,
    digest: input.digest ?? execution.digest,
    started_at: now,
  });
  const data = { runner: claimed.runner_id, attempt, digest: claimed.digest };
  announceCall(tx, claimed, [statusEvent(claimed, now)], 'call.started', data);
  return { execution: claimed };
}

/** Ends a cancelled call. Its runner still asks for permission, so it has not begun and will not report. */
function* endUnstarted(tx: Transaction, execution: ExecutionRow, now: number): Unit<Claimed> {
  const error = { code: 'EXECUTION_CANCELLED', message: 'It was cancelled before it began.' } as const;
  yield* tx.update('tool_executions', execution.id, { started_at: null });
  const unstarted = { ...execution, started_at: null };
  const ended = yield* endCall(tx, unstarted, 'cancelled', error, now, 'call.cancelled');
  return { refusal: claimRefused('it was cancelled'), asked: undefined, ended };
}

/** Returns what changed since the approval, if the person must be asked again because of it. */
export function* findStaleness(
  tx: Transaction,
  execution: ExecutionRow,
  digest: string | null,
  now: number,
): Unit<{ code: 'APPROVAL_STALE' | 'GRANT_REVOKED'; problem: string } | undefined> {
  const approvedAt = execution.approved_at ?? now;
  if (now - approvedAt > timing.approvalGoodForSeconds * 1000) {
    return { code: 'APPROVAL_STALE', problem: 'the approval is older than 10 minutes' };
  }
  if (execution.digest !== null && digest !== execution.digest) {
    return { code: 'APPROVAL_STALE', problem: 'the files or the command are not those that were shown' };
  }
  for (const rule of execution.allowed_by ?? [])
    if (!(yield* isStillRule(tx, execution, rule)))
      return { code: 'GRANT_REVOKED', problem: 'the rule was changed or taken out of your policy' };
  for (const id of grantIdsOf(execution)) {
    const grant = yield* tx.get('grants', id);
    const live = grant && grant.revoked_at === null && (grant.expires_at === null || grant.expires_at > now);
    if (!live) return { code: 'GRANT_REVOKED', problem: 'the grant was revoked' };
  }
  return undefined;
}

/** Whether the rule is still the same. Its id is not enough: the person may have turned it into a denial. */
function* isStillRule(tx: Transaction, execution: ExecutionRow, rule: PolicyRule): Unit<boolean> {
  const { user_id, project_id, tool_name } = execution;
  const row = yield* tx.get('policies', user_id);
  if (row?.policy.rules.some((current) => areSameRules(current, rule))) return true;
  if (rule.id !== IMPLICIT_ALLOW_RULE && !isMachineRule(rule)) return false;
  const project = yield* tx.get('projects', project_id);
  const { tools, policy } = yield* latestRunnerReport(tx, user_id, project?.workspace ?? '');
  if (isMachineRule(rule))
    return (policy.policy?.rules ?? []).some((current) =>
      areSameRules({ ...current, id: machineRuleId(current.id) }, rule),
    );
  return tools.some(({ name, risk_level }) => name === tool_name && risk_level === 'LOW');
}

/** Whether this attempt was claimed already: the response was lost, or another program repeats the claim. */
const isRepeated = (execution: ExecutionRow, input: ClaimBody, attempt: number): boolean =>
  execution.status === 'executing' &&
  execution.attempt === attempt &&
  execution.runner_id === (input.runner_id ?? null);

/** Only the program that made a claim may repeat it, with the same digest. Otherwise the call could run twice. */
function requireSameClaim(execution: ExecutionRow, input: ClaimBody): void {
  if (execution.claimed_by !== (input.instance ?? null))
    throw claimRefused('another program with the id of this runner has it');
  if (execution.digest !== input.digest) throw claimRefused('it was claimed with another digest');
}
