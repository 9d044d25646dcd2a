import { isDeepStrictEqual } from 'node:util';
import {
  CountersignError,
  type ErrorCode,
  type EventPayload,
  type JsonValue,
  lookAgainCodes,
  type RequestBody,
} from '@countersign/protocol';
import { isRefusal, type RetryOptions, type RunnerClock, retry } from './clock.ts';
import type { LogDetails, Logger } from './logger.ts';
import { cardOf, failedPreview, type OwnView, previewOf } from './own-view.ts';
import type { ApprovalRequest, DecisionAnswer, PreviewReport, RunnerApi } from './runner-api.ts';
import { ToolApprovalTimeout } from './runner-errors.ts';

/**
 * A person's decision: a boolean for this one call, or the body of the decision. If it has no digest, the digest of the
 * request that the dialog was opened with counts.
 */
export type DialogAnswer = boolean | DialogDecision;
export type DialogDecision =
  | ({ readonly decision: 'approved' } & RequestBody<'approve'>)
  | ({ readonly decision: 'rejected' } & RequestBody<'reject'>);

/** Shows approval cards. */
export interface ApprovalDialogProvider {
  /**
   * The signal is aborted when the card goes: withdrawn because it was decided elsewhere, expired or disposed of; with
   * the reason 'answered' when a decision of this card was sent.
   */
  showApprovalDialog(request: ApprovalRequest, signal: AbortSignal): Promise<DialogAnswer>;
  /**
   * A card that is open has a new version. Its answer names the digest that was displayed, since it may have been
   * given before this came. Without this method the card is withdrawn and shown anew.
   */
  updateApprovalDialog?(request: ApprovalRequest): void;
}

export interface OpenApprovalDeps {
  readonly api: RunnerApi;
  /** Undefined: nobody is asked here. */
  readonly dialogs: ApprovalDialogProvider | undefined;
  readonly clock: RunnerClock;
  readonly logger: Logger;
  /** The timeout of requests that do not have one. */
  readonly defaultTimeoutMs: number;
  /** Whether this machine would execute the call: then it previews it, and its card is drawn from what it finds. */
  readonly executes: (request: ApprovalRequest) => boolean;
  readonly look: (request: ApprovalRequest) => Promise<OwnView>;
  /** Called before sending an approval of exactly what this machine drew, to remember it (RN-2). */
  readonly onApproving: (request: ApprovalRequest, digest: string) => void;
  /** Called before sending a rejection, to forget an earlier approval that the server may not have got. */
  readonly onRejecting: (request: ApprovalRequest) => void;
}

interface Card {
  readonly gone: AbortController;
  isOpen: boolean;
  /** A decision of this card that is on its way; its end never rejects. */
  sending: { readonly decision: DialogDecision['decision']; readonly end: Promise<void> } | undefined;
  /** The decision that was sent from here and stands. */
  decided: DialogDecision['decision'] | undefined;
}

/** RN-1: sending a decision is retried 3 times. */
const SENDING_RETRIES = 3;
/** No preview is needed: decided meanwhile, there is a newer revision, or another runner has the call. */
const isNotNeeded: ReadonlySet<ErrorCode> = new Set([
  'ALREADY_DECIDED',
  'PREVIEW_CHANGED',
  'NOT_FOUND',
  'CLAIM_REFUSED',
]);

/**
 * One request that waits for a decision, as this machine follows it: the server's newest version, what this machine
 * finds itself, the card drawn from that, and what was sent. Closing, a crash or a timer never decides (AP-3).
 */
export class OpenApproval {
  readonly #deps: OpenApprovalDeps;
  readonly #closed = new AbortController();
  /** Aborted when a decision is not to be sent again. */
  readonly #ended = new AbortController();
  /** The newest version as the server has it. */
  #asked: ApprovalRequest;
  /** Each version is looked at once, so that the server's preview and the card here have one digest. */
  #view: { readonly of: unknown; readonly found: Promise<OwnView> } | undefined;
  #shown: ApprovalRequest;
  /** Ends when the newest version is drawn; false: it cannot be. */
  #drawing: Promise<boolean> = Promise.resolve(false);
  /** Aborted when another version is shown. */
  #changed = new AbortController();
  /** Digests of what this machine drew itself. */
  readonly #drawn = new Set<string>();
  /** Digests that were approved here: each is noted once, also if the decision is sent again. */
  readonly #noted = new Set<string>();
  #card: Card | undefined;
  /** The preview that is being sent. */
  #preview: { readonly revision: number; readonly stop: AbortController } | undefined;

