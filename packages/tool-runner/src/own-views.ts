import { isDeepStrictEqual } from 'node:util';
import { isRefused, type PolicyDecision } from '@countersign/policy';
import {
  boundedReasons,
  CountersignError,
  describeCall,
  describeError,
  type ErrorCode,
  findTool,
  higherRisk,
  type JsonValue,
  makeVisible,
  maxRefusalText,
  type PolicyRule,
  type Preview,
  type Reason,
  type RiskLevel,
  riskLevels,
} from '@countersign/protocol';
import type { Logger } from './logger.ts';
import { ownRisk } from './own-verdict.ts';
import { shownView } from './preview/shown-view.ts';
import { visibleName } from './preview/visible-name.ts';
import type { ApprovalRequest, PreviewReport } from './runner-api.ts';
import type { CallPreviews } from './tool-handler-config.ts';

export interface OwnViewsDeps {
  readonly decide: (
    tool: string,
    params: Record<string, JsonValue>,
    rules: readonly PolicyRule[] | undefined,
  ) => PolicyDecision;
  readonly previews: CallPreviews;
  /** Sensitive files of the workspace, which a command that is approved is not kept from (VA-2). */
  readonly readableSecrets: () => readonly string[];
  readonly logger: Logger;
}

/** What was looked at, as it came: a copy as text would be a second whole file. */
type LookedAt = Pick<ApprovalRequest, 'revision' | 'tool_name' | 'tool_params' | 'path_rules'>;

type Found =
  | Extract<PreviewReport, { readonly refused: unknown }>
  | {
      readonly own: PolicyDecision;
      readonly preview: Preview;
      readonly base: string;
      readonly reasons: Reason[];
    };

interface KnownView {
  readonly of: LookedAt;
  readonly found: Promise<Found>;
}

/** A name of an agent is as long as a name; it must not tell a story. */
const MAX_AGENT_NAME = 40;
/** Sensitive files that a card names. */
const MOST_SECRETS = 5;
/** Reasons of the verdict that come before the sensitive files. */
const FIRST_REASONS = 20;
/** Of a workspace that changes all the time. */
const MOST_LOOKS = 3;

/**
 * What this machine itself finds of the calls it would execute: risk, reasons, preview and digest. The server is told
 * it (AP-7), and a card that is shown here is drawn from it, whatever the server's says (RN-2). Each version of a
 * request is looked at once, so that both speak of the same digest.
 */
export class OwnViews {
  readonly #deps: OwnViewsDeps;
  /** By approval id: of the newest version. */
  readonly #known = new Map<string, KnownView>();

  constructor(deps: OwnViewsDeps) {
    this.#deps = deps;
  }

  async report(request: ApprovalRequest): Promise<PreviewReport> {
    const found = await this.#find(request);
    if ('refused' in found) return found;
    const { own, reasons, ...view } = found;
    const { preview, base: digest_base } = view;
    const { digest } = shownView(request, own, view);
    const network = !isRefused(own.verdict) && own.verdict.network;
    const risk_level = ownRisk(own);
    return { revision: request.revision, reasons, preview, digest_base, digest, risk_level, network };
  }

