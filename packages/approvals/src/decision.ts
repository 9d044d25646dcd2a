import { ApiError, type ApprovalDecision, type DecisionOutcome } from '@countersign/client';
import {
  type CheckedCard,
  type ErrorCode,
  lookAgainCodes,
  messageOf,
  type OfferedScope,
  type PolicyRule,
  type RequestBody,
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

/** An offer as a person chooses it: `onlyHere` limits the scope "always" to this project. */
export interface ScopeChoice {
  readonly offer: OfferedScope;
  readonly onlyHere?: boolean;
}

/** The offers of a card, each "always" once for this project and once for all (AP-4). */
export const scopeChoices = (offers: readonly OfferedScope[]): readonly ScopeChoice[] =>
  offers.flatMap((offer): ScopeChoice[] =>
    offer.scope === 'always' ? [{ offer, onlyHere: true }, { offer }] : [{ offer }],
  );

/** The request body of a wider approval (AP-4). It covers HIGH calls only if the person said so. */
export const choiceOf = (
  { offer: { scope, pattern }, onlyHere }: ScopeChoice,
  includesHigh = false,
): ApproveChoice => ({
  scope,
  ...(pattern !== null && { pattern }),
  ...(onlyHere && { only_here: true }),
  ...(includesHigh && { include_high: true }),
});

/** Asks what the rules of an offer would have decided on the history, before they are granted (RK-5). */
export function backtestOf(
  { rules }: Pick<OfferedScope, 'rules'>,
  includesHigh = false,
): RequestBody<'backtestPolicy'> {
  const [rule, ...further] = rules.map(
    (each): PolicyRule => (includesHigh ? { ...each, max_risk: 'HIGH' } : each),
  );
  if (!rule) throw new Error('an offer has at least one rule');
  return { rule, ...(further.length > 0 && { further_rules: further }) };
}

/** For a line of several commands: the pattern that an offer has for each. */
export const patternsOf = ({ pattern }: Pick<OfferedScope, 'pattern'>): readonly string[] =>
  pattern?.split('\n') ?? [];

/** The patterns that the offers of a card have for the command at this place of the line, narrow before wide. */
export const patternsAt = (offers: readonly OfferedScope[], place: number): readonly string[] => [
  ...new Set(offers.flatMap((offer) => patternsOf(offer)[place] ?? [])),
];

/**
 * The step that is needed before an approval is sent, or null.
 * `unfit`: the preview does not match its digest, so the call can only be rejected (AP-8).
 * `wait-for-preview`: a HIGH call, or a call whose preview is being made, needs its preview first (AP-7).
 * `wait-for-trial`: the call is being tried, and the preview with the outcome replaces this one (RN-13).
 * `confirm-high`, `confirm-unseen`: the person must confirm a HIGH call (RK-1) or a call without a preview.
 */
export function stepBeforeApproval({
  approval: { risk_level, preview, unfit, trying },
  isPreviewComing,
}: {
  readonly approval: Pick<CheckedCard<ApprovalRequest>, 'risk_level' | 'preview' | 'unfit' | 'trying'>;
  readonly isPreviewComing: boolean;
}): 'unfit' | 'wait-for-preview' | 'wait-for-trial' | 'confirm-high' | 'confirm-unseen' | null {
  if (unfit) return 'unfit';
  if (trying) return 'wait-for-trial';
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
    const notice = noticeOf(error);
    return { kind: lookAgainCodes.has(notice.code) ? 'look-again' : 'failed', notice };
  }
}

/** An error of a request as a notice for the card. */
export const noticeOf = (error: unknown): Notice => ({
  code: error instanceof ApiError ? error.code : 'INTERNAL',
  message: messageOf(error),
});
