import type { PermissionOption, ToolCallUpdate } from '@agentclientprotocol/sdk';
import {
  type ApprovalEntry,
  approvalsServer,
  askDeliberately,
  choiceOf,
  type DecisionAnswer,
  KnownApprovals,
  reasonText,
  stepBeforeApproval,
} from '@countersign/approvals';
import { type Client, systemClock } from '@countersign/client';
import type { Approval, CountersignEvent } from '@countersign/protocol';
import { callWords } from '../call-line.ts';
import { visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import type { AcpWords } from './acp-words.ts';
import { kindOf, locationsOf, previewContent, textContent, wholeText } from './tool-call-view.ts';

type Card = ApprovalEntry['approval'];

export interface EditorApprovalsDeps {
  readonly client: Pick<Client, 'getApproval' | 'approve' | 'reject' | 'stopRun' | 'connection'>;
  readonly root: string;
  readonly words: Words;
  readonly acpWords: AcpWords;
  /** Shows the request in the editor. Resolves with the chosen option, or undefined. */
  readonly ask: (
    toolCall: ToolCallUpdate,
    options: PermissionOption[],
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  readonly show: (update: ToolCallUpdate) => void;
  readonly say: (text: string) => void;
  /** The person has chosen that nothing may be changed. */
  readonly isReadOnly: () => boolean;
  /** Stops the run of a call; null if it has none. */
  readonly stopRun: (runId: string | null) => Promise<void>;
  /** How long a question must be shown before an approval counts (UI-6). */
  readonly minimumMs?: number;
}

/**
 * The approvals of one conversation, asked in the editor. The editor is one front end of several: the first decision
 * wins, and a question that was decided elsewhere, or changed, is withdrawn (AP-2). Without an answer, nothing is
 * decided (AP-3).
 */
export class EditorApprovals {
  readonly #deps: EditorApprovalsDeps;
  readonly #known: KnownApprovals;
  /** By approval id: the card that the question shows, and how to end the question. */
  readonly #questions = new Map<string, { readonly card: Card; readonly asking: AbortController }>();

  constructor(deps: EditorApprovalsDeps) {
    this.#deps = deps;
    this.#known = new KnownApprovals({
      clock: systemClock,
      server: approvalsServer(deps.client as Client),
      onProblem: (error) => this.#sayNotSent(error instanceof Error ? error.message : String(error)),
    });
    this.#known.entries.subscribe(() => this.#askWhatWaits());
  }

  receive(event: CountersignEvent): void {
    if (event.event === 'stream.reset')
      this.dispose(); // the stream tells what still waits
    else this.#known.receive(event);
    if (event.event !== 'tool.result') return;
    for (const { card } of this.#questions.values())
      if (card.tool_id === event.data.tool_id) this.#known.withdraw(card.approval_id);
  }

  /** Asks about approvals that were pending before we listened. */
  resume(approvals: readonly Approval[]): void {
    this.#known.replace(approvals.filter(({ approval_id }) => !this.#known.find(approval_id)));
  }

  /** Applies a changed mode to the open questions too. */
  reconsider(): void {
    for (const id of [...this.#questions.keys()]) this.#endQuestion(id);
    this.#askWhatWaits();
  }

  /** Withdraws every question and sends nothing (AP-3). */
  dispose(): void {
    this.#known.withdrawAll();
  }

  #endQuestion(approvalId: string): void {
    this.#questions.get(approvalId)?.asking.abort();
    this.#questions.delete(approvalId);
  }

  /** Ends questions whose card is gone or has changed, and asks those that were not asked yet. */
  #askWhatWaits(): void {
    for (const [id, { card }] of [...this.#questions])
      if (this.#known.find(id)?.approval !== card) this.#endQuestion(id);
    for (const { approval: card } of this.#known.pending()) {
      if (card.preview === null || this.#questions.has(card.approval_id)) continue; // an update follows
      const asking = new AbortController();
      this.#questions.set(card.approval_id, { card, asking });
      this.#settle(card, asking.signal).catch((error: Error) => this.#sayNotSent(error.message));
    }
  }

  #sayNotSent(why: string): void {
    const { say, words, acpWords } = this.#deps;
    say(acpWords.notSent(visible(words.said(why))));
  }

  async #settle(card: Card, signal: AbortSignal): Promise<void> {
    const { acpWords, isReadOnly, show, stopRun } = this.#deps;
    show(this.#view(card));
    if (isReadOnly()) {
      const { readOnlyReason: reason, readOnlyMessage: message } = acpWords;
      return this.#sent(this.#known.reject(card, { reason, message }));
    }
    const chosen = await this.#answerOf(this.#view(card), optionsFor(card, acpWords), signal);
    if (chosen === undefined) return;
    if (chosen === 'reject') return this.#sent(this.#known.reject(card));
    if (chosen === 'stop') {
      await this.#sent(this.#known.reject(card));
      return stopRun(card.context.run_id);
    }
    if (
      stepBeforeApproval({ approval: card, isPreviewComing: false }) !== null &&
      !(await this.#isMeant(card, signal))
    )
      return;
    const wider = chosen === 'once' ? undefined : narrowest(card, chosen);
    await this.#sent(this.#known.approve(card, wider && choiceOf(wider)));
  }

  /** The deliberate second step (RK-1): a second question. */
  async #isMeant(card: Card, signal: AbortSignal): Promise<boolean> {
    const { acpWords, words } = this.#deps;
    const view = { ...this.#view(card), title: acpWords.highTitle(visible(words.title(card))) };
    const options: PermissionOption[] = [
      { optionId: 'reject', name: acpWords.reject, kind: 'reject_once' },
      { optionId: 'once', name: acpWords.confirm, kind: 'allow_once' },
    ];
    const chosen = await this.#answerOf(view, options, signal);
    if (chosen === 'reject') await this.#sent(this.#known.reject(card));
    return chosen === 'once';
  }

  /** Repeats a question that was approved before anybody could read it (UI-6). */
  async #answerOf(
    view: ToolCallUpdate,
    options: PermissionOption[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { ask, say, acpWords, minimumMs } = this.#deps;
    const chosen = await askDeliberately(
      async () => {
        const id = await ask(view, options, signal);
        return signal.aborted ? undefined : options.find(({ optionId }) => optionId === id);
      },
      {
        clock: systemClock,
        decides: ({ kind }) => kind.startsWith('allow'),
        onTooSoon: () => say(acpWords.tooQuick),
        ms: minimumMs,
      },
    );
    return chosen?.optionId;
  }

  /** Says that a decision failed. If the card has changed, the new one is asked about. */
  async #sent(answer: Promise<DecisionAnswer | undefined>): Promise<void> {
    const sent = await answer;
    if (sent?.kind === 'failed') this.#sayNotSent(sent.notice.message);
  }

  #view(card: Card): ToolCallUpdate {
    const { root, words } = this.#deps;
    const reasons = card.reasons.map((reason) => reasonText(reason, words.said(reason.why))).join('\n');
    return {
      toolCallId: card.tool_id,
      title: `${words.risk[card.risk_level]}: ${visible(words.title(card))}`,
      name: card.tool_name,
      kind: kindOf(card.tool_name),
      status: 'pending',
      content: [
        ...(card.preview === null ? [] : previewContent(card.preview, card, root, words)),
        ...(reasons === '' ? [] : [wholeText(reasons)]),
        ...(card.network ? [textContent(words.card.network)] : []),
      ],
      locations: locationsOf(root, card.tool_params),
      rawInput: { tool: card.tool_name, call: callWords(card.tool_name, card.tool_params) },
    };
  }
}

/**
 * Our scopes as the four kinds of the protocol (docs/decisions/0010). Each option says what it grants; of each scope
 * the narrowest is offered; a HIGH call is only approved by itself.
 */
function optionsFor(card: Card, words: AcpWords): PermissionOption[] {
  const wider = (['class', 'session', 'always'] as const).flatMap((scope): PermissionOption[] => {
    const offered = narrowest(card, scope);
    if (!offered) return [];
    const name = offered.warning === null ? offered.label : `${offered.label}. ${offered.warning}`;
    return [{ optionId: scope, name: visible(name), kind: 'allow_always' }];
  });
  const once: PermissionOption = { optionId: 'once', name: words.once, kind: 'allow_once' };
  const no: PermissionOption[] = [
    { optionId: 'reject', name: words.reject, kind: 'reject_once' },
    { optionId: 'stop', name: words.stop, kind: 'reject_always' },
  ];
  if (card.unfit) return no; // what is not shown cannot be approved (AP-8)
  // Editors preselect the first option: for a HIGH call that is the safe one (UI-6).
  return card.risk_level === 'HIGH' ? [...no, once] : [once, ...wider, ...no];
}

/** The server lists scopes from narrow to wide. */
const narrowest = ({ offered_scopes }: Card, scope: string) =>
  offered_scopes.find((offered) => offered.scope === scope);
