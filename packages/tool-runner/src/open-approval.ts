import { isDeepStrictEqual } from 'node:util';
import {
  CountersignError,
  type ErrorCode,
  type EventPayload,
  type JsonValue,
  lookAgainCodes,
  type RequestBody,
} from '@countersign/protocol';
import type { RunnerClock } from './clock.ts';
import type { LogDetails, Logger } from './logger.ts';
import { cardOf, failedPreview, type OwnView, previewReportOf } from './own-view.ts';
import { isRefusal, type RetryOptions, retry } from './retry.ts';
import type { ApprovalRequest, DecisionAnswer, PreviewReport, RunnerApi } from './runner-api.ts';
import { ToolApprovalTimeout } from './runner-errors.ts';

/**
 * A person's decision: a boolean for this call alone, or the body of the decision request. A body without a digest gets
 * the digest that the dialog was opened with.
 */
export type DialogAnswer = boolean | DialogDecision;
export type DialogDecision =
  | ({ readonly decision: 'approved' } & RequestBody<'approve'>)
  | ({ readonly decision: 'rejected' } & RequestBody<'reject'>);

export interface ApprovalDialogProvider {
  /**
   * The signal aborts when the card must close: with the reason 'answered' after a decision of this card was sent,
   * otherwise because the request was decided elsewhere, expired or is no longer followed.
   */
  showApprovalDialog(request: ApprovalRequest, signal: AbortSignal): Promise<DialogAnswer>;
  /**
   * Updates an open card to a new version of the request. The card's decision must name the digest that it displayed,
   * because the person may have decided before the update. Without this method the card is closed and shown again.
   */
  updateApprovalDialog?(request: ApprovalRequest): void;
}

export interface OpenApprovalDeps {
  readonly api: RunnerApi;
  /** Undefined: no cards are shown on this machine. */
  readonly dialogs: ApprovalDialogProvider | undefined;
  readonly clock: RunnerClock;
  readonly logger: Logger;
  /** The timeout of requests that do not have one. */
  readonly defaultTimeoutMs: number;
  /** Whether this machine would execute the call. If so, it makes the preview and draws the card itself. */
  readonly executes: (request: ApprovalRequest) => boolean;
  readonly look: (request: ApprovalRequest) => Promise<OwnView>;
  /** Tries the call, and returns its view with the outcome. Throws only when the signal aborts. */
  readonly tryCall: (request: ApprovalRequest, view: OwnView, signal: AbortSignal) => Promise<OwnView>;
  /** Called when a trial is of no use any more. */
  readonly dropTrial: (request: ApprovalRequest) => void;
  /** Called before an approval is sent, if this machine drew the approved card. Records the decision (RN-2). */
  readonly onApproving: (request: ApprovalRequest, digest: string) => void;
  /** Called before a rejection is sent. Deletes an earlier approval that may not have reached the server. */
  readonly onRejecting: (request: ApprovalRequest) => void;
}

interface Card {
  readonly gone: AbortController;
  isOpen: boolean;
  /** The decision that is being sent; `end` never rejects. */
  sending: { readonly decision: DialogDecision['decision']; readonly end: Promise<void> } | undefined;
  /** The decision sent from this card, once the server has confirmed that it stands. */
  decided: DialogDecision['decision'] | undefined;
}

interface SentPreview {
  readonly revision: number;
  readonly digest: string | undefined;
  readonly stop: AbortController;
}

/** A trial is of a call, whatever the revision of its request. */
type TriedFacts = Pick<ApprovalRequest, 'tool_name' | 'tool_params' | 'path_rules'>;
const triedFacts = ({ tool_name, tool_params, path_rules }: ApprovalRequest): TriedFacts => ({
  tool_name,
  tool_params,
  path_rules,
});

interface OpenTrial {
  readonly of: Promise<TriedFacts>;
  readonly stop: AbortController;
  /** Undefined while it runs. */
  readonly found: OwnView | undefined;
}

