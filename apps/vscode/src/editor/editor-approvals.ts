import {
  type ApprovalRequest,
  type ApproveChoice,
  answerOf,
  approvalOf,
  attentionMs,
  choiceOf,
  rejectionOf,
  ruleOf,
  stepBeforeApproval,
} from '@countersign/approvals';
import type { ApprovalDecision, Client } from '@countersign/client';
import type { CheckedCard, OfferedScope } from '@countersign/protocol';
import { commands, type Disposable, type QuickPickItem, window } from 'vscode';
import { editedParams } from '../approvals/edited-params.ts';
import type { PendingApprovals, PendingEntry } from '../approvals/pending-approvals.ts';
import { requestText } from '../approvals/preview-text.ts';
import { requestTitle, said, scopeTitle } from '../approvals/request-title.ts';
import type { FolderRunner } from '../runner/folder-runner.ts';
import type { Words } from '../words.ts';
import { deliberateAnswer, deliberately } from './deliberate-answer.ts';
import { nameAmongFolders } from './folder-name.ts';
import { ProposalDiffs, type ReviewedProposal } from './proposal-diff.ts';
import { WholeRequests } from './whole-request.ts';

type Entry = PendingEntry<FolderRunner>;

export interface EditorApprovalsOptions {
  readonly pending: PendingApprovals<FolderRunner>;
  readonly client: () => Client | undefined;
  readonly words: Words;
}

/** A dialog is no place to read a long text: what is longer is shown in an editor before it can be approved. */
const dialogLines = 20;
const dialogTitle = 110;

/** Where the person decides in the editor's own ways: diff, dialog, input box and list. */
export class EditorApprovals implements Disposable {
  readonly diffs: ProposalDiffs;
  readonly #options: EditorApprovalsOptions;
  readonly #whole = new WholeRequests();
  /** What was too long for a dialog and has been shown whole. */
  readonly #shownWhole = new Set<string>();

  constructor(options: EditorApprovalsOptions) {
    const { pending, words } = options;
    this.#options = options;
    this.diffs = new ProposalDiffs(words);
    pending.listen({
      onChange: () => {
        void commands.executeCommand('setContext', 'countersign.pending', pending.all.length > 0);
        for (const entry of pending.all) void this.diffs.refresh(entry);
      },
      onGone: ({ request }) => void this.diffs.close(request.approval_id),
    });
  }

  dispose(): void {
    this.#whole.dispose();
    this.diffs.dispose();
  }

  /** A file change in a diff; everything else, and what another runner would do, in a dialog. */
  async review(approvalId?: string): Promise<void> {
    const entry = await this.#choose(approvalId);
    if (!entry) return;
    if (!(await this.diffs.open(entry))) await this.#ask(entry);
  }

  /** What is shown in the diff before the person; what is not, is shown first. */
  async approve(approvalId?: string): Promise<void> {
    const entry = await this.#choose(approvalId);
    if (!entry) return;
    const reviewed = this.diffs.reviewed(entry.request.approval_id);
    if (!reviewed || this.diffs.shown !== entry.request.approval_id)
      return this.review(entry.request.approval_id);
    await this.#approveReviewed(entry, reviewed, {});
  }

  /** A class, the session, always (AP-4). */
  async approveMore(approvalId?: string): Promise<void> {
    const { words } = this.#options;
    const entry = await this.#choose(approvalId);
    if (!entry) return;
    const { request } = entry;
    const isShown = this.diffs.shown === request.approval_id;
    if (!isShown && (await this.diffs.open(entry))) return; // what is approved is shown first
    const reviewed = this.diffs.reviewed(request.approval_id);
    if (!reviewed && !this.#isSeen(request)) return this.#ask(entry);
    const scope = await this.#pickScope(request);
    if (!scope) return;
    if (reviewed) return this.#approveReviewed(entry, reviewed, scope);
    await this.#confirmAndApprove(entry, request, scope, words.approval.approveMore);
  }

  async reject(approvalId?: string): Promise<void> {
    const { approval } = this.#options.words;
    const entry = await this.#choose(approvalId);
    if (!entry) return;
    const message = await window.showInputBox({
      title: requestTitle(entry.request, this.#options.words),
      prompt: approval.rejectPrompt,
      placeHolder: approval.rejectPlaceholder,
      ignoreFocusOut: true,
    });
    if (message === undefined) return; // escaped: nothing is decided
    const choice = { reason: 'User declined', ...(message.trim() !== '' && { message: message.trim() }) };
    await this.#send(entry, rejectionOf(entry.request, choice));
  }

  async #approveReviewed(entry: Entry, reviewed: ReviewedProposal, more: ApproveChoice): Promise<void> {
    const { approval } = this.#options.words;
    const { request, before, edited, seenMs } = reviewed;
    if (seenMs < attentionMs) return this.#say(approval.tooSoon);
    const tool_params =
      edited === undefined
        ? undefined
        : editedParams(request.tool_name, request.tool_params, { before, edited });
    if (edited !== undefined && !tool_params) return this.#say(approval.notEditable);
    await this.#confirmAndApprove(entry, request, { ...more, ...(tool_params && { tool_params }) });
  }

  /** Everything that is no file change, shown and decided in one dialog. */
  async #ask(entry: Entry): Promise<void> {
    const { approval } = this.#options.words;
    const { request } = entry;
    const approving = [approval.approve, approval.approveMore];
    const items = request.unfit
      ? [approval.reject]
      : !this.#isSeen(request)
        ? [approval.showAll, approval.reject]
        : // The first one has the focus, and Enter presses it: in a HIGH dialog that is the safe one (UI-6).
          request.risk_level === 'HIGH'
          ? [approval.reject, ...approving]
          : [...approving, approval.reject];
    const choice = await this.#dialog(requestTitle(request, this.#options.words), request, items);
    if (choice === approval.showAll) await this.#showWhole(request);
    else if (choice === approval.approve) await this.#confirmAndApprove(entry, request, {});
    else if (choice === approval.approveMore) {
      const scope = await this.#pickScope(request);
      if (scope) await this.#confirmAndApprove(entry, request, scope);
    } else if (choice === approval.reject) await this.reject(request.approval_id);
  }

