import { ApiError, type ApprovalDecision, type DecisionOutcome } from '@countersign/client';
import {
  type CheckedCard,
  type ErrorCode,
  lookAgainCodes,
  type OfferedScope,
  type PolicyRule,
} from '@countersign/protocol';
import type { ApprovalRequest, Resolution } from './approval-entries.ts';

/** The fields of a displayed card that a decision sends. */
export type DecidedCard = Pick<ApprovalRequest, 'approval_id' | 'project_id' | 'digest'>;
export type ApproveChoice = NonNullable<Extract<ApprovalDecision, { decision: 'approved' }>['body']>;
export type RejectChoice = NonNullable<Extract<ApprovalDecision, { decision: 'rejected' }>['body']>;

/** An approval of the displayed card. Its digest lets the server refuse it if the call has changed since (AP-8). */
export const approvalOf = (
  { approval_id, project_id, digest }: DecidedCard,
  choice: ApproveChoice,
): ApprovalDecision => ({
  decision: 'approved',
  params: { project_id, approval_id },
  body: { ...(digest !== null && { digest }), ...choice },
});

export const rejectionOf = (
  { approval_id, project_id }: DecidedCard,
  choice: RejectChoice,
): ApprovalDecision => ({ decision: 'rejected', params: { project_id, approval_id }, body: choice });

/** The request body of a wider approval (AP-4). It covers HIGH calls only if the person said so. */
export const choiceOf = (
  { scope, pattern }: Pick<OfferedScope, 'scope' | 'pattern'>,
  includesHigh = false,
): ApproveChoice => ({
  scope,
  ...(pattern !== null && { pattern }),
  ...(includesHigh && { include_high: true }),
});

/** The rule to backtest before a wider approval is sent (RK-5). */
export const ruleOf = ({ rule }: Pick<OfferedScope, 'rule'>, includesHigh = false): PolicyRule =>
  includesHigh ? { ...rule, max_risk: 'HIGH' } : rule;

/**
 * The step that is needed before an approval is sent, or null.
 * `unfit`: the preview does not match its digest, so the call can only be rejected (AP-8).
 * `wait-for-preview`: a HIGH call, or a call whose preview is being made, needs its preview first (AP-7).
 * `confirm-high`, `confirm-unseen`: the person must confirm a HIGH call (RK-1) or a call without a preview.
 */
export function stepBeforeApproval({
  approval: { risk_level, preview, unfit },
  isPreviewComing,
}: {
  readonly approval: Pick<CheckedCard<ApprovalRequest>, 'risk_level' | 'preview' | 'unfit'>;
  readonly isPreviewComing: boolean;
}): 'unfit' | 'wait-for-preview' | 'confirm-high' | 'confirm-unseen' | null {
  if (unfit) return 'unfit';
  if (preview === null)
    return risk_level === 'HIGH' || isPreviewComing ? 'wait-for-preview' : 'confirm-unseen';
  return risk_level === 'HIGH' ? 'confirm-high' : null;
}

/** Why a decision did not count, for the person. */
export interface Notice {
  readonly code: ErrorCode;
  /** The server's error message. */
  readonly message: string;
}

/** The outcome of sending a decision. */
export type DecisionAnswer =
  | {
      readonly kind: 'settled';
      readonly outcome: DecisionOutcome['outcome'];
      readonly status: Resolution['status'];
      readonly device: string | null;
      readonly grantId?: string | undefined;
      readonly ruleId?: string | undefined;
    }
  /** The request has changed: read it again, so that the person sees the current one before deciding. */
  | { readonly kind: 'look-again'; readonly notice: Notice | null }
  | { readonly kind: 'failed'; readonly notice: Notice };

/** Waits for the server's response to a decision. Does not throw: an error becomes a notice for the card. */
export async function decisionAnswer(sent: Promise<DecisionOutcome>): Promise<DecisionAnswer> {
  try {
    const answer = await sent;
    const { outcome } = answer;
    const { status } = outcome === 'recorded' ? answer.response : answer.standing;
    if (status === 'pending') return { kind: 'look-again', notice: null };
    if (outcome !== 'recorded')
      return { kind: 'settled', outcome, status, device: answer.standing.device ?? null };
    const { grant_id: grantId, rule_id: ruleId } = answer.response;
    return { kind: 'settled', outcome, status, device: null, grantId, ruleId };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const notice: Notice = { code: error instanceof ApiError ? error.code : 'INTERNAL', message };
    return { kind: lookAgainCodes.has(notice.code) ? 'look-again' : 'failed', notice };
  }
}
