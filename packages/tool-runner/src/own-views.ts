import { isDeepStrictEqual } from 'node:util';
import { type Decision, isRefused } from '@countersign/policy';
import {
  CountersignError,
  describeCall,
  findTool,
  higherRisk,
  type JsonValue,
  makeVisible,
  type PolicyRule,
  type Reason,
  type RiskLevel,
  riskLevels,
} from '@countersign/protocol';
import { errorValueOf } from './failure-report.ts';
import type { Logger } from './logger.ts';
import { ownRisk } from './own-verdict.ts';
import { visibleName } from './preview/visible-name.ts';
import type { ApprovalRequest, PreviewReport } from './runner-api.ts';
import type { CallPreviews } from './tool-handler-config.ts';

export interface OwnViewsDeps {
  readonly decide: (
    tool: string,
    params: Record<string, JsonValue>,
    rules: readonly PolicyRule[] | undefined,
  ) => Decision;
  readonly previews: CallPreviews;
  /** Sensitive files of the workspace, which a command that is approved is not kept from (VA-2). */
  readonly readableSecrets: () => readonly string[];
  readonly logger: Logger;
}

/** What was looked at, as it came: a copy as text would be a second whole file. */
type LookedAt = Pick<ApprovalRequest, 'revision' | 'tool_name' | 'tool_params' | 'path_rules'>;

interface KnownView {
  readonly of: LookedAt;
  readonly report: Promise<PreviewReport>;
}

/** A name of an agent is as long as a name; it must not tell a story. */
const MAX_AGENT_NAME = 40;
/** Sensitive files that a card names. */
const MOST_SECRETS = 5;

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

  report(request: ApprovalRequest): Promise<PreviewReport> {
    const { approval_id, revision, tool_name, tool_params, path_rules } = request;
    const of = { revision, tool_name, tool_params, path_rules };
    const known = this.#known.get(approval_id);
    if (known && isDeepStrictEqual(known.of, of)) return known.report;
    const report = this.#look(request);
    this.#known.set(approval_id, { of, report });
    return report;
  }

  /** The request as a card here shows it. A call that is refused here has no digest: nothing could be approved. */
  async card(request: ApprovalRequest): Promise<ApprovalRequest> {
    const report = await this.report(request);
    const { agent, tool_name, tool_params } = request;
    const { omitted: _, ...kept } = request;
    const description = describeCall(agent.slice(0, MAX_AGENT_NAME).trim(), tool_name, tool_params);
    const own = { ...kept, description, reasons: [...report.reasons] };
    if ('refused' in report) {
      const preview = { kind: 'unavailable', reason: makeVisible(report.refused.message) } as const;
      return { ...own, risk_level: 'HIGH', network: false, preview, digest: null };
    }
    const { preview, digest, network, riskLevel } = report;
    const risk_level = higherRisk(riskLevel, request.risk_level);
    if (isAbove(risk_level, riskLevel))
      own.reasons.push({ rule: 'SERVER-1', why: `the server takes it for ${risk_level}` });
    return { ...own, risk_level, network, preview, digest };
  }

  /** Decided: nobody asks for it again. */
  forget(approvalId: string): void {
    this.#known.delete(approvalId);
  }

  clear(): void {
    this.#known.clear();
  }

  async #look({ revision, tool_name, tool_params, path_rules }: ApprovalRequest): Promise<PreviewReport> {
    const { decide, previews, logger } = this.#deps;
    const own = decide(tool_name, tool_params, path_rules);
    const { verdict, call } = own;
    const { reasons } = verdict;
    if (isRefused(verdict))
      return { revision, reasons, refused: { code: verdict.code, message: verdict.message } };
    try {
      if (!call) throw new CountersignError('UNKNOWN_TOOL', { tool: tool_name, known: '' });
      const { preview, digest } = await previews.preview(call, own);
      return {
        revision,
        reasons: [...reasons, ...this.#secretsFor(tool_name)],
        preview,
        digest,
        riskLevel: ownRisk(own),
        network: verdict.network,
      };
    } catch (error) {
      // What cannot even be planned would fail when it runs: the model hears why, and the person is not asked.
      const { code, message } = errorValueOf(error);
      logger.error(`No preview of ${tool_name}: ${code}`, { error });
      return { revision, reasons, refused: { code, message } };
    }
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

const isAbove = (risk: RiskLevel, other: RiskLevel): boolean =>
  riskLevels.indexOf(risk) > riskLevels.indexOf(other);
