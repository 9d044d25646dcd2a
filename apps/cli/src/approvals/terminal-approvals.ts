import {
  type ApprovalEntry,
  type ApprovalRequest,
  type ApprovalsServer,
  type ApproveChoice,
  approvalsServer,
  backtestOf,
  choiceOf,
  type DecisionAnswer,
  isSeenLongEnough,
  KnownApprovals,
  type ScopeChoice,
  scopeChoices,
  stepBeforeApproval,
  trialOf,
} from '@countersign/approvals';
import { type CallResponse, type Clock, systemClock } from '@countersign/client';
import { type Approval, type CountersignEvent, messageOf, type RequestBody } from '@countersign/protocol';
import type { Key } from '../screen/keys.ts';
import { LineEditor } from '../screen/line-editor.ts';
import type { Stage } from '../screen/stage.ts';
import type { ServerAccess } from '../sign-in/server-access.ts';
import type { Words } from '../words.ts';
import {
  type CardApproval,
  type CardFrame,
  decisionWords,
  drawCard,
  printedPreview,
  resolutionLine,
} from './approval-card.ts';
import { type CardMode, linesBelow, looking, rejecting } from './card-mode.ts';
import { changeParagraphs, readParams } from './edited-params.ts';

export interface TerminalApprovalsDeps {
  readonly clock: Clock;
  readonly words: Words;
  readonly color: boolean;
  /** The device name on decisions made here. */
  readonly device: string;
  readonly server: ApprovalsServer;
  /** While true, this process is the runner: cards come from its `show`, not from events (RN-2). */
  isBesideRunner?(): boolean;
  /** Which listed approvals belong here; all of them if left out. */
  isShown?(approval: Approval): boolean;
  backtest(body: RequestBody<'backtestPolicy'>): Promise<CallResponse<'backtestPolicy'>>;
  /** The current conversation: its cards come first, and others say where they come from. */
  readonly conversation?: CurrentConversation;
  /** Opens a text in the person's editor; undefined if they have none. Rejects if that failed. */
  readonly edit: ((text: string) => Promise<string>) | undefined;
  /** Called when the cards must be redrawn. */
  onChange(): void;
  /** Prints lines above the card. They stay when the card goes. */
  say(lines: readonly string[]): void;
}

/** The conversation that the cards are shown with. */
export interface CurrentConversation {
  /** Whether a request belongs to this conversation. */
  isOwn(approval: CardApproval): boolean;
  /** Whether requests of other conversations are shown too. */
  showsOthers(): boolean;
  /** The title of a request's conversation. */
  titleOf(approval: CardApproval): string;
  /** Called with the text of an approval in this conversation, which is printed later, with the call's result. */
  onApproved(toolId: string, decided: string): void;
}

/**
 * Approval cards in a terminal: one card at a time, the others in a list. It draws lines and takes keys; its owner puts
 * them on the screen. A decision names what was displayed. Disposing sends nothing (AP-3).
 */
export class TerminalApprovals {
  readonly #deps: TerminalApprovalsDeps;
  readonly #known: KnownApprovals;
  #mode: CardMode = looking;
  #focused: string | undefined;
  #scroll = 0;
  #maxScroll = 0;
  #page = 1;
  #note: string | undefined;
  /** The version of the card that is on the screen, and since when. */
  #shown: { readonly what: string; readonly approval: CardApproval; readonly since: number } | undefined;
  /** The person's edited text while it is not valid JSON. */
  #draft: string | undefined;
  #stopTick: (() => void) | undefined;
  /** Approvals that the person decided here, whether or not another device was faster. */
  readonly #sentHere = new Set<string>();
  #frame: CardFrame;