  /** Whether a dialog shows all of it, or an editor has. */
  #isSeen(request: ApprovalRequest): boolean {
    const { words } = this.#options;
    const isShort = requestText(request, words, dialogLines) === requestText(request, words);
    return isShort || this.#shownWhole.has(versionOf(request));
  }

  async #showWhole(request: ApprovalRequest): Promise<void> {
    const { words } = this.#options;
    const { risk, decide } = words.approval;
    const title = requestTitle(request, words);
    const text = `${title}\n${risk[request.risk_level]}\n\n${requestText(request, words)}\n`;
    await this.#whole.show(versionOf(request), title, text);
    this.#shownWhole.add(versionOf(request));
    if ((await window.showInformationMessage(title, decide)) === decide)
      await this.review(request.approval_id);
  }

  /** HIGH takes a deliberate second step (RK-1); so does what was not shown yet. */
  async #confirmAndApprove(
    entry: Entry,
    shown: CheckedCard<ApprovalRequest>,
    body: ApproveChoice,
    what?: string,
  ): Promise<void> {
    const { approval } = this.#options.words;
    const step = stepBeforeApproval(shown);
    if (step === 'unfit') return this.#say(approval.unfit);
    if (step === 'wait-for-preview') return this.#say(approval.previewPending);
    const sentence = requestTitle(shown, this.#options.words);
    if (step === 'confirm-high') {
      const choices = [approval.lookAgain, approval.confirmApprove];
      const choice = await this.#dialog(approval.highQuestion(sentence), shown, choices);
      if (choice === approval.lookAgain) return this.review(shown.approval_id);
      if (choice !== approval.confirmApprove) return;
    } else if (what !== undefined && (await this.#dialog(sentence, shown, [what])) !== what) return;
    await this.#send(entry, approvalOf(shown, body));
  }

  #dialog(title: string, request: ApprovalRequest, choices: readonly string[]): Promise<string | undefined> {
    const { words, pending } = this.#options;
    const where = nameAmongFolders(pending.find(request.approval_id)?.folder.folder);
    const risk = [where, words.approval.risk[request.risk_level]].filter(Boolean).join(' · ');
    const detail = `${risk}\n\n${requestText(request, words, dialogLines)}`;
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
    type Item = QuickPickItem & { readonly offer: OfferedScope; readonly high?: boolean };
    const items = offered_scopes.flatMap((offer): Item[] => {
      const label = scopeTitle(offer, words);
      if (offer.scope === 'always') return [{ label, detail: approval.alwaysWarning, offer }];
      if (offer.scope === 'class') return [{ label, offer }];
      return [
        { label, description: approval.onlyMedium, detail: approval.sessionWarning, offer },
        { label, description: approval.includeHigh, detail: approval.sessionWarning, offer, high: true },
      ];
    });
    const picked = await deliberately(() =>
      window.showQuickPick(items, { title: approval.scopePick, ignoreFocusOut: true }),
    );
    if (!picked) return undefined;
    if (picked.offer.scope === 'always') {
      const tried = await client()
        ?.backtestPolicy({ body: { rule: ruleOf(picked.offer) } })
        .catch(() => undefined);
      // Before it is saved, not when it is too late (RK-5).
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
    return choiceOf(picked.offer, picked.high);
  }

  async #send(entry: Entry, decision: ApprovalDecision): Promise<void> {
    const { words, pending } = this.#options;
    const { approval } = words;
    const answer = await answerOf(entry.folder.decide(decision));
    if (answer.kind === 'failed') this.#say(approval.failed(said(answer.notice, words)));
    else if (answer.kind === 'look-again')
      this.#say(
        answer.notice?.code === 'PREVIEW_PENDING' ? approval.previewPending : approval.changedMeanwhile,
      );
    else {
      pending.withdraw(entry.request.approval_id);
      if (answer.outcome === 'overruled')
        this.#say(approval.overruled(answer.status, answer.device ?? approval.elsewhere));
    }
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