/** RN-1: sending a decision is retried 3 times. */
const SENDING_RETRIES = 3;
/** Refusals of a preview that need no reaction: decided meanwhile, a newer revision, or another runner's call. */
const obsoletePreviewCodes: ReadonlySet<ErrorCode> = new Set([
  'ALREADY_DECIDED',
  'PREVIEW_CHANGED',
  'NOT_FOUND',
  'CLAIM_REFUSED',
]);

/**
 * One pending approval request on this machine: the server's newest version, this machine's own preview, the card drawn
 * from it, and the decision being sent. Closing, a crash or a timer never decides (AP-3).
 */
export class OpenApproval {
  readonly #deps: OpenApprovalDeps;
  readonly #closed = new AbortController();
  /** Aborted when retries of a decision must stop. */
  readonly #ended = new AbortController();
  /** The newest version that the server sent. */
  #asked: ApprovalRequest;
  /** This machine's view of one version, made once, so that the server's preview and our card have the same digest. */
  #view: { readonly of: unknown; readonly found: Promise<OwnView> } | undefined;
  #shown: ApprovalRequest;
  /** Resolves when the newest version is drawn; with false if it cannot be drawn. */
  #drawing: Promise<boolean> = Promise.resolve(false);
  /** Aborted when another version is shown. */
  #changed = new AbortController();
  /** Digests of the cards that this machine drew itself. */
  readonly #drawn = new Set<string>();
  /** Digests whose approval was recorded, so that sending the decision again does not record it twice. */
  readonly #noted = new Set<string>();
  #card: Card | undefined;
  /** The preview that is being sent. */
  #preview: SentPreview | undefined;
  /** The parameters that are being tried or were, until others are asked about (RN-13). */
  #trial: OpenTrial | undefined;

  constructor(request: ApprovalRequest, deps: OpenApprovalDeps) {
    this.#deps = deps;
    this.#asked = request;
    this.#shown = request;
  }

  /** The newest version, as the card shows it. */
  get request(): ApprovalRequest {
    return this.#shown;
  }

  /** The ids that the server's log lines have too. */
  get #logDetails(): LogDetails {
    return { call: this.#asked.tool_id, approval: this.#asked.approval_id };
  }

  /** True while a card is shown on this machine. */
  get isAsked(): boolean {
    return this.#card !== undefined;
  }

  /** Takes a new version of the request: sends this machine's preview to the server and updates an open card. */
  take(asked: ApprovalRequest): void {
    this.#asked = asked;
    this.#drawing = this.#draw(asked);
  }

  update(update: EventPayload<'approval.updated'>): void {
    // These belong to the old version: keep them only if the update has them.
    const { omitted: _, path_rules: __, trying: ___, ...before } = this.#asked;
    this.take({ ...before, ...update });
  }

