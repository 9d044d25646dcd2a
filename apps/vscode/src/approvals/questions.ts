import { stepBeforeApproval } from '@countersign/approvals';
import { approvalWords } from '@countersign/words';
import type { Words } from '../words.ts';
import type { PendingEntry } from './pending-approvals.ts';
import { requestTitle } from './request-title.ts';

/** The displayed version of a request, and whether its preview is still being made. */
type Shown = Pick<PendingEntry<unknown>, 'request' | 'isPreviewComing' | 'isTryable'>;

const stepOf = ({ request: approval, isPreviewComing }: Shown) =>
  stepBeforeApproval({ approval, isPreviewComing });

/** The buttons of a request's dialog. The editor gives the first one the focus, and Enter presses it. */
export function firstChoices(
  shown: Shown,
  { approval, language }: Words,
  { isSeen }: { readonly isSeen: boolean },
): string[] {
  const step = stepOf(shown);
  if (step === 'unfit' || step === 'wait-for-preview' || step === 'wait-for-trial') return [approval.reject];
  const trying = shown.isTryable ? [approvalWords[language].tryFirst] : [];
  if (!isSeen) return [approval.showAll, ...trying, approval.reject];
  const approving = [approval.approve, ...trying, approval.approveMore];
  // In a HIGH dialog the first button is the safe one, because Enter presses it (UI-6).
  return shown.request.risk_level === 'HIGH'
    ? [approval.reject, ...approving]
    : [...approving, approval.reject];
}

/** Confirms an approval of a HIGH call (RK-1), or of a call without a preview. */
export interface SecondQuestion {
  readonly title: string;
  readonly warning?: string;
  readonly confirm: string;
}

/** What is needed after "approve": a second question, a refusal, or nothing. */
export function secondQuestion(
  shown: Shown,
  words: Words,
): SecondQuestion | { readonly refusal: string } | undefined {
  const { approval } = words;
  const title = requestTitle(shown.request, words);
  switch (stepOf(shown)) {
    case 'unfit':
      return { refusal: approval.unfit };
    case 'wait-for-preview':
      return { refusal: approval.previewPending };
    case 'wait-for-trial':
      return { refusal: approvalWords[words.language].tryingNeeded };
    case 'confirm-high':
      return { title: approval.highQuestion(title), confirm: approval.confirmApprove };
    case 'confirm-unseen': {
      const { confirmUnseenTitle, confirmUnseen } = approvalWords[words.language];
      return { title, warning: confirmUnseenTitle, confirm: confirmUnseen };
    }
    case null:
      return undefined;
  }
}