  constructor(deps: TerminalApprovalsDeps) {
    this.#deps = deps;
    this.#frame = { columns: 80, rows: 24, words: deps.words, color: deps.color };
    this.#known = new KnownApprovals({
      ...deps,
      onProblem: (error) => {
        this.#note = deps.words.said(messageOf(error));
        deps.onChange();
      },
    });
    this.#known.entries.subscribe(() => this.#changed());
  }

  /** Number of pending approvals. */
  get count(): number {
    return this.#known.pending().length;
  }

  /** Number of pending approvals of other conversations. */
  get otherCount(): number {
    return this.#known.pending().filter(({ approval }) => this.#elsewhere(approval) !== undefined).length;
  }

  receive(event: CountersignEvent): void {
    const resolved = event.event === 'approval.resolved' ? event.data : undefined;
    const before = resolved && this.#known.find(resolved.approval_id);
    this.#known.receive(event);
    if (resolved && before) {
      // Another terminal on this machine has the same device name, so check that this one decided.
      const here = {
        ...this.#deps,
        device: this.#sentHere.has(resolved.approval_id) ? this.#deps.device : '',
      };
      this.#tellOutcome(before.approval, resolved, here);
    }
  }

  /** Takes the list of pending approvals from REST. */
  replace(approvals: readonly Approval[]): void {
    for (const id of this.#known.replace(approvals)) this.#known.withdraw(id);
  }

  /** Shows a card as the runner in this process drew it. The same approval again is a newer version. */
  show(request: ApprovalRequest): void {
    this.#known.show(request);
  }

  /** Removes a card that the runner withdrew; nothing was decided. */
  withdraw(approvalId: string): void {
    this.#known.withdraw(approvalId);
  }

  dispose(): void {
    this.#stopTick?.();
    this.#stopTick = undefined;
  }

  /** Draws the card and its keys; no lines if nothing is pending. Drawing starts the half second of UI-6. */
  lines(columns: number, rows: number): string[] {
    this.#frame = { ...this.#frame, columns, rows };
    const current = this.#current();
    if (!current) {
      this.#shown = undefined;
      return [];
    }
    const what = this.#identity(current);
    if (this.#shown?.what !== what) {
      this.#shown = { what, approval: current.approval, since: this.#deps.clock.monotonic() };
    }
    this.#tick();
    const remainingMs = (pending: ApprovalEntry) => this.#known.remainingMs(pending);
    const elsewhere = ({ approval }: ApprovalEntry) => this.#elsewhere(approval);
    const now = this.#deps.clock.monotonic();
    const view = { current, all: this.#visibleEntries(), remainingMs, elsewhere, note: this.#note, now };
    const below = linesBelow(this.#mode, view, this.#frame);
    const state = {
      isPreviewComing: current.isPreviewComing,
      remainingMs: remainingMs(current),
      scroll: this.#scroll,
      below,
      elsewhere: elsewhere(current),
    };
    const card = drawCard(current.approval, state, this.#frame);
    this.#maxScroll = card.maxScroll;
    this.#page = Math.max(card.page - 1, 1);
    return card.lines;
  }

  /** Returns whether the key was for the card. Ignores a key that came too soon or together with others (UI-6). */
  press(key: Key): boolean {
    const current = this.#current();
    if (!current || key.name === 'ctrl-c' || key.name === 'ctrl-d') return false;
    if (this.#mode.name === 'busy') return true;
    const editor = 'editor' in this.#mode ? this.#mode.editor : undefined;
    // Typing text decides nothing, so it is accepted at once.
    if (editor !== undefined && key.name !== 'enter' && key.name !== 'escape') {
      editor.press({ ...key, text: key.text.replaceAll('\n', ' ') });
    } else if (current.incomplete) {
      void this.#known.refresh(current.approval.approval_id); // nothing is decided on a card that is not whole (UI-6)
    } else if (!key.together && this.#isInFocus(current)) {
      this.#note = undefined;
      this.#mode = this.#next(current, key.name);
    }
    this.#deps.onChange();
    return true;
  }

  /** The shown card keeps the focus until it is settled or the person chooses another. */
  #current(): ApprovalEntry | undefined {
    const shown = this.#visibleEntries();
    const focused = shown.find(({ approval }) => approval.approval_id === this.#focused);
    if (focused) return focused;
    const [first] = shown;
    if (this.#focused !== first?.approval.approval_id) this.#focusOn(first);
    return first;
  }

  /** The requests that can be decided now, those of the current conversation first. */
  #visibleEntries(): readonly ApprovalEntry[] {
    const { conversation } = this.#deps;
    const all = this.#known.pending(this.#focused);
    if (!conversation) return all;
    const own = all.filter(({ approval }) => conversation.isOwn(approval));
    if (!conversation.showsOthers()) return own;
    return [...own, ...all.filter(({ approval }) => !conversation.isOwn(approval))];
  }

  #elsewhere(approval: CardApproval): string | undefined {
    const { conversation } = this.#deps;
    return !conversation || conversation.isOwn(approval) ? undefined : conversation.titleOf(approval);
  }

  /** A request's title for a printed line, with its conversation if that is another one. */
  #titleOf(approval: CardApproval): string {
    const place = this.#elsewhere(approval);
    const title = this.#deps.words.title(approval);
    return place === undefined ? title : `${place}: ${title}`;
  }

  #focusOn(pending: ApprovalEntry | undefined): CardMode {
    this.#focused = pending?.approval.approval_id;
    this.#mode = looking;
    this.#scroll = 0;
    this.#note = undefined;
    this.#draft = undefined;
    return looking;
  }

  /** Identifies what is on the screen: another revision, digest or question starts the half second again. */
  #identity({ approval: { approval_id, revision, digest, preview } }: ApprovalEntry): string {
    const mode = this.#mode.name === 'scope' ? [this.#mode.choice, this.#mode.high] : [this.#mode.name];
    return JSON.stringify([approval_id, revision, digest, preview === null, ...mode]);
  }

  #isInFocus(current: ApprovalEntry): boolean {
    const since = this.#shown?.what === this.#identity(current) ? this.#shown.since : undefined;
    return isSeenLongEnough(since, this.#deps.clock);
  }

  /** If the shown card has changed, drops the answer that the person had begun. */
  #changed(): void {
    const shown = this.#shown;
    const before = this.#focused;
    const current = this.#current();
    if (shown && current && current.approval.approval_id === before) {
      const { revision, digest, risk_level } = current.approval;
      const isNewer = revision !== shown.approval.revision;
      const isOther = isNewer || digest !== shown.approval.digest || risk_level !== shown.approval.risk_level;
      if (isNewer) {
        this.#focusOn(current);
        // The outcome of a trial speaks for itself.
        if (!trialOf(current.approval)) this.#note = this.#deps.words.outcome.revised;
      } else if (isOther) {
        this.#scroll = 0;
        if (isAboutToApprove(this.#mode)) this.#mode = looking;
      }
    }
    this.#deps.onChange();
  }

  #tick(): void {
    this.#stopTick ??= this.#deps.clock.after(1_000, () => {
      this.#stopTick = undefined;
      if (this.count > 0) this.#deps.onChange();
    });
  }

  /** The mode after a key. In a question, an unknown key goes back to looking. */
  #next(current: ApprovalEntry, key: string): CardMode {
    const mode = this.#mode;
    switch (mode.name) {
      case 'look':
      case 'help':
        return this.#look(current, key);
      case 'confirm':
        return key === 'y' ? this.#approve(current, {}) : looking;
      case 'reject':
        return key === 'enter' ? this.#reject(current, mode.editor.text.trim()) : looking;
      case 'scopes': {
        const choice = scopeChoices(current.approval.offered_scopes)[key === '0' ? 9 : Number(key) - 1];
        return choice ? this.#showScope(choice, false) : looking;
      }
      case 'scope':
        if (key === 'h') return this.#showScope(mode.choice, !mode.high);
        return key === 'y' ? this.#approve(current, choiceOf(mode.choice, mode.high)) : looking;
      case 'edit-line':
        return key === 'enter' ? this.#acceptEdit(current, mode.editor.text) : looking;
      case 'edited':
        if (key === 'e') return this.#edit(current, mode.text);
        return key === 'y' ? this.#approve(current, { tool_params: mode.params }) : looking;
      case 'list':
        return this.#choose(key, mode.index);
      case 'busy':
        return mode;
    }
  }

  #look(current: ApprovalEntry, key: string): CardMode {
    const { approval } = current;
    const { words } = this.#deps;
    switch (key) {
      case 'y':
        return this.#startApproving(current);
      case 'n':
        return rejecting();
      case 'a':
        if (approval.offered_scopes.length > 0) return { name: 'scopes' };
        this.#note = words.keys.noScopes;
        return looking;
      case 'e':
        return this.#edit(current, this.#draft ?? JSON.stringify(approval.tool_params, null, 2));
      case 't':
        return this.#tryFirst(current);
      case 'l':
        return { name: 'list', index: this.#visibleEntries().indexOf(current) };
      case '?':
        return this.#mode.name === 'help' ? looking : { name: 'help' };
      case 'v':
        this.#deps.say(['', ...printedPreview(approval, current.isPreviewComing, this.#frame), '']);
        return looking;
      case 'escape':
        return looking;
      default:
        this.#scrollBy(key);
        return this.#mode;
    }
  }

  /** A HIGH call needs a deliberate second step (RK-1), and so does a call without a preview. */
  #startApproving(current: ApprovalEntry): CardMode {
    switch (stepBeforeApproval(current)) {
      case 'wait-for-preview':
        this.#note = this.#deps.words.keys.waitForPreview;
        return looking;
      case 'wait-for-trial':
        this.#note = this.#deps.words.trial.tryingNeeded;
        return looking;
      case 'confirm-high':
        return { name: 'confirm', why: 'high' };
      case 'confirm-unseen':
        return { name: 'confirm', why: 'unseen' };
      default:
        return this.#approve(current, {});
    }
  }

  /** Asks for a trial. If it is refused, the card says why. */
  #tryFirst({ approval }: ApprovalEntry): CardMode {
    const { words, onChange } = this.#deps;
    void this.#known.tryFirst(approval).then(() => {
      const notice = this.#known.find(approval.approval_id)?.notice;
      if (notice && this.#focused === approval.approval_id) this.#note = words.said(notice);
      onChange();
    });
    return looking;
  }

  #scrollBy(key: string): void {
    const page = this.#page;
    const steps: Readonly<Record<string, number>> = {
      down: 1,
      j: 1,
      up: -1,
      k: -1,
      ' ': page,
      'page-down': page,
      b: -page,
      'page-up': -page,
      home: -this.#maxScroll,
      end: this.#maxScroll,
    };
    this.#scroll = Math.min(Math.max(this.#scroll + (steps[key] ?? 0), 0), this.#maxScroll);
  }

  #choose(key: string, index: number): CardMode {
    const all = this.#visibleEntries();
    const last = all.length - 1;
    const chosen = Math.min(index, last);
    if (key === 'down' || key === 'j') return { name: 'list', index: Math.min(chosen + 1, last) };
    if (key === 'up' || key === 'k') return { name: 'list', index: Math.max(chosen - 1, 0) };
    return key === 'enter' ? this.#focusOn(all[chosen]) : looking;
  }

  /** Shows what a wider scope covers and what it would have decided, before it is granted. */
  #showScope(choice: ScopeChoice, high: boolean): CardMode {
    const { words, backtest, onChange } = this.#deps;
    const mode: CardMode = { name: 'scope', choice, high, tried: undefined };
    void backtest(backtestOf(choice.offer, high))
      .then(
        ({ considered, matched, approved_before: approved, rejected_before: rejected }) =>
          words.keys.backtest({ considered, matched, approved, rejected }),
        (error: unknown) => words.keys.backtestFailed(words.said(messageOf(error))),
      )
      .then((tried) => {
        if (this.#mode !== mode) return;
        this.#mode = { ...mode, tried };
        onChange();
      });
    return mode;
  }

  #edit(current: ApprovalEntry, text: string): CardMode {
    const { edit, words, onChange } = this.#deps;
    if (!edit) {
      const read = readParams(text);
      const line = JSON.stringify(read.ok ? read.params : current.approval.tool_params);
      return { name: 'edit-line', editor: new LineEditor(line) };
    }
    const busy: CardMode = { name: 'busy' };
    void edit(text)
      .then(
        (edited) => this.#acceptEdit(current, edited),
        (error: unknown) => {
          this.#note = words.keys.editFailed(messageOf(error));
          return looking;
        },
      )
      .then((mode) => {
        if (this.#mode === busy) this.#mode = mode; // unless the card was withdrawn meanwhile
        onChange();
      });
    return busy;
  }

  #acceptEdit({ approval }: ApprovalEntry, text: string): CardMode {
    const { keys, said } = this.#deps.words;
    const read = readParams(text);
    this.#draft = read.ok ? undefined : text;
    if (!read.ok) this.#note = keys.editBroken(said(read.problem));
    else if (changeParagraphs(approval.tool_params, read.params).length === 0)
      this.#note = keys.editUnchanged;
    else return { name: 'edited', params: read.params, text };
    return looking;
  }

  #approve(current: ApprovalEntry, choice: ApproveChoice): CardMode {
    const { approval } = current;
    const { device, words } = this.#deps;
    const step = stepBeforeApproval(current);
    // Edited parameters get a new preview before they are approved (AP-6), so the old one is not needed.
    const mustWait = step === 'wait-for-preview' && choice.tool_params === undefined;
    if (step === 'unfit' || mustWait) {
      this.#note = mustWait ? words.keys.waitForPreview : words.keys.unfit;
      return looking;
    }
    return this.#send(approval, () => this.#known.approve(approval, { ...choice, device }));
  }

  #reject({ approval }: ApprovalEntry, message: string): CardMode {
    const { device } = this.#deps;
    const choice = { ...(message !== '' && { message }), device };
    return this.#send(approval, () => this.#known.reject(approval, choice));
  }

  #send(approval: CardApproval, send: () => Promise<DecisionAnswer | undefined>): CardMode {
    const busy: CardMode = { name: 'busy' };
    this.#sentHere.add(approval.approval_id);
    void send().then((answer) => {
      if (answer?.kind === 'settled') this.#printOutcome(approval, answer);
      else if (answer?.notice && this.#mode === busy) this.#note = this.#deps.words.said(answer.notice);
      if (this.#mode === busy) this.#mode = looking;
      this.#deps.onChange();
    });
    return busy;
  }

  #printOutcome(approval: CardApproval, answer: Extract<DecisionAnswer, { kind: 'settled' }>): void {
    const { device, words } = this.#deps;
    const { status, outcome, grantId, ruleId } = answer;
    const more =
      ruleId !== undefined
        ? words.outcome.saved(ruleId)
        : grantId === undefined
          ? undefined
          : words.outcome.granted(grantId);
    const told = { status, device: outcome === 'recorded' ? device : answer.device, grant_id: null };
    this.#tellOutcome(approval, told, this.#deps, more);
  }

  /**
   * Prints how a request ended. In its own conversation, an approval is printed later, with the call's result, and so is
   * why a call failed before anybody decided.
   */
  #tellOutcome(
    approval: CardApproval,
    told: Parameters<typeof resolutionLine>[1],
    here: Parameters<typeof resolutionLine>[2],
    more?: string,
  ): void {
    const { conversation, say } = this.#deps;
    if (conversation?.isOwn(approval) && told.error) return;
    if (conversation?.isOwn(approval) && told.status === 'approved' && more === undefined)
      conversation.onApproved(approval.tool_id, decisionWords(told, here));
    else say([resolutionLine(this.#titleOf(approval), told, here, more)]);
  }
}

/** The dependencies that are the same for every command that shows cards on a stage. */
export const cardDeps = ({ client, device }: ServerAccess, stage: Stage) => ({
  clock: systemClock,
  device,
  server: approvalsServer(client),
  backtest: (body: RequestBody<'backtestPolicy'>) => client.backtestPolicy({ body }),
  edit: stage.edit,
  onChange: () => stage.draw(),
  say: (lines: readonly string[]) => stage.print(lines),
});

const isAboutToApprove = ({ name }: CardMode): boolean =>
  name === 'confirm' || name === 'scopes' || name === 'scope' || name === 'edited';
