import type { Approval } from './approval.ts';
import { digestOf, type Sha256 } from './digest.ts';
import type { JsonValue } from './json-value.ts';
import type { Preview } from './preview.ts';
import type { RiskLevel } from './risk.ts';

/** What a card shows of a call, with the runner's digest of the state of the machine (AP-8, docs/decisions/0005). */
export interface ShownCall {
  /** The runner's: call, working directory, versions of the files. Only the runner can compute it. */
  readonly digest_base: string;
  readonly tool_name: string;
  readonly tool_params: Readonly<Record<string, JsonValue>>;
  readonly risk_level: RiskLevel;
  readonly preview: Preview;
}

/** The digest that a person approves: computed alike by runner and server, and checked by each front end. */
export function shownDigest(shown: ShownCall, sha256?: Sha256): string {
  const { digest_base: base, tool_name, tool_params, risk_level, preview } = shown;
  return digestOf({ form: 2, base, tool_name, tool_params, risk_level, preview }, sha256);
}

type Card = Pick<
  Approval,
  'tool_name' | 'tool_params' | 'risk_level' | 'preview' | 'digest' | 'digest_base' | 'omitted'
>;

/**
 * Whether a card may show its preview and be approved:
 *
 * - `none`: no preview is there yet, and no digest names one;
 * - `partial`: parts were left out for their size; fetch the approval, then check again;
 * - `fits`: what is shown is what the digest names;
 * - `differs`: it is not. The preview must not be shown, and only rejecting is left.
 */
export function checkShown(card: Card, sha256?: Sha256): 'none' | 'partial' | 'fits' | 'differs' {
  const { preview, digest, digest_base, omitted } = card;
  // A runner's own card without a digest says why nothing can be approved.
  if (digest === null && (preview === null || preview.kind === 'unavailable')) return 'none';
  if (omitted?.includes('preview') || omitted?.includes('tool_params')) return 'partial';
  if (preview === null || digest === null || digest_base === null) return 'differs';
  return shownDigest({ ...card, preview, digest_base }, sha256) === digest ? 'fits' : 'differs';
}

/** Said in place of a preview that its digest does not name. */
const previewDiffers =
  'it does not fit its digest, so it is not shown and cannot be approved. Reject the call, and look at the machine that executes it';

/** A card that was checked; `unfit`: its preview was taken away, and only rejecting is left. */
export type CheckedCard<C> = C & { readonly unfit?: true };

/** The card to show: without its preview if the digest differs (AP-8). Missing parts are checked when they arrive. */
export function checkedCard<C extends Card>(card: C, sha256?: Sha256): CheckedCard<C> {
  if (checkShown(card, sha256) !== 'differs') return card;
  return { ...card, preview: { kind: 'unavailable', reason: previewDiffers }, unfit: true };
}
