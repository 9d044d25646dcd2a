import {
  type ApprovalRequest,
  type ApproveChoice,
  attentionMs,
  backtestOf,
  choiceOf,
  type DecisionAnswer,
  type ScopeChoice,
  scopeChoices,
} from '@countersign/approvals';
import type { Client } from '@countersign/client';
import type { CheckedCard } from '@countersign/protocol';
import { approvalWords } from '@countersign/words';
import {
  commands,
  type Disposable,
  ProgressLocation,
  type QuickPickItem,
  Uri,
  window,
  workspace,
} from 'vscode';
import { editedParams } from '../approvals/edited-params.ts';
import type { PendingApprovals, PendingEntry } from '../approvals/pending-approvals.ts';
import { laterThan, neighbourOf } from '../approvals/pending-order.ts';
import { requestText } from '../approvals/preview-text.ts';
import { firstChoices, secondQuestion } from '../approvals/questions.ts';
import { requestTitle, said, scopeTitle } from '../approvals/request-title.ts';
import type { FolderRunner } from '../runner/folder-runner.ts';
import type { Words } from '../words.ts';
import { deliberateAnswer, deliberately } from './deliberate-answer.ts';
import { nameAmongFolders } from './folder-name.ts';
import { ProposalDiffs, type ReviewedProposal } from './proposal-diff.ts';
import { TrialDiffs } from './trial-diffs.ts';

type Entry = PendingEntry<FolderRunner>;

export interface EditorApprovalsOptions {
  readonly pending: PendingApprovals<FolderRunner>;
  readonly client: () => Client | undefined;
  readonly words: Words;
}

/** A longer request must be shown in an editor before it can be approved. */
const dialogLines = 20;
const dialogTitle = 110;

/** Lets the person decide approvals with the editor's own diff, dialogs, input box and lists. */
export class EditorApprovals implements Disposable {
  readonly diffs: ProposalDiffs;
  readonly #options: EditorApprovalsOptions;
  readonly #trials = new TrialDiffs();
  readonly #whole = new WholeRequests();
  /** Versions of requests that were too long for a dialog and have been shown in an editor. */
  readonly #shownWhole = new Set<string>();
  /** The request that was opened or focused last. The editor reports the focus late, so opening counts at once. */
  #at: string | undefined;
  readonly #focus: Disposable;
  /** Requests whose decision was made in the editor and is being sent. */
  readonly #deciding = new Set<string>();

