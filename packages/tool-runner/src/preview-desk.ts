import { CountersignError, type ErrorCode, type EventPayload } from '@countersign/protocol';
import type { RunnerClock } from './clock.ts';
import type { Logger } from './logger.ts';
import { failedPreview, type OwnViews } from './own-views.ts';
import { isRefusal, retry } from './retry.ts';
import type { ApprovalRequest, PreviewReport, RunnerApi } from './runner-api.ts';

/** Decided meanwhile, there is a newer revision, or another runner has the call. */
const isNotNeeded: ReadonlySet<ErrorCode> = new Set([
  'ALREADY_DECIDED',
  'PREVIEW_CHANGED',
  'NOT_FOUND',
  'CLAIM_REFUSED',
]);

export interface PreviewDeskDeps {
  readonly api: Pick<RunnerApi, 'sendToolPreview'>;
  readonly views: Pick<OwnViews, 'report'>;
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

  readonly #closed = new AbortController();

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
      const report = await this.#deps.views.report(request);
      // The server has it already, from this runner or from its life before.
      if ('digest' in report && report.digest === request.digest) return;
      await this.#tell(approval_id, report, stop.signal);
    } finally {
      if (this.#underWay.get(approval_id) === own) this.#underWay.delete(approval_id);
    }
  }

  /** What was asked about cannot even be read: the call ends with that reason. */
  async fail({ approval_id, revision }: ApprovalRequest, error: unknown): Promise<void> {
    await this.#send(approval_id, failedPreview(revision, error), this.#closed.signal);
  }

  /** Decided: nobody needs its preview any more. */
  resolved({ approval_id }: Pick<EventPayload<'approval.resolved'>, 'approval_id'>): void {
    this.#underWay.get(approval_id)?.stop.abort();
  }

  close(): void {
    this.#closed.abort();
    for (const { stop } of this.#underWay.values()) stop.abort();
    this.#underWay.clear();
  }

  /** A preview that the server does not take ends the call with its reason: nobody could ever approve it (AP-7). */
  async #tell(approvalId: string, report: PreviewReport, signal: AbortSignal): Promise<void> {
    const refusal = await this.#send(approvalId, report, signal);
    if (!refusal || isNotNeeded.has(refusal.code) || 'refused' in report) return;
    const problem = `the server did not take the preview: ${refusal.message}`;
    const failed = new CountersignError('PREVIEW_FAILED', { problem }, { cause: refusal });
    await this.#send(approvalId, failedPreview(report.revision, failed), signal);
  }

  /** Sends it until it is taken or refused; what cannot be sent now is sent again. */
  async #send(
    approvalId: string,
    report: PreviewReport,
    signal: AbortSignal,
  ): Promise<CountersignError | undefined> {
    const { api, clock, logger } = this.#deps;
    const failing = `Sending the preview failed: ${approvalId}`;
    try {
      await retry(async () => api.sendToolPreview?.(approvalId, report), { clock, logger, failing, signal });
      return undefined;
    } catch (error) {
      logger.error(failing, { error });
      return isRefusal(error) ? error : undefined;
    }
  }
}
