import { ApiError, type ApprovalDecision, type DecisionOutcome } from '@countersign/client';
import type { ApprovalDialogProvider, ApprovalRequest, DialogAnswer } from '@countersign/tool-runner';

interface OpenDialog {
  readonly toolId: string;
  readonly answer: (answer: DialogAnswer) => void;
}

interface Waiting {
  readonly resolve: (sent: DecisionOutcome | Promise<DecisionOutcome>) => void;
  readonly reject: (error: Error) => void;
}

/** Where the runner's cards appear. */
export interface CardPlace {
  /** As the runner drew it: not as the server says (RN-2). The same approval again is a newer version. */
  show(request: ApprovalRequest): void;
  /** Nobody decided it here, and it is not asked any more. */
  withdraw(approvalId: string): void;
}

/**
 * Lets the cards of this terminal show what the runner found and answer for it: what the person decides goes through
 * the runner, which remembers that it was decided on this machine (RN-2) before it sends it.
 */
export class RunnerDialogs implements ApprovalDialogProvider {
  readonly #open = new Map<string, OpenDialog>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #answered = new Set<string>();
  readonly #direct: (decision: ApprovalDecision) => Promise<DecisionOutcome>;
  readonly #place: CardPlace;

  /** `direct` sends what the runner does not ask about: it was not its own, or it is being asked anew. */
  constructor(direct: (decision: ApprovalDecision) => Promise<DecisionOutcome>, place: CardPlace) {
    this.#direct = direct;
    this.#place = place;
  }

  showApprovalDialog(request: ApprovalRequest, signal: AbortSignal): Promise<DialogAnswer> {
    const { approval_id, tool_id } = request;
    return new Promise((resolve) => {
      this.#answered.delete(approval_id);
      this.#open.set(approval_id, { toolId: tool_id, answer: resolve });
      signal.addEventListener('abort', () => this.#withdraw(approval_id), { once: true });
      this.#place.show(request);
    });
  }

  updateApprovalDialog(request: ApprovalRequest): void {
    this.#place.show(request);
  }

  /** A card's decision; resolves when the runner has sent it. */
  decide(decision: ApprovalDecision): Promise<DecisionOutcome> {
    const { approval_id } = decision.params;
    const dialog = this.#open.get(approval_id);
    if (!dialog) return this.#direct(decision);
    const sent = new Promise<DecisionOutcome>((resolve, reject) => {
      this.#waiting.set(approval_id, { resolve, reject });
    });
    dialog.answer({ ...decision.body, decision: decision.decision } as DialogAnswer);
    return sent;
  }

  /** The runner is sending what was decided. */
  decided(approvalId: string, sent: Promise<DecisionOutcome>): void {
    this.#waiting.get(approvalId)?.resolve(sent);
    this.#waiting.delete(approvalId);
    this.#answered.add(approvalId);
    sent.catch(() => {}); // the card shows it
  }

  #withdraw(approvalId: string): void {
    this.#open.delete(approvalId);
    // A card that was answered says itself what came of it.
    if (!this.#answered.delete(approvalId)) this.#place.withdraw(approvalId);
    const problem = 'The decision was not sent: the card was withdrawn.';
    this.#waiting.get(approvalId)?.reject(new ApiError(0, 'UNAVAILABLE', problem));
    this.#waiting.delete(approvalId);
  }
}