  constructor(options: EditorApprovalsOptions) {
    const { pending, words } = options;
    this.#options = options;
    this.diffs = new ProposalDiffs(words);
    this.#focus = window.onDidChangeActiveTextEditor(() => {
      this.#at = this.diffs.shown ?? this.#at;
    });
    pending.listen({
      onChange: () => {
        void commands.executeCommand('setContext', 'countersign.pending', pending.all.length > 0);
        void commands.executeCommand('setContext', 'countersign.severalPending', pending.all.length > 1);
        for (const entry of pending.all) void this.diffs.refresh(entry);
      },
      onGone: ({ request }) => {
        void this.diffs.close(request.approval_id);
        void this.#trials.close(request.approval_id);
      },
    });
  }

  dispose(): void {
    this.#focus.dispose();
    this.#whole.dispose();
    this.#trials.dispose();
    this.diffs.dispose();
  }

  /**
   * Shows a file change in a diff, and what a tried command changed in a diff of several files. Other calls, and file changes
   * of another runner, are shown in a dialog.
   */
  async review(approvalId?: string): Promise<void> {
    const entry = await this.#choose(approvalId);
    if (!entry) return;
    this.#at = entry.request.approval_id;
    if (await this.diffs.open(entry)) return;
    const title = requestTitle(entry.request, this.#options.words);
    if (await this.#trials.open(entry.request, title)) await this.#askLater(entry.request, title);
    else await this.#ask(entry);
  }

  /** Shows the next or previous request, seen from the one that was shown last. */
  async step(by: 1 | -1): Promise<void> {
    const { pending, words } = this.#options;
    const entry = neighbourOf(pending.all, this.#at, by);
    if (entry) await this.review(entry.request.approval_id);
    else this.#say(words.approval.nothing);
  }

  /** Call this when a request was decided on the chat's card. If its diff was open, the next diff opens instead. */
  async decidedOnCard(approvalId: string): Promise<void> {
    if (this.#deciding.has(approvalId) || !this.diffs.isOpen(approvalId)) return;
    const later = laterThan(this.#options.pending.all, approvalId);
    await this.diffs.close(approvalId);
    await this.#openNextDiff(later, { preserveFocus: true });
  }

  /** Opens the diff of the first of these requests that still waits and has one. */
  async #openNextDiff(
    later: readonly Entry[],
    options: { readonly preserveFocus?: boolean } = {},
  ): Promise<void> {
    for (const { request } of later) {
      const entry = this.#options.pending.find(request.approval_id);
      if (entry && (await this.diffs.open(entry, options))) {
        this.#at = request.approval_id;
        return;
      }
    }
  }

  /** Approves the request of the focused diff. If the request is not shown yet, shows it instead. */
  async approve(approvalId?: string): Promise<void> {
    const entry = await this.#choose(approvalId);
    if (!entry) return;
    const reviewed = this.diffs.reviewed(entry.request.approval_id);
    if (!reviewed || this.diffs.shown !== entry.request.approval_id)
      return this.review(entry.request.approval_id);
    await this.#approveReviewed(entry, reviewed, {});
  }

  /** Approves a class of calls, the session, or always (AP-4). */
  async approveMore(approvalId?: string): Promise<void> {
    const { words } = this.#options;
    const entry = await this.#choose(approvalId);
    if (!entry) return;
    const { request } = entry;
    const isShown = this.diffs.shown === request.approval_id;
    if (!isShown && (await this.diffs.open(entry))) return; // show it before it can be approved
    const reviewed = this.diffs.reviewed(request.approval_id);
    if (!reviewed && !this.#isSeen(request)) return this.#ask(entry);
    const scope = await this.#pickScope(request);
    if (!scope) return;
    if (reviewed) return this.#approveReviewed(entry, reviewed, scope);
    await this.#confirmAndApprove(entry, request, scope, words.approval.approveMore);
  }

  async reject(approvalId?: string): Promise<void> {
    const { words } = this.#options;
    const entry = await this.#choose(approvalId);
    if (!entry) return;
    const message = await window.showInputBox({
      title: requestTitle(entry.request, words),
      prompt: approvalWords[words.language].rejectMessage,
      placeHolder: words.approval.rejectPlaceholder,
      ignoreFocusOut: true,
    });
    if (message === undefined) return; // dismissed with Escape
    const choice = { reason: 'User declined', ...(message.trim() !== '' && { message: message.trim() }) };
    await this.#send(entry.request.approval_id, () => entry.folder.approvals.reject(entry.request, choice));
  }

  async #approveReviewed(entry: Entry, reviewed: ReviewedProposal, more: ApproveChoice): Promise<void> {
    const { approval } = this.#options.words;
    const { request, before, edited, seenMs } = reviewed;
    if (seenMs < attentionMs) {
      this.diffs.restartReading(request.approval_id);
      return this.#say(approval.tooSoon);
    }
    const tool_params =
      edited === undefined
        ? undefined
        : editedParams(request.tool_name, request.tool_params, { before, edited });
    if (edited !== undefined && !tool_params) return this.#say(approval.notEditable);
    await this.#confirmAndApprove(entry, request, { ...more, ...(tool_params && { tool_params }) });
  }

  /** Shows a request in a dialog and sends the decision. */
  async #ask(entry: Entry): Promise<void> {
    const { approval } = this.#options.words;
    const { request } = entry;
    const items = firstChoices(entry, this.#options.words, { isSeen: this.#isSeen(request) });
    const choice = await this.#dialog(requestTitle(request, this.#options.words), request, items);
    if (choice === approval.showAll) await this.#showWhole(request);
    else if (choice === approvalWords[this.#options.words.language].tryFirst) await this.#try(entry);
    else if (choice === approval.approve) await this.#confirmAndApprove(entry, request, {});
    else if (choice === approval.approveMore) {
      const scope = await this.#pickScope(request);
      if (scope) await this.#confirmAndApprove(entry, request, scope);
    } else if (choice === approval.reject) await this.reject(request.approval_id);
  }

  /** Whether the request fits into a dialog, or an editor has shown all of it. */
  #isSeen(request: ApprovalRequest): boolean {
    const { words } = this.#options;
    const isShort = requestText(request, words, dialogLines) === requestText(request, words);
    return isShort || this.#shownWhole.has(versionOf(request));
  }

  async #showWhole(request: ApprovalRequest): Promise<void> {
    const { words } = this.#options;
    const { risk } = words.approval;
    const title = requestTitle(request, words);
    const text = `${title}\n${risk[request.risk_level]}\n\n${requestText(request, words)}\n`;
    await this.#whole.show(versionOf(request), title, text);
    this.#shownWhole.add(versionOf(request));
    await this.#askLater(request, title);
  }

  /** Asks once the person has read what an editor shows. */
  async #askLater({ approval_id }: ApprovalRequest, title: string): Promise<void> {
    const { words, pending } = this.#options;
    const { decide, gone } = words.approval;
    if ((await window.showInformationMessage(title, decide)) !== decide) return;
    const entry = pending.find(approval_id);
    if (entry) await this.#ask(entry);
    else this.#say(gone);
  }

  /** Tries a call before it is decided (RN-13), and shows what came of it. */
  async #try({ request, folder }: Entry): Promise<void> {
    const { words, pending } = this.#options;
    const { approval_id } = request;
    const { trying } = approvalWords[words.language];
    await window.withProgress({ location: ProgressLocation.Notification, title: trying }, async () => {
      await folder.approvals.tryFirst(request);
      await pending.until(() => pending.find(approval_id)?.request.trying !== true);
    });
    const { notice } = folder.approvals.find(approval_id) ?? {};
    if (notice) this.#say(said(notice, words));
    else if (pending.find(approval_id)) await this.review(approval_id);
  }

  /** Sends an approval, after a second question if needed (RK-1). `what` is the button for a request not yet shown. */
  async #confirmAndApprove(
    entry: Entry,
    shown: CheckedCard<ApprovalRequest>,
    body: ApproveChoice,
    what?: string,
  ): Promise<void> {
    const { words } = this.#options;
    const second = secondQuestion({ ...entry, request: shown }, words);
    if (second && 'refusal' in second) return this.#say(second.refusal);
    if (second) {
      const { lookAgain } = words.approval;
      const choices = [lookAgain, second.confirm];
      const choice = await this.#dialog(second.title, shown, choices, second.warning);
      if (choice === lookAgain) return this.review(shown.approval_id);
      if (choice !== second.confirm) return;
    } else if (what !== undefined) {
      const choice = await this.#dialog(requestTitle(shown, words), shown, [what]);
      if (choice !== what) return;
    }
    await this.#send(shown.approval_id, () => entry.folder.approvals.approve(shown, body));
  }

  #dialog(
    title: string,
    request: ApprovalRequest,
    choices: readonly string[],
    warning?: string,
  ): Promise<string | undefined> {
    const { words, pending } = this.#options;
    const where = nameAmongFolders(pending.find(request.approval_id)?.folder.folder);
    const risk = [where, words.approval.risk[request.risk_level]].filter(Boolean).join(' · ');
    const detail = [warning, risk, requestText(request, words, dialogLines)].filter(Boolean).join('\n\n');
    const short = title.length > dialogTitle ? `${title.slice(0, dialogTitle)}…` : title;
    return deliberateAnswer(short, detail, ...choices);
  }

  async #pickScope({ offered_scopes, risk_level }: ApprovalRequest): Promise<ApproveChoice | undefined> {
    const { words, client } = this.#options;
    const { approval } = words;
    if (offered_scopes.length === 0) {
      this.#say(approval.scopeNone);
      return undefined;
    }
    type Item = QuickPickItem & { readonly choice: ScopeChoice; readonly high?: boolean };
    const items = scopeChoices(offered_scopes).flatMap((choice): Item[] => {
      const { offer, onlyHere } = choice;
      const label = scopeTitle(choice, words);
      if (offer.scope === 'class' || onlyHere) return [{ label, choice }];
      if (offer.scope === 'always') return [{ label, detail: approval.alwaysWarning, choice }];
      return [
        { label, description: approval.onlyMedium, detail: approval.sessionWarning, choice },
        { label, description: approval.includeHigh, detail: approval.sessionWarning, choice, high: true },
      ];
    });
    const picked = await deliberately(() =>
      window.showQuickPick(items, { title: approval.scopePick, ignoreFocusOut: true }),
    );
    if (!picked) return undefined;
    const { offer, onlyHere } = picked.choice;
    if (offer.scope === 'always' && !onlyHere) {
      const tried = await client()
        ?.backtestPolicy({ body: backtestOf(offer) })
        .catch(() => undefined);
      // Show the backtest before the rule is saved (RK-5).
      const detail = [
        approval.alwaysWarning,
        ...(tried ? [approval.backtest(tried.matched, tried.rejected_before)] : []),
      ].join('\n\n');
      const yes = approval.saveRule;
      const choices = risk_level === 'HIGH' ? [approval.lookAgain, yes] : [yes];
      if ((await deliberateAnswer(picked.label, detail, ...choices)) !== yes) return undefined;
    }
    if (picked.high) {
      const yes = approval.confirmApprove;
      const detail = `${approval.includeHigh}.\n\n${approval.sessionWarning}`;
      if ((await deliberateAnswer(picked.label, detail, approval.lookAgain, yes)) !== yes) return undefined;
    }
    return choiceOf(picked.choice, picked.high);
  }

  /**
   * Sends a decision. If it counts, shows the next pending request. After a decision in a diff this is the next diff,
   * because a dialog that opens by itself would take the focus while the person types (UI-6).
   */
  async #send(approvalId: string, send: () => Promise<DecisionAnswer | undefined>): Promise<void> {
    const { pending } = this.#options;
    const later = laterThan(pending.all, approvalId);
    const isInDiff = this.diffs.isOpen(approvalId);
    this.#deciding.add(approvalId);
    try {
      const answer = await send();
      this.#reportProblem(answer);
      // There is no answer if the event of the decision came first.
      const counts = answer
        ? answer.kind === 'settled' && answer.outcome === 'recorded'
        : !pending.find(approvalId);
      if (!counts) return;
      await this.diffs.close(approvalId);
    } finally {
      this.#deciding.delete(approvalId);
    }
    if (isInDiff) return this.#openNextDiff(later);
    const next = later[0]?.request.approval_id;
    if (next !== undefined && pending.find(next)) await this.review(next);
  }

  /** Reports a decision that did not count. */
  #reportProblem(answer: DecisionAnswer | undefined): void {
    const { words } = this.#options;
    const { approval } = words;
    if (answer?.kind === 'failed') this.#say(approval.failed(said(answer.notice, words)));
    else if (answer?.kind === 'look-again')
      this.#say(
        answer.notice?.code === 'PREVIEW_PENDING' ? approval.previewPending : approval.changedMeanwhile,
      );
    else if (answer?.outcome === 'overruled')
      this.#say(approval.overruled(answer.status, answer.device ?? approval.elsewhere));
  }

  async #choose(approvalId: string | undefined): Promise<Entry | undefined> {
    const { pending, words } = this.#options;
    const named = approvalId ?? this.diffs.shown;
    if (named !== undefined) {
      const entry = pending.find(named);
      if (!entry) this.#say(words.approval.gone);
      return entry;
    }
    if (pending.all.length === 0) this.#say(words.approval.nothing);
    if (pending.all.length < 2) return pending.all[0];
    const items = pending.all.map((entry) => ({
      label: requestTitle(entry.request, words),
      description: [nameAmongFolders(entry.folder.folder), words.approval.risk[entry.request.risk_level]]
        .filter(Boolean)
        .join(' · '),
      entry,
    }));
    return (await window.showQuickPick(items, { title: words.approval.pick }))?.entry;
  }

  #say(text: string): void {
    void window.showInformationMessage(text);
  }
}

const versionOf = ({ approval_id, revision, digest }: ApprovalRequest): string =>
  `${approval_id} ${revision} ${digest}`;

const scheme = 'countersign-request';

/** Shows all of a request in an editor, if it is too long for a dialog. */
class WholeRequests implements Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registered = workspace.registerTextDocumentContentProvider(scheme, {
    provideTextDocumentContent: ({ path }) => this.#texts.get(path) ?? '',
  });

  dispose(): void {
    this.#registered.dispose();
  }

  /** `version` must differ between versions of the same request. */
  async show(version: string, title: string, text: string): Promise<void> {
    const path = `/${version.replaceAll(/[^\w-]/g, '-')}/${title.replaceAll('/', '∕').slice(0, 60)}`;
    this.#texts.set(path, text);
    await window.showTextDocument(Uri.from({ scheme, path }), { preview: true });
  }
}
