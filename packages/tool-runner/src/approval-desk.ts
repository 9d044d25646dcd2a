import { CountersignError, type EventPayload, type RequestBody } from '@countersign/protocol';
import type { RunnerClock } from './clock.ts';
import type { Logger } from './logger.ts';
import { isRefusal, retry } from './retry.ts';
import type { ApprovalRequest, DecisionAnswer, RunnerApi } from './runner-api.ts';
import { ToolApprovalTimeout } from './runner-errors.ts';

/**
 * What a person answered: a bare boolean for this one call, or the body of the decision. Without a digest, that of the
 * request which the dialog was opened with is meant.
 */
export type DialogAnswer =
  | boolean
  | ({ readonly decision: 'approved' } & RequestBody<'approve'>)
  | ({ readonly decision: 'rejected' } & RequestBody<'reject'>);

/** Shows approval cards. The signal is aborted when a card is withdrawn: decided elsewhere, expired, or disposed of. */
export interface ApprovalDialogProvider {
  showApprovalDialog(request: ApprovalRequest, signal: AbortSignal): Promise<DialogAnswer>;
  /**
   * A card that is open has a new version. Its answer names the digest that was displayed, since it may have been
   * given before this came. Without this method the card is withdrawn and shown anew.
   */
  updateApprovalDialog?(request: ApprovalRequest): void;
}

export interface PendingApproval {
  /** The newest version, as it is shown here. */
  request: ApprovalRequest;
  /** Withdraws the card and sends nothing (AP-3). */
  readonly withdraw: () => void;
}

interface Card extends PendingApproval {
  /** The newest version as the server has it. */
  asked: ApprovalRequest;
  /** Ends when that version is drawn. */
  drawing: Promise<void>;
  /** What this machine drew for this card, by digest. */
  readonly drawn: Map<string, OwnRequest>;
  isOpen: boolean;
  readonly withdrawn: AbortController;
  /** Aborted when the request has changed: whoever waits for that looks again. */
  changed: AbortController;
}

/** A request drawn by this machine: its digest is its own. */
export type OwnRequest = ApprovalRequest & { readonly digest: string };

export interface ApprovalDeskDeps {
  readonly api: Pick<RunnerApi, 'approveToolExecution' | 'rejectToolExecution'>;
  /** Undefined: nobody is asked here. */
  readonly dialogs: ApprovalDialogProvider | undefined;
  readonly clock: RunnerClock;
  readonly logger: Logger;
  /** For requests that do not say how long there is. */
  readonly defaultTimeoutMs: number;
  /** The request as this machine sees the call; undefined where it would not execute it, and the server's is shown. */
  readonly draw: (request: ApprovalRequest) => Promise<ApprovalRequest | undefined>;
  /** Before an approval is sent that names exactly what this machine drew: that is remembered (RN-2). */
  readonly onApproving: (request: OwnRequest) => void;
}

const SENDING_RETRIES = 3;
/** The decision was not taken because there is something newer to look at. */
const lookAgainCodes: ReadonlySet<string> = new Set(['PREVIEW_PENDING', 'PREVIEW_CHANGED', 'RISK_ROSE']);

/** Asks the person at this machine, and sends what they decide. Closing, a crash or a timer never decides (AP-3). */
export class ApprovalDesk {
  /** By tool id. */
  readonly pending = new Map<string, PendingApproval>();
  readonly #cards = new Map<string, Card>();
  readonly #deps: ApprovalDeskDeps;

  constructor(deps: ApprovalDeskDeps) {
    this.#deps = deps;
  }

