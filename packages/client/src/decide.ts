import { ApiError } from './api-error.ts';
import type { CallOptions, Client } from './client.ts';
import type { Retries } from './retries.ts';
import type { CallInput, CallResponse } from './route-types.ts';

export type ApprovalDecision =
  | ({ readonly decision: 'approved' } & CallInput<'approve'>)
  | ({ readonly decision: 'rejected' } & CallInput<'reject'>);

type Standing = NonNullable<ApiError['standing']>;

export type DecisionOutcome =
  | { readonly outcome: 'recorded'; readonly response: CallResponse<'approve'> }
  /**
   * The same decision was already made: by our own attempt whose response was lost, or on another device. Its scope and
   * parameters may differ from ours; `approval.resolved` and the execution have them.
   */
  | { readonly outcome: 'already'; readonly standing: Standing }
  /** Another device or the timer decided differently before us. */
  | { readonly outcome: 'overruled'; readonly standing: Standing };

/** RN-1: sending a decision is retried 3 times, unless the caller passes other retries. */
const retry = { times: 3 };

/** Sends a person's decision, with retries. Throws an ApiError unless a decision stands afterwards. */
export async function decide(
  client: Client,
  decision: ApprovalDecision,
  options: CallOptions & { readonly retry?: Retries } = {},
): Promise<DecisionOutcome> {
  try {
    return { outcome: 'recorded', response: await sendDecision(client, decision, { retry, ...options }) };
  } catch (error) {
    const standing = error instanceof ApiError ? error.standing : undefined;
    if (standing === undefined) throw error;
    return { outcome: standing.status === decision.decision ? 'already' : 'overruled', standing };
  }
}

function sendDecision(
  client: Client,
  decision: ApprovalDecision,
  options: CallOptions & { readonly retry: Retries },
): Promise<CallResponse<'approve'>> {
  const { device } = client.connection;
  const defaults = device === undefined ? {} : { device };
  const { params } = decision;
  return decision.decision === 'approved'
    ? client.approve({ params, body: { ...defaults, ...decision.body } }, options)
    : client.reject({ params, body: { ...defaults, ...decision.body } }, options);
}
