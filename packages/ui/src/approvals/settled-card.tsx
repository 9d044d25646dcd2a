import type { ApprovalEntry, Resolution } from '@countersign/approvals';
import type { ErrorCode } from '@countersign/protocol';
import { Visible } from '../text/visible.tsx';
import { useWords, type Words } from '../words/words.ts';
import { NoticeLine, PreviewSection, Reasons } from './card-parts.tsx';

interface SettledCardProps {
  readonly entry: ApprovalEntry;
  readonly resolution: Resolution;
  /** The card is shown without its call, so it also says why the call failed. */
  readonly isAlone: boolean;
}

/** Notices that still matter after the decision. */
const noticesAfterDecision: readonly ErrorCode[] = ['ALREADY_DECIDED', 'APPROVAL_STALE'];

/** Decided here or elsewhere, expired or withdrawn: the card says so and stays readable (AP-2). */
export function SettledCard({ entry, resolution, isAlone }: SettledCardProps) {
  const words = useWords();
  const { approval } = words;
  const { notice } = entry;
  const { status, reason, message, error } = resolution;
  return (
    <div className="settled-body">
      <Visible
        as="p"
        className={`settled-line settled-${status}`}
        role="status"
        text={resolutionText(resolution, words)}
      />
      {isAlone && error && <Visible as="p" className="call-error" text={words.said(error)} />}
      {notice && noticesAfterDecision.includes(notice.code) && (
        <NoticeLine notice={notice} askedAgain={false} />
      )}
      {reason !== null && reason !== '' && (
        <p>
          <span className="label-inline">{approval.saidReason}</span> <Visible text={reason} />
        </p>
      )}
      {message !== null && message !== '' && (
        <p>
          <span className="label-inline">{approval.saidMessage}</span> <Visible text={message} />
        </p>
      )}
      <details className="raw">
        <summary>{words.call.details}</summary>
        <PreviewSection entry={entry} />
        <Reasons reasons={entry.approval.reasons} network={entry.approval.network} />
      </details>
    </div>
  );
}

/** One sentence: who or what settled it, and where. */
function resolutionText(resolution: Resolution, { approval }: Pick<Words, 'approval'>): string {
  const { status, here, device, approvedBy, error } = resolution;
  const { resolved } = approval;
  const where = device ?? resolved.elsewhere;
  switch (status) {
    case 'approved':
      if (here) return resolved.approvedHere;
      return approvedBy === 'config' ? resolved.approvedByRule : resolved.approvedElsewhere(where);
    case 'rejected':
      return here ? resolved.rejectedHere : resolved.rejectedElsewhere(where);
    case 'timeout':
      return resolved.timeout;
    case 'cancelled':
      return error ? resolved.failed : resolved.cancelled;
  }
}
