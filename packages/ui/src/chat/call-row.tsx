import {
  callOutcome,
  callState,
  callTitle,
  decisionText,
  resultView,
  type ResultView as View,
} from '@countersign/approvals';
import { errorCodes, isFinal } from '@countersign/protocol';
import { memo, useMemo, useRef, useState } from 'react';
import { ApprovalCard } from '../approvals/approval-card.tsx';
import { NoticeLine } from '../approvals/card-parts.tsx';
import { SaidToAgent } from '../approvals/decided-approval.tsx';
import { useFocusAfterDecision } from '../approvals/use-focus-after-decision.ts';
import { Button } from '../frame/button.tsx';
import { type ChatCall, type ChatMessage, callOf, isAtWork, isToldByNote } from '../live/conversation.ts';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useExecution } from '../queries/executions.ts';
import { LandingNotes } from '../results/result-view.tsx';
import { TerminalView } from '../results/terminal-view.tsx';
import { duration } from '../text/duration.ts';
import { StatusMark } from '../text/status-mark.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords, type Words } from '../words/words.ts';
import { CallDetails } from './call-details.tsx';
import { CallLine } from './call-line.tsx';

interface ToolCallRowProps {
  readonly sessionId: string;
  readonly runId: string | null;
  readonly call: ChatMessage['toolCalls'][number];
}

/** One tool call of a message. It is found by its id, or by the model's call id until it has one. */
export const ToolCallRow = memo(function ToolCallRow({ sessionId, runId, call }: ToolCallRowProps) {
  const words = useWords();
  const { conversations } = useLive();
  const known = useObservable(conversations.all, (all) => {
    const conversation = all.get(sessionId);
    return conversation && callOf(conversation, runId, call);
  });
  // After the run has ended, a call that was not made will never be made.
  const isQueued = useObservable(conversations.all, (all) => {
    const conversation = all.get(sessionId);
    return !call.not_started && conversation !== undefined && isAtWork(conversation, runId);
  });
  const isToldBelow = useObservable(conversations.all, (all) => {
    const conversation = all.get(sessionId);
    return conversation !== undefined && known !== undefined && isToldByNote(conversation, known);
  });
  if (known) return <CallRow call={known} isToldBelow={isToldBelow} />;
  const { tool_name: toolName, tool_params: params } = call;
  return (
    <div className="call">
      <div className="call-line call-toggle">
        <StatusMark status={isQueued ? 'pending' : 'not_started'} />
        <Visible
          as="span"
          className="call-title"
          text={callTitle({ toolName, params, status: 'pending' }, words.calls)}
        />
        <span className="call-facts">
          <span className="call-state">{isQueued ? words.call.queued : words.calls.state.not_started}</span>
        </span>
      </div>
    </div>
  );
});

interface CallRowProps {
  readonly call: ChatCall;
  /** A note of the conversation says why the call ended. */
  readonly isToldBelow?: boolean;
}

/** One tool call as one row. While it waits, the row is its card; decided, it is one line that unfolds. */
export const CallRow = memo(function CallRow({ call, isToldBelow = false }: CallRowProps) {
  const { approvals } = useLive();
  const { approvalId, toolId, status } = call;
  const entry = useObservable(approvals.entries, (all) =>
    approvalId === null ? undefined : all.get(approvalId),
  );
  const isCard = entry !== undefined && (entry.resolution === null || entry.sending !== null);
  const row = useRef<HTMLDivElement>(null);
  useFocusAfterDecision(row, isCard, () => row.current?.querySelector('button'));
  return (
    <div ref={row} className={`call call-${status}`} data-call={toolId} id={`call-${toolId}`}>
      {isCard ? (
        <ApprovalCard entry={entry} />
      ) : (
        <DecidedCall
          call={call}
          isToldBelow={isToldBelow}
          isHere={entry?.resolution?.here}
          notice={entry?.resolution ? entry.notice : null}
        />
      )}
    </div>
  );
});