  /** Resolves with what was sent and stands, or undefined when the card was withdrawn or nothing could be sent. */
  async ask(request: ApprovalRequest): Promise<'approved' | 'rejected' | undefined> {
    const { dialogs, clock, logger } = this.#deps;
    if (!dialogs) return undefined;
    const known = this.#cards.get(request.tool_id);
    if (known?.request.approval_id === request.approval_id) {
      this.#refresh(known, request);
      return undefined;
    }
    known?.withdraw();
    const withdrawn = new AbortController();
    const card: Card = {
      request,
      asked: request,
      drawing: Promise.resolve(),
      drawn: new Map(),
      isOpen: false,
      withdrawn,
      changed: new AbortController(),
      withdraw: () => withdrawn.abort(),
    };
    this.#cards.set(request.tool_id, card);
    this.pending.set(request.tool_id, card);
    this.#refresh(card, request);
    const cancelTimer = clock.after(this.#timeLeft(request), () => {
      logger.error(`Approval card withdrawn: ${request.tool_id}`, { error: new ToolApprovalTimeout() });
      card.withdraw();
    });
    try {
      return await this.#decide(card, dialogs);
    } finally {
      cancelTimer();
      withdrawn.abort();
      if (this.#cards.get(request.tool_id) === card) {
        this.#cards.delete(request.tool_id);
        this.pending.delete(request.tool_id);
      }
    }
  }

  updated(update: EventPayload<'approval.updated'>): void {
    const card = this.#cards.get(update.tool_id);
    if (card?.request.approval_id !== update.approval_id) return;
    const { path_rules: _, ...before } = card.asked; // an update without rules has none
    this.#refresh(card, { ...before, ...update });
  }

  resolved({ tool_id, approval_id }: { tool_id: string; approval_id: string }): void {
    const card = this.#cards.get(tool_id);
    if (card?.request.approval_id === approval_id) card.withdraw();
  }

  close(): void {
    for (const card of this.#cards.values()) card.withdraw();
    this.#cards.clear();
    this.pending.clear();
  }

  #timeLeft({ remaining_ms, timeout_seconds }: Partial<ApprovalRequest>): number {
    if (remaining_ms !== undefined) return remaining_ms;
    return timeout_seconds === undefined ? this.#deps.defaultTimeoutMs : timeout_seconds * 1000;
  }

  #refresh(card: Card, asked: ApprovalRequest): void {
    card.asked = asked;
    card.drawing = this.#draw(card, asked);
  }

  async #draw(card: Card, asked: ApprovalRequest): Promise<void> {
    const { draw, dialogs, logger } = this.#deps;
    let own: ApprovalRequest | undefined;
    try {
      own = await draw(asked);
    } catch (error) {
      logger.error(`Approval card could not be drawn: ${asked.tool_id}`, { error });
      if (card.asked === asked) card.withdraw();
    }
    if (card.asked !== asked || card.withdrawn.signal.aborted) return; // there is a newer one, or nobody asks any more
    card.request = own ?? asked;
    // Once the server's version is shown, no digest that it names says what was looked at.
    if (!own) card.drawn.clear();
    else if (own.digest !== null) card.drawn.set(own.digest, own as OwnRequest);
    card.changed.abort();
    card.changed = new AbortController();
    if (card.isOpen) dialogs?.updateApprovalDialog?.(card.request);
  }

  async #decide(card: Card, dialogs: ApprovalDialogProvider): Promise<'approved' | 'rejected' | undefined> {
    for (;;) {
      await this.#newestDrawn(card);
      const { changed, request: shown } = card;
      const answer = await this.#show(card, dialogs);
      if (answer === 'withdrawn') return undefined;
      if (answer === 'changed') continue;
      const sent = await this.#send(card, shown, answer);
      if (sent !== 'look again') return sent;
      // A card that was overtaken already is shown at once; otherwise the newer version is on its way.
      if (card.request === shown) await aborted(AbortSignal.any([changed.signal, card.withdrawn.signal]));
    }
  }

  async #newestDrawn(card: Card): Promise<void> {
    const withdrawn = aborted(card.withdrawn.signal);
    for (let last: Promise<void> | undefined; last !== card.drawing && !card.withdrawn.signal.aborted; ) {
      last = card.drawing;
      await Promise.race([last, withdrawn]);
    }
  }

  async #show(card: Card, dialogs: ApprovalDialogProvider): Promise<DialogAnswer | 'withdrawn' | 'changed'> {
    const withdrawn = card.withdrawn.signal;
    if (withdrawn.aborted) return 'withdrawn';
    const signals = dialogs.updateApprovalDialog ? [withdrawn] : [withdrawn, card.changed.signal];
    const gone = AbortSignal.any(signals);
    const shown = this.#open(card.request, gone, dialogs);
    card.isOpen = true;
    const answer = await Promise.race([shown, aborted(gone).then(() => 'gone' as const)]);
    card.isOpen = false;
    if (withdrawn.aborted || (answer === 'failed' && !gone.aborted)) return 'withdrawn';
    return answer === 'gone' || answer === 'failed' || gone.aborted ? 'changed' : answer;
  }

  /** A card that broke is a card that nobody answered. */
  async #open(
    request: ApprovalRequest,
    gone: AbortSignal,
    dialogs: ApprovalDialogProvider,
  ): Promise<DialogAnswer | 'failed'> {
    try {
      return await dialogs.showApprovalDialog(request, gone);
    } catch (error) {
      if (!gone.aborted) this.#deps.logger.error(`Approval card failed: ${request.tool_id}`, { error });
      return 'failed';
    }
  }

  /** `request` is what the dialog was opened with: what came later may not have been looked at. */
  async #send(
    card: Card,
    request: ApprovalRequest,
    answer: DialogAnswer,
  ): Promise<'approved' | 'rejected' | 'look again' | undefined> {
    const { api, clock, logger } = this.#deps;
    const { tool_id, approval_id } = request;
    const { decision, ...body } =
      typeof answer !== 'boolean'
        ? answer
        : { decision: answer ? ('approved' as const) : ('rejected' as const) };
    const failing = `Sending the decision failed: ${tool_id}`;
    const send = (): Promise<DecisionAnswer> =>
      decision === 'approved'
        ? this.#approve(card, request, body)
        : api.rejectToolExecution(approval_id, { reason: 'User declined', ...body });
    try {
      const signal = card.withdrawn.signal;
      const isFinal = (error: unknown) => isOvertaken(error) || isRefusal(error);
      const sent = await retry(send, { clock, logger, failing, signal, times: SENDING_RETRIES, isFinal });
      if (sent.outcome !== 'overruled') return decision;
      logger.info(`Decided elsewhere: ${tool_id} is ${sent.standing.status}`);
    } catch (error) {
      logger.error(failing, { error });
      if (isOvertaken(error)) return 'look again';
    }
    return undefined;
  }

  async #approve(
    card: Card,
    request: ApprovalRequest,
    body: RequestBody<'approve'>,
  ): Promise<DecisionAnswer> {
    const digest = body.digest ?? request.digest ?? undefined;
    const drawn = digest === undefined ? undefined : card.drawn.get(digest);
    // Parameters that were edited have not been drawn yet: where that matters, they are asked about once more.
    if (drawn && body.tool_params === undefined) this.#deps.onApproving(drawn);
    return this.#deps.api.approveToolExecution(request.approval_id, {
      ...body,
      ...(digest !== undefined && { digest }),
    });
  }
}

const isOvertaken = (error: unknown): boolean =>
  error instanceof CountersignError && lookAgainCodes.has(error.code);

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
