import { CountersignError, type EventPayload, errorCodes, type JsonValue } from '@countersign/protocol';
import { backoffMs, pause, type RunnerClock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { ApprovalRequest, ApprovedDecision, DecisionAnswer, RunnerApi } from './runner-api.ts';
import { ToolApprovalTimeout } from './runner-errors.ts';

/** What a person answered. A bare boolean approves or rejects this one call. */
export type DialogAnswer =
  | boolean
  | {
      readonly decision: 'approve' | 'reject';
      readonly scope?: 'once' | 'class' | 'session' | 'always';
      readonly pattern?: string;
      readonly tool_params?: Record<string, JsonValue>;
      readonly include_high?: boolean;
      readonly reason?: string;
      readonly message?: string;
      /** Of what was displayed; that of the request the dialog was opened with unless said. */
      readonly digest?: string;
    };

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
    const said = typeof answer === 'boolean' ? { decision: answer ? 'approve' : 'reject' } : answer;
    const decision = said.decision === 'approve' ? 'approved' : 'rejected';
    for (let failures = 0; ; ) {
      try {
        const sent = await (decision === 'approved'
          ? this.#approve(card, request, said as Exclude<DialogAnswer, boolean>)
          : reject(api, request, said as Exclude<DialogAnswer, boolean>));
        if (sent.outcome === 'stands') return decision;
        logger.info(`Decided elsewhere: ${request.tool_id} is ${sent.status}`);
        return undefined;
      } catch (error) {
        failures += 1;
        logger.error(`Sending the decision failed: ${request.tool_id}, try ${failures}`, { error });
        if (error instanceof CountersignError && lookAgainCodes.has(error.code)) return 'look again';
        const isPointless = error instanceof CountersignError && errorCodes[error.code].remedy !== 'repeat';
        if (isPointless || failures > SENDING_RETRIES) return undefined;
        await pause(clock, backoffMs(failures), card.withdrawn.signal);
        if (card.withdrawn.signal.aborted) return undefined;
      }
    }
  }

  async #approve(
    card: Card,
    request: ApprovalRequest,
    said: Exclude<DialogAnswer, boolean>,
  ): Promise<DecisionAnswer> {
    const digest = said.digest ?? request.digest ?? undefined;
    const drawn = digest === undefined ? undefined : card.drawn.get(digest);
    // Parameters that were edited have not been drawn yet: where that matters, they are asked about once more.
    if (drawn && said.tool_params === undefined) this.#deps.onApproving(drawn);
    const decision: ApprovedDecision = {
      approvalId: request.approval_id,
      ...(digest !== undefined && { digest }),
      ...(said.scope !== undefined && { scope: said.scope }),
      ...(said.pattern !== undefined && { pattern: said.pattern }),
      ...(said.tool_params !== undefined && { toolParams: said.tool_params }),
      ...(said.include_high !== undefined && { includeHigh: said.include_high }),
    };
    return this.#deps.api.approveToolExecution(request.tool_id, decision);
  }
}

const reject = (
  api: Pick<RunnerApi, 'rejectToolExecution'>,
  { tool_id }: ApprovalRequest,
  { reason = 'User declined', message }: Exclude<DialogAnswer, boolean>,
): Promise<DecisionAnswer> => api.rejectToolExecution(tool_id, reason, message);

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