/** The row's state says this already. */
const saidByState = errorCodes.EXECUTION_CANCELLED.message;

interface DecidedCallProps extends Required<CallRowProps> {
  /** Whether this page decided it; undefined if that is not known, as after a reload. */
  readonly isHere: boolean | undefined;
  readonly notice: Parameters<typeof NoticeLine>[0]['notice'];
}

function DecidedCall({ call, isToldBelow, isHere, notice }: DecidedCallProps) {
  const words = useWords();
  const { client, device } = useLive();
  const { toolId, toolName, params, status, output, error, decision, progress, progressMessage, exitCode } =
    call;
  const isRunning = status === 'executing' || status === 'approved';
  const state = callState(call);
  const [isOpen, setOpen] = useState(false);
  // A call without a run has no tool message, nor has a cancelled one: its output is fetched.
  const hasOutput = state === 'failed' || state === 'cancelled' || exitCode !== undefined;
  const fetched = useExecution(hasOutput && call.result === undefined ? toolId : null);
  const result = call.result ?? fetched.data?.result ?? undefined;
  const view = useMemo(
    () => (result === undefined ? undefined : resultView(toolName, params, result)),
    [toolName, params, result],
  );
  // By the device's name, so that the row reads the same after a reload, when nobody knows which window it was.
  const isDecidedHere = decision?.device === device || isHere;
  const facts = [
    ...outcomeFacts(call, view, words),
    ...(decision && !(decision.status === 'cancelled' && error)
      ? [decisionText(decision, isDecidedHere, words.calls)]
      : []),
  ];
  // What a command printed stays in sight; unfolding it shows all.
  const tail = view === undefined ? output : view.kind === 'terminal' ? view.output : '';
  return (
    <>
      <CallLine
        state={state}
        title={callTitle({ toolName, params, status }, words.calls)}
        facts={facts}
        isOpen={isOpen}
        onToggle={() => setOpen(!isOpen)}
      >
        {!isFinal(status) && status !== 'awaiting_approval' && (
          <Button
            look="quiet small"
            onClick={() =>
              void client.cancelExecution({ params: { tool_id: toolId }, body: {} }).catch(() => {})
            }
          >
            {words.call.cancel}
          </Button>
        )}
      </CallLine>
      {isRunning && (progress !== null || progressMessage !== null) && (
        <div className="call-progress">
          {progress !== null && (
            <progress max={100} value={progress} aria-label={words.calls.state.executing} />
          )}
          {progressMessage !== null && (
            <Visible as="span" className="muted" text={words.said(progressMessage)} />
          )}
        </div>
      )}
      {notice && <NoticeLine notice={notice} askedAgain={false} />}
      {error && status !== 'rejected' && error.message !== saidByState && !isToldBelow && (
        <Visible as="p" className="call-error" text={words.told(error)} />
      )}
      {decision && <SaidToAgent {...decision} />}
      {!isOpen && tail !== '' && <TerminalView output={tail} />}
      {!isOpen && view?.kind === 'terminal' && view.landing && <LandingNotes landing={view.landing} />}
      {isOpen && <CallDetails call={call} view={view} />}
    </>
  );
}

/** What came of a call and how long it took; nothing while it runs. */
function outcomeFacts(
  { status, exitCode, executionMs, isUndone }: ChatCall,
  view: View | undefined,
  words: Words,
): readonly string[] {
  if (!isFinal(status) || (status === 'completed' && isUndone)) return [];
  const exit = exitCode !== undefined && exitCode !== 0 ? words.calls.outcome.exit(exitCode) : '';
  const outcome = exit || (status === 'completed' && view ? callOutcome(view, words.calls) : '');
  return [
    ...(outcome === '' ? [] : [outcome]),
    ...(executionMs !== null && status === 'completed' ? [duration(executionMs, words)] : []),
  ];
}
