import { type ApprovalEntry, stepBeforeApproval } from '@countersign/approvals';
import { requestWords } from '@countersign/ui/request-words';
import type { Words } from '../words/words.ts';
import type { PendingEntry } from './pending-approvals.ts';
import { requestTitle } from './request-title.ts';

/** The version of a request that was shown, and whether its preview is still to come. */
type Shown = Pick<PendingEntry<unknown>, 'request' | 'isPreviewComing'>;

const stepOf = ({ request: approval, isPreviewComing }: Shown) =>
  stepBeforeApproval({ approval, isPreviewComing } satisfies Pick<
    ApprovalEntry,
    'approval' | 'isPreviewComing'
  >);

/** The buttons of a request's dialog. The editor gives the first one the focus, and Enter presses it. */
export function firstChoices(
  shown: Shown,
  { approval }: Words,
  { isSeen }: { readonly isSeen: boolean },
): string[] {
  const step = stepOf(shown);
  if (step === 'unfit' || step === 'wait-for-preview') return [approval.reject];
  if (!isSeen) return [approval.showAll, approval.reject];
  const approving = [approval.approve, approval.approveMore];
  // In a HIGH dialog the safe answer is the first (UI-6).
  return shown.request.risk_level === 'HIGH'
    ? [approval.reject, ...approving]
    : [...approving, approval.reject];
}

/** The deliberate second step after "approve": of HIGH (RK-1), and of a call without a preview. */
export interface SecondQuestion {
  readonly title: string;
  readonly warning?: string;
  readonly confirm: string;
}

/** What comes between "approve" and sending it: a question, why it cannot be sent, or nothing. */
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
    case 'confirm-high':
      return { title: approval.highQuestion(title), confirm: approval.confirmApprove };
    case 'confirm-unseen': {
      const { confirmUnseenTitle, confirmUnseen } = requestWords[words.language].approval;
      return { title, warning: confirmUnseenTitle, confirm: confirmUnseen };
    }
    case null:
      return undefined;
  }
}
