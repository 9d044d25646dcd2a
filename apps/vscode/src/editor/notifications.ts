import { window, workspace } from 'vscode';
import type { PendingApprovals, PendingEntry } from '../approvals/pending-approvals.ts';
import { previewText } from '../approvals/preview-text.ts';
import { requestTitle } from '../approvals/request-title.ts';
import type { FolderRunner } from '../runner/folder-runner.ts';
import type { Words } from '../words.ts';
import type { EditorApprovals } from './editor-approvals.ts';
import { nameAmongFolders } from './folder-name.ts';

type Entry = PendingEntry<FolderRunner>;

/** Announces a new request once, without taking the focus, if the chat is not visible (UI-6). */
export function notifyOfNew(
  pending: PendingApprovals<FolderRunner>,
  approvals: EditorApprovals,
  { words, isChatVisible }: { readonly words: Words; readonly isChatVisible: () => boolean },
): void {
  pending.listen({
    onNew: (entry) => {
      const when = workspace.getConfiguration('countersign').get<string>('approvals.notify', 'whenHidden');
      if (when === 'never' || (when === 'whenHidden' && isChatVisible())) return;
      void notify(entry, approvals, words);
    },
  });
}

async function notify({ request, folder }: Entry, approvals: EditorApprovals, words: Words): Promise<void> {
  const { risk_level, preview, approval_id } = request;
  const description = requestTitle(request, words);
  const { approval } = words;
  const isHigh = risk_level === 'HIGH';
  const what = preview?.kind === 'command' ? ` · ${previewText(preview, words).split('\n')[0]}` : '';
  const text = isHigh ? approval.highQuestion(description) : description;
  const show = isHigh ? window.showWarningMessage : window.showInformationMessage;
  // There is no Approve button here, because a request must be displayed before it is approved.
  const where = nameAmongFolders(folder.folder);
  const choice = await show(
    `${text}${what}${where === undefined ? '' : ` · ${where}`}`,
    approval.review,
    approval.reject,
  );
  if (choice === approval.review) await approvals.review(approval_id);
  else if (choice === approval.reject) await approvals.reject(approval_id);
}
