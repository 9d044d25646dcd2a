import { type ApprovalEntry, callTitle, decisionText, type Resolution } from '@countersign/approvals';
import type { ErrorCode } from '@countersign/protocol';
import { useState } from 'react';
import { CallLine } from '../chat/call-line.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';
import { CardReasons, NoticeLine, PreviewSection } from './card-parts.tsx';

/** Notices that still matter after the decision. */
const noticesAfterDecision: readonly ErrorCode[] = ['ALREADY_DECIDED', 'APPROVAL_STALE'];

interface DecidedApprovalProps {
  readonly entry: ApprovalEntry;
  readonly resolution: Resolution;
}

/** A request that was decided, has expired or was withdrawn, as one line that unfolds (AP-2). */
export function DecidedApproval({ entry, resolution }: DecidedApprovalProps) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const { approval, notice } = entry;
  const { status, error, reason, message, here } = resolution;
  const hasFailed = status === 'cancelled' && error !== null;
  const decided = decisionText({ ...resolution, scope: null }, here, words.calls);
  return (
    <>
      <CallLine
        state={hasFailed ? 'failed' : status}
        title={callTitle(
          { toolName: approval.tool_name, params: approval.tool_params, status: 'pending' },
          words.calls,
        )}
        facts={hasFailed ? [] : [decided]}
        isOpen={isOpen}
        onToggle={() => setOpen(!isOpen)}
      />
      {error && <Visible as="p" className="call-error" text={words.told(error)} />}
      {notice && noticesAfterDecision.includes(notice.code) && (
        <NoticeLine notice={notice} askedAgain={false} />
      )}
      <SaidToAgent reason={reason} message={message} />
      {isOpen && (
        <div className="call-details">
          <PreviewSection entry={entry} />
          <CardReasons approval={approval} />
        </div>
      )}
    </>
  );
}

/** What the person told the agent with the decision. */
export function SaidToAgent({ reason, message }: Pick<Resolution, 'reason' | 'message'>) {
  const { approval } = useWords();
  return [reason, message].map(
    (text, index) =>
      text && (
        // biome-ignore lint/suspicious/noArrayIndexKey: there are these two
        <p key={index} className="call-said">
          <span className="label-inline">{approval.saidMessage}</span> <Visible text={text} />
        </p>
      ),
  );
}