  /** Tries the call of this revision, and shows and sends what came of it (RN-13). A repeated request is ignored. */
  async try(revision: number): Promise<void> {
    const { api, clock, executes, logger } = this.#deps;
    const asked = this.#asked;
    if (asked.revision !== revision || !executes(asked) || this.#closed.signal.aborted) return;
    const running = this.#trial;
    if (running && !running.found) return;
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#closed.signal]);
    const retrying = { clock, logger, signal };
    logger.info(`Trying: ${asked.tool_id}`, this.#logDetails);
    const request = callParams(asked, api, retrying).then((tool_params) => ({ ...asked, tool_params }));
    const trial: OpenTrial = { of: request.then(triedFacts), stop, found: undefined };
    this.#trial = trial;
    try {
      const found = await this.#deps.tryCall(await request, await this.#deps.look(await request), signal);
      if (this.#trial !== trial || signal.aborted) return;
      this.#trial = { ...trial, found };
      this.take(this.#asked);
    } catch (error) {
      if (!signal.aborted) logger.error(`Trial failed: ${asked.tool_id}`, { ...this.#logDetails, error });
      if (this.#trial === trial) this.#trial = undefined;
    }
  }

  #dropTrial(): void {
    this.#trial?.stop.abort();
    this.#trial = undefined;
    this.#deps.dropTrial(this.#asked);
  }

  /** Shows the card. Resolves with the decision that was sent and stands, or with undefined. */
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
      logger.error(`Approval card withdrawn: ${this.#asked.tool_id}`, { ...this.#logDetails, error });
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

  /** Sends a decision made on this machine. Rejects if the server refuses it; the card can then be answered again. */
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
    const failureMessage = `Sending the decision failed: ${tool_id}`;
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
        failureMessage,
        details: this.#logDetails,
        signal: this.#ended.signal,
        times: SENDING_RETRIES,
        isFinal: (error) => isOvertaken(error) || isRefusal(error),
      });
      if (sent.outcome === 'overruled')
        logger.info(`Decided elsewhere: ${tool_id} is ${sent.standing.status}`, this.#logDetails);
      else if (card) card.decided = decision.decision;
      this.#endCard(card, 'answered');
      return sent;
    } catch (error) {
      logger.error(failureMessage, { ...this.#logDetails, error });
      throw error;
    }
  }

  /** Withdraws the card and sends nothing (AP-3). */
  withdraw(): void {
    // A card whose decision is being sent shows the outcome itself.
    this.#endCard(this.#card, this.#card?.sending ? 'answered' : 'withdrawn');
  }

  /**
   * Call when the request was decided (`status`) or is no longer followed. Closes the card and stops retries, unless our
   * own decision may be the one that settled the request and only its response was lost.
   */
  close(status?: EventPayload<'approval.resolved'>['status']): void {
    if (status === undefined || this.#card?.sending?.decision !== status) this.#ended.abort();
    this.#closed.abort();
    this.#preview?.stop.abort();
    // An approved trial is about to land.
    if (status !== 'approved') this.#dropTrial();
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
      const retrying = { clock, logger, signal: this.#closed.signal };
      const request = { ...asked, tool_params: await callParams(asked, api, retrying) };
      const preview = isOurs ? previewReportOf(request, await this.#look(request)) : undefined;
      if (isOver()) return true;
      // An earlier process was asked to try the call: sending its preview again ends that.
      const hasLostTrial = request.trying === true && this.#trial === undefined;
      if (preview) void this.#sendPreview(preview, hasLostTrial ? null : request.digest);
      this.#showVersion(preview ? cardOf(request, preview) : request, preview !== undefined);
      return true;
    } catch (error) {
      if (isOver()) return true;
      logger.error(`Approval card could not be drawn: ${asked.tool_id}`, { ...this.#logDetails, error });
      // Nobody can approve without a preview: report the failure, which ends the call (AP-7).
      if (isOurs) void this.#sendPreview(failedPreview(asked.revision, error), null);
      this.withdraw();
      return false;
    }
  }

  async #look(request: ApprovalRequest): Promise<OwnView> {
    const { revision, tool_name, tool_params, path_rules } = request;
    const trial = this.#trial;
    const triedOf = await trial?.of;
    if (trial && this.#trial === trial && !isDeepStrictEqual(triedOf, triedFacts(request))) {
      this.#dropTrial();
      // Other rules of the person: the server still waits for the outcome. Edited parameters are not tried by themselves.
      const isWanted = !trial.found && isDeepStrictEqual(triedOf?.tool_params, tool_params);
      if (isWanted) void this.try(revision);
    } else if (trial?.found) return trial.found;
    const of = { revision, tool_name, tool_params, path_rules };
    if (!this.#view || !isDeepStrictEqual(this.#view.of, of))
      this.#view = { of, found: this.#deps.look(request) };
    return this.#view.found;
  }

  #showVersion(request: ApprovalRequest, isOwn: boolean): void {
    this.#shown = request;
    // Once the server's version was shown, an approved digest does not prove that the person saw our own card.
    if (!isOwn) this.#drawn.clear();
    else if (request.digest !== null) this.#drawn.add(request.digest);
    this.#changed.abort();
    this.#changed = new AbortController();
    if (!this.#card?.isOpen) return;
    try {
      this.#deps.dialogs?.updateApprovalDialog?.(request);
    } catch (error) {
      this.#deps.logger.error(`Approval card failed: ${request.tool_id}`, { ...this.#logDetails, error });
    }
  }

  /** Shows the newest version until the card is answered or withdrawn. */
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
      // The server has a newer version: wait for it, unless it is here already.
      if (this.#shown === shown) await aborted(AbortSignal.any([changed, gone]));
    }
  }

  /** Waits until the newest version is drawn. False if it cannot be drawn or the card is gone. */
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
        this.#deps.logger.error(`Approval card failed: ${request.tool_id}`, { ...this.#logDetails, error });
      return undefined;
    }
  }

  /** Records the approval of a card that this machine drew. Edited parameters were not drawn, so they may be asked again. */
  #noteApproval({ digest, tool_params }: RequestBody<'approve'>): void {
    if (digest === undefined || tool_params !== undefined || !this.#drawn.has(digest)) return;
    if (this.#noted.has(digest)) return;
    this.#noted.add(digest);
    this.#deps.onApproving(this.#asked, digest);
  }

  /** Sends one preview at a time; a newer revision stops the older one. */
  async #sendPreview(report: PreviewReport, digest: string | null): Promise<void> {
    // The server already has this preview, from this process or an earlier one.
    if ('digest' in report && report.digest === digest) return;
    const { revision } = report;
    const sent = 'digest' in report ? report.digest : undefined;
    const { revision: newest = 0, digest: last } = this.#preview ?? {};
    if (newest > revision || (newest === revision && (last === sent || sent === undefined))) return;
    this.#preview?.stop.abort();
    const preview = { revision, digest: sent, stop: new AbortController() };
    this.#preview = preview;
    await this.#postPreview(report, preview.stop.signal);
    if (this.#preview === preview) this.#preview = undefined;
  }

  /** If the server refuses the preview, reports a failed preview, which ends the call with the reason (AP-7). */
  async #postPreview(report: PreviewReport, signal: AbortSignal): Promise<void> {
    const { api, clock, logger } = this.#deps;
    const { approval_id } = this.#asked;
    const failureMessage = `Sending the preview failed: ${approval_id}`;
    const details = this.#logDetails;
    const send = async () => api.sendToolPreview?.(approval_id, report);
    try {
      await retry(send, { clock, logger, failureMessage, details, signal });
      logger.info(`Preview sent: ${approval_id}`, details);
    } catch (error) {
      if (signal.aborted) return;
      logger.error(failureMessage, { ...details, error });
      if (isRefusal(error) && error.code === 'TRIAL_NOT_ASKED') {
        // The server has given the trial up, because it had lost us.
        this.#dropTrial();
        return this.take(this.#asked);
      }
      if (!isRefusal(error) || obsoletePreviewCodes.has(error.code) || 'refused' in report) return;
      const problem = `the server did not take the preview: ${error.message}`;
      const failed = new CountersignError('PREVIEW_FAILED', { problem }, { cause: error });
      await this.#postPreview(failedPreview(report.revision, failed), signal);
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

/** The parameters of a call; fetched if its event omitted them for their size (EV-2). */
export async function callParams(
  { tool_id, tool_params, omitted }: Pick<ApprovalRequest, 'tool_id' | 'tool_params' | 'omitted'>,
  api: RunnerApi,
  retrying: Pick<RetryOptions, 'clock' | 'logger' | 'signal'>,
): Promise<Record<string, JsonValue>> {
  if (!omitted?.includes('tool_params')) return tool_params;
  const fetchParams = api.fetchToolParams?.bind(api);
  if (!fetchParams)
    throw new CountersignError('UNAVAILABLE', { problem: 'the parameters cannot be fetched' });
  const failureMessage = `Fetching the parameters failed: ${tool_id}`;
  return retry(() => fetchParams(tool_id), { ...retrying, failureMessage, details: { call: tool_id } });
}