  constructor(request: ApprovalRequest, deps: OpenApprovalDeps) {
    this.#deps = deps;
    this.#asked = request;
    this.#shown = request;
  }

  /** The newest version, as it is shown here. */
  get request(): ApprovalRequest {
    return this.#shown;
  }

  /** What its log lines have in common with the server's. */
  get #about(): LogDetails {
    return { call: this.#asked.tool_id, approval: this.#asked.approval_id };
  }

  /** Whether the person is asked here now. */
  get isAsked(): boolean {
    return this.#card !== undefined;
  }

  /** Takes a version of the request: the server gets this machine's preview of it, and an open card shows it. */
  take(asked: ApprovalRequest): void {
    this.#asked = asked;
    this.#drawing = this.#draw(asked);
  }

  update(update: EventPayload<'approval.updated'>): void {
    // Drop these two unless the update has them again.
    const { omitted: _, path_rules: __, ...before } = this.#asked;
    this.take({ ...before, ...update });
  }

  /** Shows the card. Resolves with the decision that was sent and stands; undefined when there is none. */
  async ask(): Promise<DialogDecision['decision'] | undefined> {
    const { dialogs, clock, logger } = this.#deps;
    if (!dialogs || this.#card) return undefined;
    const card: Card = {
      gone: new AbortController(),
      isOpen: false,
      sending: undefined,
      decided: undefined,
    };
    this.#card = card;
    const cancelTimer = clock.after(this.#timeLeft(this.#asked), () => {
      const error = new ToolApprovalTimeout();
      logger.error(`Approval card withdrawn: ${this.#asked.tool_id}`, { ...this.#about, error });
      this.withdraw();
    });
    try {
      await this.#show(card, dialogs);
      await card.sending?.end;
    } finally {
      cancelTimer();
      this.#endCard(card, 'withdrawn');
    }
    return card.decided;
  }

  /** Sends what the person decided on this machine. Rejects with the server's refusal: the card can be answered again. */
  decide(decision: DialogDecision): Promise<DecisionAnswer> {
    const card = this.#card;
    const sent = this.#send(decision, card);
    if (card) {
      const settled = () => {
        if (card.sending === sending) card.sending = undefined;
      };
      const sending = { decision: decision.decision, end: sent.then(settled, settled) };
      card.sending = sending;
    }
    return sent;
  }

  async #send(decision: DialogDecision, card: Card | undefined): Promise<DecisionAnswer> {
    const { api, clock, logger } = this.#deps;
    const { approval_id, tool_id } = this.#asked;
    const failing = `Sending the decision failed: ${tool_id}`;
    if (decision.decision === 'approved') this.#noteApproval(decision);
    else {
      this.#noted.clear();
      this.#deps.onRejecting(this.#asked);
    }
    const send = () =>
      decision.decision === 'approved'
        ? api.approveToolExecution(approval_id, decision)
        : api.rejectToolExecution(approval_id, { ...decision, reason: decision.reason ?? 'User declined' });
    try {
      const sent = await retry(send, {
        clock,
        logger,
        failing,
        details: this.#about,
        signal: this.#ended.signal,
        times: SENDING_RETRIES,
        isFinal: (error) => isOvertaken(error) || isRefusal(error),
      });
      if (sent.outcome === 'overruled')
        logger.info(`Decided elsewhere: ${tool_id} is ${sent.standing.status}`, this.#about);
      else if (card) card.decided = decision.decision;
      this.#endCard(card, 'answered');
      return sent;
    } catch (error) {
      logger.error(failing, { ...this.#about, error });
      throw error;
    }
  }

  /** Withdraws the card and sends nothing (AP-3). */
  withdraw(): void {
    // A card whose decision is being sent shows the outcome itself.
    this.#endCard(this.#card, this.#card?.sending ? 'answered' : 'withdrawn');
  }

  /**
   * Call when the request was decided (`status`) or is no longer followed. Closes the card and stops sending, except for
   * our own decision that may have settled it and whose response was lost.
   */
  close(status?: EventPayload<'approval.resolved'>['status']): void {
    if (status === undefined || this.#card?.sending?.decision !== status) this.#ended.abort();
    this.#closed.abort();
    this.#preview?.stop.abort();
    this.withdraw();
  }

  #endCard(card: Card | undefined, reason: 'answered' | 'withdrawn'): void {
    card?.gone.abort(reason);
    if (this.#card === card) this.#card = undefined;
  }

  #timeLeft({ remaining_ms, timeout_seconds }: Partial<ApprovalRequest>): number {
    if (remaining_ms !== undefined) return remaining_ms;
    return timeout_seconds === undefined ? this.#deps.defaultTimeoutMs : timeout_seconds * 1000;
  }

  async #draw(asked: ApprovalRequest): Promise<boolean> {
    const { api, clock, executes, logger } = this.#deps;
    const isOver = () => this.#asked !== asked || this.#closed.signal.aborted;
    let isOurs = false;
    try {
      isOurs = executes(asked);
      const trying = { clock, logger, signal: this.#closed.signal };
      const request = { ...asked, tool_params: await callParams(asked, api, trying) };
      const preview = isOurs ? previewOf(request, await this.#look(request)) : undefined;
      if (isOver()) return true;
      if (preview) void this.#sendPreview(preview, request.digest);
      this.#showVersion(preview ? cardOf(request, preview) : request, preview !== undefined);
      return true;
    } catch (error) {
      if (isOver()) return true;
      logger.error(`Approval card could not be drawn: ${asked.tool_id}`, { ...this.#about, error });
      // Nobody can look at it, so nobody can approve it: the call ends with that reason (AP-7).
      if (isOurs) void this.#sendPreview(failedPreview(asked.revision, error), null);
      this.withdraw();
      return false;
    }
  }

  #look(request: ApprovalRequest): Promise<OwnView> {
    const { revision, tool_name, tool_params, path_rules } = request;
    const of = { revision, tool_name, tool_params, path_rules };
    if (!this.#view || !isDeepStrictEqual(this.#view.of, of))
      this.#view = { of, found: this.#deps.look(request) };
    return this.#view.found;
  }

  #showVersion(request: ApprovalRequest, isOwn: boolean): void {
    this.#shown = request;
    // Once the server's version is shown, its digests do not prove what the person saw.
    if (!isOwn) this.#drawn.clear();
    else if (request.digest !== null) this.#drawn.add(request.digest);
    this.#changed.abort();
    this.#changed = new AbortController();
    if (!this.#card?.isOpen) return;
    try {
      this.#deps.dialogs?.updateApprovalDialog?.(request);
    } catch (error) {
      this.#deps.logger.error(`Approval card failed: ${request.tool_id}`, { ...this.#about, error });
    }
  }

  /** Shows the newest version until the card is answered or goes. */
  async #show(card: Card, dialogs: ApprovalDialogProvider): Promise<void> {
    const { signal: gone } = card.gone;
    for (;;) {
      if (!(await this.#newestDrawn(gone))) return this.#endCard(card, 'withdrawn');
      const shown = this.#shown;
      const { signal: changed } = this.#changed;
      const over = dialogs.updateApprovalDialog ? gone : AbortSignal.any([gone, changed]);
      card.isOpen = true;
      const answer = await Promise.race([this.#openDialog(shown, over, dialogs), aborted(over)]);
      card.isOpen = false;
      if (over.aborted) continue;
      // A card that failed counts as not answered.
      if (answer === undefined) return this.#endCard(card, 'withdrawn');
      const isOverOrShownAgain = await this.decide(decisionOf(answer, shown)).then(() => true, isOvertaken);
      if (!isOverOrShownAgain) return this.#endCard(card, 'answered'); // this dialog cannot be answered again
      // A card that was overtaken already is shown at once; otherwise the newer version is on its way.
      if (this.#shown === shown) await aborted(AbortSignal.any([changed, gone]));
    }
  }

  /** False: it cannot be drawn, or the card is gone. */
  async #newestDrawn(gone: AbortSignal): Promise<boolean> {
    for (;;) {
      const last = this.#drawing;
      const isDrawn = await Promise.race([last, aborted(gone)]);
      if (gone.aborted) return false;
      if (last === this.#drawing) return isDrawn === true;
    }
  }

  async #openDialog(
    request: ApprovalRequest,
    over: AbortSignal,
    dialogs: ApprovalDialogProvider,
  ): Promise<DialogAnswer | undefined> {
    try {
      return await dialogs.showApprovalDialog(request, over);
    } catch (error) {
      if (!over.aborted)
        this.#deps.logger.error(`Approval card failed: ${request.tool_id}`, { ...this.#about, error });
      return undefined;
    }
  }

  /** Remembers an approval, except of edited parameters, which this machine has not drawn: they may be asked about again. */
  #noteApproval({ digest, tool_params }: RequestBody<'approve'>): void {
    if (digest === undefined || tool_params !== undefined || !this.#drawn.has(digest)) return;
    if (this.#noted.has(digest)) return;
    this.#noted.add(digest);
    this.#deps.onApproving(this.#asked, digest);
  }

  /** One at a time: a newer revision makes the one before it pointless. */
  async #sendPreview(report: PreviewReport, digest: string | null): Promise<void> {
    // The server has it already, from this process or an earlier one of this runner.
    if ('digest' in report && report.digest === digest) return;
    const { revision } = report;
    if (this.#preview && this.#preview.revision >= revision) return;
    this.#preview?.stop.abort();
    const preview = { revision, stop: new AbortController() };
    this.#preview = preview;
    await this.#tellPreview(report, preview.stop.signal);
    if (this.#preview === preview) this.#preview = undefined;
  }

  /** Sends a preview. If the server refuses it, ends the call with the reason: nobody could approve it (AP-7). */
  async #tellPreview(report: PreviewReport, signal: AbortSignal): Promise<void> {
    const { api, clock, logger } = this.#deps;
    const { approval_id } = this.#asked;
    const failing = `Sending the preview failed: ${approval_id}`;
    const details = this.#about;
    const send = async () => api.sendToolPreview?.(approval_id, report);
    try {
      await retry(send, { clock, logger, failing, details, signal });
      logger.info(`Preview sent: ${approval_id}`, details);
    } catch (error) {
      if (signal.aborted) return;
      logger.error(failing, { ...details, error });
      if (!isRefusal(error) || isNotNeeded.has(error.code) || 'refused' in report) return;
      const problem = `the server did not take the preview: ${error.message}`;
      const failed = new CountersignError('PREVIEW_FAILED', { problem }, { cause: error });
      await this.#tellPreview(failedPreview(report.revision, failed), signal);
    }
  }
}

function decisionOf(answer: DialogAnswer, { digest }: ApprovalRequest): DialogDecision {
  if (answer === false) return { decision: 'rejected' };
  const decision = answer === true ? { decision: 'approved' as const } : answer;
  if (decision.decision === 'rejected' || digest === null) return decision;
  return { ...decision, digest: decision.digest ?? digest };
}

const isOvertaken = (error: unknown): boolean =>
  error instanceof CountersignError && lookAgainCodes.has(error.code);

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });

/** The parameters of a call, also where its event left them out for their size (EV-2). */
export async function callParams(
  { tool_id, tool_params, omitted }: Pick<ApprovalRequest, 'tool_id' | 'tool_params' | 'omitted'>,
  api: RunnerApi,
  trying: Pick<RetryOptions, 'clock' | 'logger' | 'signal'>,
): Promise<Record<string, JsonValue>> {
  if (!omitted?.includes('tool_params')) return tool_params;
  const fetchParams = api.fetchToolParams?.bind(api);
  if (!fetchParams)
    throw new CountersignError('UNAVAILABLE', { problem: 'the parameters cannot be fetched' });
  const failing = `Fetching the parameters failed: ${tool_id}`;
  return retry(() => fetchParams(tool_id), { ...trying, failing, details: { call: tool_id } });
}
