import { isRefused } from '@countersign/policy';
import { CountersignError, type EventPayload, errorCodes } from '@countersign/protocol';
import { backoffMs, pause, type RunnerClock } from './clock.ts';
import { errorValueOf } from './failure-report.ts';
import type { Logger } from './logger.ts';
import { ownRisk } from './own-verdict.ts';
import type { ApprovalRequest, PreviewReport, RunnerApi } from './runner-api.ts';
import type { ToolHandler } from './tool-handler.ts';

export interface PreviewDeskDeps {
  readonly api: Pick<RunnerApi, 'sendToolPreview'>;
  readonly handler: Pick<ToolHandler, 'decide' | 'previews'>;
  readonly clock: RunnerClock;
  readonly logger: Logger;
}

/**
 * Computes what a call would do, here where the files are, and sends it with this machine's own verdict (AP-7, VA-8).
 * One at a time for a request: a newer revision or the decision makes the one before it pointless.
 */
export class PreviewDesk {
  readonly #deps: PreviewDeskDeps;
  readonly #underWay = new Map<string, { readonly revision: number; readonly stop: AbortController }>();

  constructor(deps: PreviewDeskDeps) {
    this.#deps = deps;
  }

  async preview(request: ApprovalRequest): Promise<void> {
    const { approval_id, revision } = request;
    const known = this.#underWay.get(approval_id);
    if (known && known.revision >= revision) return;
    known?.stop.abort();
    const stop = new AbortController();
    const own = { revision, stop };
    this.#underWay.set(approval_id, own);
    try {
      await this.#send(approval_id, await this.#compute(request), stop.signal);
    } finally {
      if (this.#underWay.get(approval_id) === own) this.#underWay.delete(approval_id);
    }
  }

  /** Decided: nobody needs its preview any more. */
  resolved({ approval_id }: Pick<EventPayload<'approval.resolved'>, 'approval_id'>): void {
    this.#underWay.get(approval_id)?.stop.abort();
  }

  close(): void {
    for (const { stop } of this.#underWay.values()) stop.abort();
    this.#underWay.clear();
  }

  async #compute({ revision, tool_name, tool_params }: ApprovalRequest): Promise<PreviewReport> {
    const { handler, logger } = this.#deps;
    const own = handler.decide(tool_name, tool_params);
    const { verdict, call } = own;
    const { reasons } = verdict;
    if (isRefused(verdict))
      return { revision, reasons, refused: { code: verdict.code, message: verdict.message } };
    try {
      if (!call) throw new CountersignError('UNKNOWN_TOOL', { tool: tool_name, known: '' });
      const { preview, digest } = await handler.previews.preview(call, own);
      return { revision, reasons, preview, digest, riskLevel: ownRisk(own), network: verdict.network };
    } catch (error) {
      // What cannot even be planned would fail when it runs: the model hears why, and the person is not asked.
      const { code, message } = errorValueOf(error);
      logger.error(`No preview of ${tool_name}: ${code}`, { error });
      return { revision, reasons, refused: { code, message } };
    }
  }

  async #send(approvalId: string, report: PreviewReport, signal: AbortSignal): Promise<void> {
    const { api, clock, logger } = this.#deps;
    for (let failures = 0; !signal.aborted; ) {
      try {
        await api.sendToolPreview?.(approvalId, report);
        return;
      } catch (error) {
        failures += 1;
        logger.error(`Sending the preview failed: ${approvalId}, try ${failures}`, { error });
        // Decided meanwhile, or there is a newer revision: the server's word.
        if (error instanceof CountersignError && errorCodes[error.code].remedy !== 'repeat') return;
        await pause(clock, backoffMs(failures), signal);
      }
    }
  }
}
