import type { PolicyDecision } from '@countersign/policy';
import { higherRisk, type Preview, type RiskLevel, type ShownCall, shownDigest } from '@countersign/protocol';
import { ownRisk } from '../own-verdict.ts';
import { nodeSha256 } from './call-digest.ts';

/** A call as a card of any front end shows it, with the digest that names it (AP-8). */
export interface ShownView extends ShownCall {
  readonly digest: string;
}

/**
 * What the server asks or signals, with what this machine finds: the higher risk counts. The server joins them in the
 * same way, so that both have one digest.
 */
export function shownView(
  asked: Pick<ShownCall, 'tool_name' | 'tool_params' | 'risk_level'>,
  own: PolicyDecision,
  { preview, base }: { readonly preview: Preview; readonly base: string },
): ShownView {
  const { tool_name, tool_params } = asked;
  const risk_level: RiskLevel = higherRisk(ownRisk(own), asked.risk_level);
  const shown = { digest_base: base, tool_name, tool_params, risk_level, preview };
  return { ...shown, digest: shownDigest(shown, nodeSha256) };
}
