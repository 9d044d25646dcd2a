import { CountersignError, type EventPayload, errorCodes } from '@countersign/protocol';
import { backoffMs, pause, type RunnerClock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { OwnViews } from './own-views.ts';
import type { ApprovalRequest, PreviewReport, RunnerApi } from './runner-api.ts';

export interface PreviewDeskDeps {
  readonly api: Pick<RunnerApi, 'sendToolPreview'>;
  readonly views: Pick<OwnViews, 'report'>;
  readonly clock: RunnerClock;
  readonly logger: Logger;
}

interface UnderWay {
  readonly request: ApprovalRequest;
  readonly stop: AbortController;
  /** The same request, as it came once more meanwhile. */
  askedAgain: ApprovalRequest | undefined;
}

/**
 * Computes what a call would do, here where the files are, and sends it with this machine's own verdict (AP-7, VA-8).
 * One at a time for a request: a newer revision or the decision makes the one before it pointless.
 */
export class PreviewDesk {
  readonly #deps: PreviewDeskDeps;
  readonly #underWay = new Map<string, UnderWay>();

  constructor(deps: PreviewDeskDeps) {
    this.#deps = deps;
  }

  async preview(request: ApprovalRequest): Promise<void> {
    const { approval_id, revision } = request;
    const known = this.#underWay.get(approval_id);
    if (known && known.request.revision >= revision) {
      known.askedAgain = request;
      return;
    }
    known?.stop.abort();
    const own: UnderWay = { request, stop: new AbortController(), askedAgain: undefined };
    this.#underWay.set(approval_id, own);
    try {
      let isTaken = await this.#make(own, request);
      // Refused while we were away, and asked for since: the server knows us again.
      while (!isTaken && own.askedAgain) isTaken = await this.#make(own, own.askedAgain);
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

  /** Answers whether nothing more is to be done: it was taken, or is not needed. */
  async #make(own: UnderWay, request: ApprovalRequest): Promise<boolean> {
    own.askedAgain = undefined;
    const report = await this.#deps.views.report(request);
    // The server has it already, from this runner or from its life before.
    if ('digest' in report && report.digest === request.digest) return true;
    return this.#send(request.approval_id, report, own.stop.signal);
  }

  async #send(approvalId: string, report: PreviewReport, signal: AbortSignal): Promise<boolean> {
    const { api, clock, logger } = this.#deps;
    for (let failures = 0; !signal.aborted; ) {
      try {
        await api.sendToolPreview?.(approvalId, report);
        return true;
      } catch (error) {
        failures += 1;
        logger.error(`Sending the preview failed: ${approvalId}, try ${failures}`, { error });
        // Decided meanwhile, or there is a newer revision, or we are not there for it: the server's word.
        if (error instanceof CountersignError && errorCodes[error.code].remedy !== 'repeat') return false;
        await pause(clock, backoffMs(failures), signal);
      }
    }
    return true;
  }
}
