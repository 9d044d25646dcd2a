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
      /** Of what was displayed; that of the newest version unless said. */
      readonly digest?: string;
    };

/** Shows approval cards. The signal is aborted when a card is withdrawn: decided elsewhere, expired, or disposed of. */
export interface ApprovalDialogProvider {
  showApprovalDialog(request: ApprovalRequest, signal: AbortSignal): Promise<DialogAnswer>;
  /** A card that is open has a new version, usually its preview. Without this it is withdrawn and shown anew. */
  updateApprovalDialog?(request: ApprovalRequest): void;
}

export interface PendingApproval {
  /** The newest version. */
  request: ApprovalRequest;
  /** Withdraws the card and sends nothing (AP-3). */
  readonly withdraw: () => void;
}

interface Card extends PendingApproval {
  readonly withdrawn: AbortController;
  /** Aborted when the request has changed: whoever waits for that looks again. */
  changed: AbortController;
}

export interface ApprovalDeskDeps {
  readonly api: Pick<RunnerApi, 'approveToolExecution' | 'rejectToolExecution'>;
  /** Undefined: nobody is asked here. */
  readonly dialogs: ApprovalDialogProvider | undefined;
  readonly clock: RunnerClock;
  readonly logger: Logger;
  /** For requests that do not say how long there is. */
  readonly defaultTimeoutMs: number;
  /** Before an approval is sent: what was displayed is remembered (RN-2). */
  readonly onApproving: (request: ApprovalRequest, params: Record<string, JsonValue>) => Promise<void>;
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
      withdrawn,
      changed: new AbortController(),
      withdraw: () => withdrawn.abort(),
    };
    this.#cards.set(request.tool_id, card);
    this.pending.set(request.tool_id, card);
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
    if (card?.request.approval_id === update.approval_id) this.#refresh(card, { ...card.request, ...update });
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

  #refresh(card: Card, request: ApprovalRequest): void {
    card.request = request;
    card.changed.abort();
    card.changed = new AbortController();
    this.#deps.dialogs?.updateApprovalDialog?.(request);
  }

  async #decide(card: Card, dialogs: ApprovalDialogProvider): Promise<'approved' | 'rejected' | undefined> {
    for (;;) {
      const { changed, request: shown } = card;
      const answer = await this.#show(card, dialogs);
      if (answer === 'withdrawn') return undefined;
      if (answer === 'changed') continue;
      const sent = await this.#send(card, answer);
      if (sent !== 'look again') return sent;
      // A card that was overtaken already is shown at once; otherwise the newer version is on its way.
      if (card.request === shown) await aborted(AbortSignal.any([changed.signal, card.withdrawn.signal]));
    }
  }

  async #show(card: Card, dialogs: ApprovalDialogProvider): Promise<DialogAnswer | 'withdrawn' | 'changed'> {
    const withdrawn = card.withdrawn.signal;
    if (withdrawn.aborted) return 'withdrawn';
    const signals = dialogs.updateApprovalDialog ? [withdrawn] : [withdrawn, card.changed.signal];
    const gone = AbortSignal.any(signals);
    const shown = this.#open(card.request, gone, dialogs);
    const answer = await Promise.race([shown, aborted(gone).then(() => 'gone' as const)]);
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

  async #send(card: Card, answer: DialogAnswer): Promise<'approved' | 'rejected' | 'look again' | undefined> {
    const { api, clock, logger } = this.#deps;
    const { request } = card;
    const said = typeof answer === 'boolean' ? { decision: answer ? 'approve' : 'reject' } : answer;
    const decision = said.decision === 'approve' ? 'approved' : 'rejected';
    for (let failures = 0; ; ) {
      try {
        const sent = await (decision === 'approved'
          ? this.#approve(request, said as Exclude<DialogAnswer, boolean>)
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

  async #approve(request: ApprovalRequest, said: Exclude<DialogAnswer, boolean>): Promise<DecisionAnswer> {
    const digest = said.digest ?? request.digest ?? undefined;
    await this.#deps.onApproving(request, said.tool_params ?? request.tool_params);
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