  #find(request: ApprovalRequest): Promise<Found> {
    const { approval_id, revision, tool_name, tool_params, path_rules } = request;
    const of = { revision, tool_name, tool_params, path_rules };
    const known = this.#known.get(approval_id);
    if (known && isDeepStrictEqual(known.of, of)) return known.found;
    const found = this.#look(request);
    this.#known.set(approval_id, { of, found });
    return found;
  }

  /** The request as a card here shows it. A call that is refused here has no digest: nothing could be approved. */
  async card(request: ApprovalRequest): Promise<ApprovalRequest> {
    const report = await this.report(request);
    const { agent, tool_name, tool_params } = request;
    const { omitted: _, ...kept } = request;
    const shownPreview = 'refused' in report ? null : report.preview;
    const name = agent.slice(0, MAX_AGENT_NAME).trim();
    const description = describeCall(name, tool_name, tool_params, shownPreview);
    const own = { ...kept, description, reasons: [...report.reasons] };
    if ('refused' in report) {
      const preview = { kind: 'unavailable', reason: makeVisible(report.refused.message) } as const;
      return { ...own, risk_level: 'HIGH', network: false, preview, digest: null, digest_base: null };
    }
    const { preview, digest_base, digest = null, network } = report;
    const risk_level = higherRisk(report.risk_level, request.risk_level);
    if (isAbove(risk_level, report.risk_level))
      own.reasons.push({ rule: 'SERVER-1', why: `the server takes it for ${risk_level}` });
    return { ...own, risk_level, network, preview, digest, digest_base };
  }

  /** Decided: nobody asks for it again. */
  forget(approvalId: string): void {
    this.#known.delete(approvalId);
  }

  clear(): void {
    this.#known.clear();
  }

  /** Never fails: a preview that cannot be made ends the call, and the model hears why (AP-7). */
  async #look(request: ApprovalRequest): Promise<Found> {
    for (let times = 1; ; times += 1) {
      try {
        return await this.#lookOnce(request);
      } catch (error) {
        // Something changed between the judgement and the look: what is there now is judged and looked at.
        if (isChangedMeanwhile(error) && times < MOST_LOOKS) continue;
        this.#deps.logger.error(`No preview of ${request.tool_name}`, { error });
        return failedPreview(request.revision, error);
      }
    }
  }

  async #lookOnce(request: ApprovalRequest): Promise<Found> {
    const { revision, tool_name, tool_params, path_rules } = request;
    const { decide, previews } = this.#deps;
    const own = decide(tool_name, tool_params, path_rules);
    const { verdict, call } = own;
    if (isRefused(verdict)) {
      const reasons = boundedReasons(verdict.reasons);
      return { revision, reasons, refused: refusalOf(verdict.code, verdict.message) };
    }
    if (!call) throw new CountersignError('UNKNOWN_TOOL', { tool: tool_name, known: '' });
    const { preview, base } = await previews.preview(call, own);
    // Before the reasons that are cut where there are very many.
    const reasons = verdict.reasons.toSpliced(FIRST_REASONS, 0, ...this.#secretsFor(tool_name));
    return { own, preview, base, reasons: boundedReasons(reasons) };
  }

  /** VA-2: an approved program may read the workspace's own .env, and its card says so. */
  #secretsFor(tool: string): Reason[] {
    const category = findTool(tool)?.category;
    if (category !== 'command' && category !== 'shell') return [];
    const found = this.#deps.readableSecrets();
    if (found.length === 0) return [];
    const named = found.slice(0, MOST_SECRETS).map(visibleName).join(', ');
    const operand = found.length > MOST_SECRETS ? `${named}, …` : named;
    return [{ rule: 'SENS-8', why: 'could read the sensitive files of the workspace', operand }];
  }
}

/** What the server is told where no preview can be made or taken. */
export function failedPreview(
  revision: number,
  error: unknown,
): Extract<PreviewReport, { readonly refused: unknown }> {
  const { code, message } =
    error instanceof CountersignError
      ? error
      : describeError('PREVIEW_FAILED', { problem: error instanceof Error ? error.message : String(error) });
  return { revision, reasons: [], refused: refusalOf(code, message) };
}

const refusalOf = (code: ErrorCode, message: string) => ({
  code,
  message: message.length <= maxRefusalText ? message : `${message.slice(0, maxRefusalText - 1)}…`,
});

const isChangedMeanwhile = (error: unknown): boolean =>
  error instanceof CountersignError && error.code === 'APPROVAL_STALE';

const isAbove = (risk: RiskLevel, other: RiskLevel): boolean =>
  riskLevels.indexOf(risk) > riskLevels.indexOf(other);
