import { callSummary } from '@countersign/approvals';
import { isFinal } from '@countersign/protocol';
import { memo, useState } from 'react';
import { ConnectedCard, useCardsAboveInput } from '../approvals/connected-card.tsx';
import { Button } from '../frame/button.tsx';
import { links } from '../frame/links.ts';
import { RunAgain } from '../history/run-again.tsx';
import { type ChatCall, type ChatMessage, callOf, isAtWork } from '../live/conversation.ts';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useExecution } from '../queries/executions.ts';
import { CodeBlock } from '../text/code-block.tsx';
import { duration } from '../text/duration.ts';
import { JsonView, TextBlock } from '../text/json-view.tsx';
import { ResultView } from '../text/result-view.tsx';
import { callState, StatusMark, statusWords } from '../text/status-mark.tsx';
import { Visible } from '../text/visible.tsx';
import { useWords } from '../words/words.ts';

interface ToolCallRowProps {
  readonly sessionId: string;
  readonly runId: string | null;
  readonly call: ChatMessage['toolCalls'][number];
}

/** A call of a message: found by its id, or by the model's call id until it has one. */
export const ToolCallRow = memo(function ToolCallRow({ sessionId, runId, call }: ToolCallRowProps) {
  const words = useWords();
  const { conversations } = useLive();
  const known = useObservable(conversations.all, (all) => {
    const conversation = all.get(sessionId);
    return conversation && callOf(conversation, runId, call);
  });
  // Once its run has ended, a call that was not made never will be.
  const isQueued = useObservable(conversations.all, (all) => {
    const conversation = all.get(sessionId);
    return conversation !== undefined && isAtWork(conversation, runId);
  });
  if (known) return <CallRow call={known} />;
  return (
    <div className="call">
      <div className="call-line">
        <StatusMark status={isQueued ? 'pending' : 'cancelled'} />
        <Visible as="code" className="tool-name" text={call.tool_name} />
        <Visible as="span" className="call-summary" text={callSummary(call.tool_params)} />
        <span className="call-state">{isQueued ? words.call.queued : words.call.notMade}</span>
      </div>
    </div>
  );
});

/** One tool call as it happens: its title, progress, output and the approval it waits for. */
export const CallRow = memo(function CallRow({ call }: { readonly call: ChatCall }) {
  const words = useWords();
  const live = useLive();
  const isCardAbove = useCardsAboveInput();
  const [isOpen, setOpen] = useState(false);
  const { status, isUndone, progress, progressMessage, output, error, executionMs, exitCode } = call;
  const { approvalId, toolId } = call;
  const isRunning = status === 'executing' || status === 'approved';
  const state = callState(status, { isUndone: status === 'completed' && isUndone, exitCode });
  return (
    <div className={`call call-${status}`} data-call={toolId} id={`call-${toolId}`}>
      <div className="call-line">
        <StatusMark status={state} />
        <Visible as="code" className="tool-name" text={call.toolName} />
        <Visible as="span" className="call-summary" text={callSummary(call.params)} />
        <span className="call-state">
          {state === 'undone' ? words.history.undone : statusWords(status, exitCode, words)}
          {executionMs !== null &&
            status === 'completed' &&
            state !== 'undone' &&
            ` · ${duration(executionMs, words)}`}
        </span>
        {!isFinal(status) && status !== 'awaiting_approval' && (
          <Button
            look="quiet small"
            onClick={() =>
              void live.client.cancelExecution({ params: { tool_id: toolId }, body: {} }).catch(() => {})
            }
          >
            {words.call.cancel}
          </Button>
        )}
        <Button look="quiet small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? words.call.hide : words.call.details}
        </Button>
      </div>
      {isRunning && (progress !== null || progressMessage !== null) && (
        <div className="call-progress">
          {progress !== null && (
            <progress max={100} value={progress} aria-label={words.call.status.executing} />
          )}
          {progressMessage !== null && (
            <Visible as="span" className="muted" text={words.said(progressMessage)} />
          )}
        </div>
      )}
      {output !== '' && !isOpen && isRunning && (
        <CodeBlock className="live-output">
          <Visible text={lastLines(output)} />
        </CodeBlock>
      )}
      {error && status !== 'rejected' && (
        <Visible as="p" className="call-error" text={words.said(error.message)} />
      )}
      {approvalId !== null && <ConnectedCard approvalId={approvalId} whenSettled={isCardAbove} />}
      {isOpen && (
        <>
          <CallDetails call={call} />
          {isFinal(status) && <RunAgain toolId={toolId} />}
          <p>
            <a href={links.call(toolId)}>{words.call.openDetail}</a>
          </p>
        </>
      )}
    </div>
  );
});

const lastLines = (text: string): string => text.replace(/\n$/, '').split('\n').slice(-12).join('\n');

/** Parameters and result of one call. Fetches what the page does not have when the person opens it. */
function CallDetails({ call }: { readonly call: ChatCall }) {
  const words = useWords();
  const isMissing = call.result === undefined && isFinal(call.status);
  const fetched = useExecution(isMissing ? call.toolId : null);
  const result = call.result ?? fetched.data?.result;
  return (
    <div className="call-details">
      <p className="label">{words.call.parameters}</p>
      <JsonView value={fetched.data?.execution.tool_params ?? call.params} />
      {call.output !== '' && result === undefined && (
        <>
          <p className="label">{words.call.output}</p>
          <TextBlock text={call.output} />
        </>
      )}
      {isMissing && fetched.isPending && <p className="muted">{words.states.loading}</p>}
      {result !== undefined && result !== null && <ResultView result={result} />}
    </div>
  );
}
