import type { PermissionOption, ToolCallUpdate } from '@agentclientprotocol/sdk';
import {
  type ApprovalEntry,
  approvalOfTrial,
  approvalsServer,
  askDeliberately,
  callTitle,
  choiceOf,
  type DecisionAnswer,
  KnownApprovals,
  mayBeTried,
  networkText,
  reasonText,
  scopeChoices,
  stepBeforeApproval,
  trialOf,
} from '@countersign/approvals';
import { type Client, systemClock } from '@countersign/client';
import { type Approval, type CountersignEvent, messageOf, runnerCapabilities } from '@countersign/protocol';

import { visible } from '../screen/paragraph.ts';
import type { Words } from '../words.ts';
import { kindOf, locationsOf, previewContent, wholeText } from './tool-call-view.ts';

type Card = ApprovalEntry['approval'];

export interface EditorApprovalsDeps {
  readonly client: Pick<
    Client,
    'getApproval' | 'approve' | 'reject' | 'stopRun' | 'connection' | 'listRunners' | 'tryCall'
  >;
  readonly root: string;
  readonly words: Words;
  /** Shows the request in the editor. Resolves with the chosen option, or undefined. */
  readonly ask: (
    toolCall: ToolCallUpdate,
    options: PermissionOption[],
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  readonly show: (update: ToolCallUpdate) => void;
  readonly say: (text: string) => void;
  /** Reads a file as the person sees it: an unsaved text of the editor wins over the disk (RN-9). */
  readonly textOf: (path: string) => Promise<string | undefined>;
  /** Asks for a message to the agent; undefined if the editor cannot take one. Resolves with undefined if the person leaves. */
  readonly askMessage: ((toolCallId: string, signal: AbortSignal) => Promise<string | undefined>) | undefined;
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

  /** Ids of approvals whose trial is being shown. */
  readonly #tried = new Set<string>();

  #preparing: Promise<unknown> = Promise.resolve();

  constructor(deps: EditorApprovalsDeps) {
    this.#deps = deps;
    this.#known = new KnownApprovals({
      clock: systemClock,
      server: approvalsServer(deps.client as Client),
      onProblem: (error) => this.#sayNotSent(messageOf(error)),
    });
    this.#known.entries.subscribe(() => this.#askPending());
  }

  receive(event: CountersignEvent): void {
    if (event.event === 'stream.reset')
      this.dispose(); // the stream sends the pending approvals again
    else this.#known.receive(event);
    if (event.event !== 'tool.result') return;
    for (const { card } of this.#questions.values())
      if (card.tool_id === event.data.tool_id) this.#known.withdraw(card.approval_id);
  }

  /** Asks about approvals that were pending before we listened. */
  resume(approvals: readonly Approval[]): void {
    this.#known.replace(approvals.filter(({ approval_id }) => !this.#known.find(approval_id)));
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
  #askPending(): void {
    for (const [id, { card }] of [...this.#questions])
      if (this.#known.find(id)?.approval !== card) this.#endQuestion(id);
    for (const { approval: card } of this.#known.pending()) {
      if (card.trying) this.#showTrial(card.approval_id);
      // The preview, or the outcome of the trial, comes as an update.
      if (card.preview === null || card.trying || this.#questions.has(card.approval_id)) continue;
      const asking = new AbortController();
      this.#questions.set(card.approval_id, { card, asking });
      this.#askAbout(card, asking.signal).catch((error: Error) => this.#sayNotSent(error.message));
    }
  }

  /** Shows that the call is being tried, once a second while it is. */
  #showTrial(approvalId: string): void {
    if (this.#tried.has(approvalId)) return;
    this.#tried.add(approvalId);
    const { show, words } = this.#deps;
    const tick = (): void => {
      const entry = this.#known.find(approvalId);
      if (!entry || entry.tryingSince === null) {
        this.#tried.delete(approvalId);
        return;
      }
      const seconds = Math.floor((systemClock.monotonic() - entry.tryingSince) / 1000);
      const content = [wholeText(`${words.trial.trying} ${words.card.trial.seconds(String(seconds))}`)];
      show({ toolCallId: entry.approval.tool_id, status: 'in_progress', content });
      systemClock.after(1_000, tick);
    };
    tick();
  }

  /** Whether "Try it first" is offered: the runner that made the preview can try calls (RN-13). */
  async #isTryable(card: Card): Promise<boolean> {
    if (!mayBeTried(card)) return false;
    const answer = await this.#deps.client.listRunners({}).catch(() => undefined);
    return (
      answer?.runners.some(
        ({ runner_id, connected, capabilities }) =>
          runner_id === card.runner_id && connected && capabilities.includes(runnerCapabilities.trials),
      ) ?? false
    );
  }

  /** Asks for a trial. The question was withdrawn, and is asked again with the outcome, or if the trial was refused. */
  async #tryFirst(card: Card): Promise<void> {
    await this.#known.tryFirst(card);
    const notice = this.#known.find(card.approval_id)?.notice;
    if (notice) this.#deps.say(`\n${visible(this.#deps.words.said(notice))}\n`);
  }

  #sayNotSent(why: string): void {
    const { say, words } = this.#deps;
    say(words.acp.notSent(visible(words.said(why))));
  }

  async #askAbout(card: Card, signal: AbortSignal): Promise<void> {
    const { show, stopRun, askMessage, words } = this.#deps;
    // One after the other, so that questions come in the order of their requests.
    const preparing = this.#preparing.then(() => Promise.all([this.#view(card), this.#isTryable(card)]));
    this.#preparing = preparing.catch(() => {});
    const [view, isTryable] = await preparing;
    if (signal.aborted) return;
    show(view);
    const options = optionsFor(card, words, { takesMessage: askMessage !== undefined, isTryable });
    const chosen = await this.#answerOf(view, options, signal);
    if (chosen === undefined) return;
    if (chosen === 'try') return this.#tryFirst(card);
    if (chosen === 'reject') return this.#reportFailure(this.#known.reject(card));
    if (chosen === 'reject_with_message') {
      const message = await askMessage?.(card.tool_id, signal);
      if (signal.aborted) return;
      // Leaving the field decides nothing, so the question is asked again.
      if (message === undefined) return this.#askAbout(card, signal);
      return this.#reportFailure(this.#known.reject(card, message === '' ? {} : { message }));
    }
    if (chosen === 'stop') {
      await this.#reportFailure(this.#known.reject(card));
      return stopRun(card.context.run_id);
    }
    const needsSecondStep = stepBeforeApproval({ approval: card, isPreviewComing: false }) !== null;
    if (needsSecondStep && !(await this.#confirms(card, view, signal))) return;
    const wider = scopeChoices(card.offered_scopes)[scopeIndex(chosen)];
    await this.#reportFailure(this.#known.approve(card, wider && choiceOf(wider)));
  }

  /** Asks a second question, the deliberate second step of RK-1. Returns whether the person approved again. */
  async #confirms(card: Card, first: ToolCallUpdate, signal: AbortSignal): Promise<boolean> {
    const { words } = this.#deps;
    const view = { ...first, title: words.acp.highTitle(titleOf(card, words)) };
    const options: PermissionOption[] = [
      { optionId: 'reject', name: words.acp.reject, kind: 'reject_once' },
      { optionId: 'once', name: words.acp.confirm, kind: 'allow_once' },
    ];
    const chosen = await this.#answerOf(view, options, signal);
    if (chosen === 'reject') await this.#reportFailure(this.#known.reject(card));
    return chosen === 'once';
  }

  /** Asks, and asks again if the person approved too fast to have read the question (UI-6). */
  async #answerOf(
    view: ToolCallUpdate,
    options: PermissionOption[],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { ask, say, minimumMs, words } = this.#deps;
    const chosen = await askDeliberately(
      async () => {
        const id = await ask(view, options, signal);
        return signal.aborted ? undefined : options.find(({ optionId }) => optionId === id);
      },
      {
        clock: systemClock,
        decides: ({ kind }) => kind.startsWith('allow'),
        onTooSoon: () => say(words.acp.tooQuick),
        ms: minimumMs,
      },
    );
    return chosen?.optionId;
  }

  async #reportFailure(sending: Promise<DecisionAnswer | undefined>): Promise<void> {
    const answer = await sending;
    if (answer?.kind === 'failed') this.#sayNotSent(answer.notice.message);
  }

  async #view(card: Card): Promise<ToolCallUpdate> {
    const { root, words, textOf } = this.#deps;
    const { tool_id, tool_name, tool_params, preview } = card;
    const reasons = card.reasons.map((reason) => reasonText(reason, words.said(reason))).join('\n');
    const title = titleOf(card, words);
    return {
      toolCallId: tool_id,
      title: `${words.risk[card.risk_level]}: ${title}`,
      name: tool_name,
      kind: kindOf(tool_name),
      status: 'pending',
      content: [
        ...(preview === null ? [] : await previewContent(preview, card, root, words, textOf)),
        ...(reasons === '' ? [] : [wholeText(reasons)]),
        ...(card.network ? [wholeText(networkText(preview, words.card))] : []),
      ],
      locations: locationsOf(root, tool_params, preview),
      rawInput: { tool: tool_name, call: title },
    };
  }
}

const titleOf = ({ tool_name, tool_params }: Card, { calls }: Words): string =>
  callTitle({ toolName: tool_name, params: tool_params, status: 'awaiting_approval' }, calls);

/**
 * Maps our scopes to ACP's four kinds of options (docs/decisions/0010): every offered scope is an option of its own, from
 * narrow to wide. A HIGH call can only be approved once.
 */
function optionsFor(
  card: Card,
  words: Words,
  { takesMessage, isTryable }: { takesMessage: boolean; isTryable: boolean },
): PermissionOption[] {
  const wider = scopeChoices(card.offered_scopes).map((choice, index): PermissionOption => {
    const { offer, onlyHere } = choice;
    const label = words.scope(choice);
    const name = offer.warning === null || onlyHere ? label : `${label}. ${words.said(offer.warning)}`;
    return { optionId: `${scopePrefix}${index}`, name: visible(name), kind: 'allow_always' };
  });
  const { acp } = words;
  const trial = trialOf(card);
  const name = trial && approvalOfTrial(trial) === 'land' ? words.trial.approveChanges : acp.once;
  const once: PermissionOption = { optionId: 'once', name, kind: 'allow_once' };
  // ACP has four kinds of options. An editor shows a call as running after "allow", which a tried call is.
  const tryFirst: PermissionOption[] = isTryable
    ? [{ optionId: 'try', name: words.trial.tryFirst, kind: 'allow_once' }]
    : [];
  const withMessage: PermissionOption = {
    optionId: 'reject_with_message',
    name: acp.rejectWithMessage,
    kind: 'reject_once',
  };
  const no: PermissionOption[] = [
    { optionId: 'reject', name: acp.reject, kind: 'reject_once' },
    ...(takesMessage ? [withMessage] : []),
    { optionId: 'stop', name: acp.stop, kind: 'reject_always' },
  ];
  if (card.unfit) return no; // the preview does not match the digest, so it cannot be approved (AP-8)
  // Editors preselect the first option: for a HIGH call that is the safe one (UI-6).
  return card.risk_level === 'HIGH' ? [...no, ...tryFirst, once] : [once, ...tryFirst, ...wider, ...no];
}

const scopePrefix = 'scope-';
/** -1 for an option that is not a scope. */
const scopeIndex = (optionId: string): number =>
  optionId.startsWith(scopePrefix) ? Number(optionId.slice(scopePrefix.length)) : -1;
