import { pendingOf } from '@countersign/approvals';
import { useEffect, useState } from 'react';
import { EmptyState, ErrorState, LoadingState } from '../frame/states.tsx';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useModel, useTools } from '../queries/workspace.ts';
import { RunnerBanner } from '../runners/runner-banner.tsx';
import { useWords } from '../words/words.ts';
import { Composer } from './composer.tsx';
import { MessageActionsProvider } from './message-actions.tsx';
import { ModeMeaning, ModeSwitch } from './mode-switch.tsx';
import { ModelChip } from './model-chip.tsx';
import { QueuedMessages } from './queued-messages.tsx';
import { Transcript } from './transcript.tsx';
import { useMode } from './use-mode.ts';
import { earlierMessages } from './use-recall.ts';
import { useComposerKey, useSending } from './use-sending.ts';

interface ChatScreenProps {
  readonly projectId: string;
  /** Null for a new conversation, which the first message creates. */
  readonly sessionId: string | null;
  readonly toolId: string | null;
  readonly firstMessage: string | null;
  /** Replaces the advice to run a command, where a runner is started differently. */
  readonly runnerAdvice?: React.ReactNode;
  /** Put the focus into the message field of each conversation that is opened, unless a card waits in it. */
  readonly focusesComposer?: boolean;
  /** Opens a conversation; null for a new one. */
  onSession(sessionId: string | null): void;
}

/** One conversation: its transcript and the message field. */
export function ChatScreen(props: ChatScreenProps) {
  const { projectId, sessionId, toolId, firstMessage, runnerAdvice, onSession } = props;
  const { focusesComposer = false } = props;
  const { chat } = useWords();
  const { approvals, conversations, connection } = useLive();
  const conversation = useObservable(conversations.all, (all) =>
    sessionId === null ? undefined : all.get(sessionId),
  );
  const isOffline = useObservable(connection, ({ status }) => status !== 'open');
  const tools = useTools(projectId);
  const model = useModel();
  const isManual = model.data?.model === 'manual' || (model.data?.problem ?? null) !== null;
  // Keys decide a waiting card at once, unless they go to the message field.
  const isWaiting = useObservable(approvals.entries, (entries) =>
    pendingOf(entries).some(({ approval }) => approval.session_id === sessionId),
  );
  const composer = useComposerKey(sessionId);
  const mode = useMode(projectId, sessionId);
  const sending = useSending({
    projectId,
    sessionId,
    conversation,
    model: model.data,
    beforeMessage: mode.settle,
    onSession: (begun) => {
      composer.started(begun);
      onSession(begun);
    },
  });

  useEffect(() => {
    if (sessionId !== null) void conversations.open({ projectId, sessionId });
  }, [conversations, projectId, sessionId]);

  /** A text for the field of a conversation that is about to be opened. */
  const [draft, setDraft] = useState<{ readonly sessionId: string | null; readonly text: string } | null>(
    null,
  );
  const { suggest } = sending;
  useEffect(() => {
    if (draft?.sessionId !== sessionId) return;
    suggest(draft.text);
    setDraft(null);
  }, [draft, sessionId, suggest]);

  return (
    <section className="chat" aria-labelledby="chat-title">
      <h1 id="chat-title" className="visually-hidden">
        {chat.title}
      </h1>
      <RunnerBanner projectId={projectId} advice={runnerAdvice} />
      {sessionId === null || (conversation?.status === 'ready' && conversation.order.length === 0) ? (
        <ChatStart isManual={isManual} firstMessage={firstMessage} onSuggest={sending.suggest} />
      ) : !conversation || conversation.status === 'loading' ? (
        <LoadingState />
      ) : conversation.status === 'failed' ? (
        <ErrorState
          error={conversation.problem}
          onRetry={() => void conversations.reload({ projectId, sessionId })}
        />
      ) : (
        <MessageActionsProvider
          sessionId={sessionId}
          conversation={conversation}
          resend={sending.resend}
          suggest={sending.suggest}
          openWith={(other, text) => {
            setDraft({ sessionId: other, text });
            onSession(other);
          }}
        >
          <Transcript
            key={`transcript ${sessionId}`}
            conversation={conversation}
            sessionId={sessionId}
            toolId={toolId}
            sent={sending.sent}
          />
        </MessageActionsProvider>
      )}
      {sessionId !== null && (
        <QueuedMessages
          key={`queue ${sessionId}`}
          projectId={projectId}
          queued={conversation?.queued ?? []}
          onSend={sending.send}
        />
      )}
      <Composer
        key={composer.key}
        draft={`${projectId}/${sessionId ?? 'new'}`}
        isWaiting={isWaiting}
        tools={tools.data ?? []}
        placeholder={isManual ? chat.placeholderManual : chat.placeholder}
        isSending={sending.isSending}
        isBlocked={isOffline || (model.isSuccess && model.data.model === null)}
        problem={sending.problem ?? mode.problem}
        onStop={sending.stop}
        isStopping={sending.isStopping}
        onSend={sending.send}
        earlier={() => earlierMessages(conversation)}
        takesFocus={focusesComposer && toolId === null && !isWaiting}
        note={<ModeMeaning mode={mode.mode} sent={sending.sent} />}
        controls={
          <>
            <ModeSwitch mode={mode.mode} isBlocked={isOffline} onChoose={mode.choose} />
            <ModelChip model={model.data} />
          </>
        }
        suggested={sending.suggested}
      />
    </section>
  );
}

interface ChatStartProps {
  readonly isManual: boolean;
  /** The server's suggestion for the first message. */
  readonly firstMessage: string | null;
  onSuggest(text: string): void;
}

/** Sample calls for any workspace: read, change with an approval, run. */
const typedCalls = [
  '/list_directory path=.',
  '/read_file path=README.md',
  '/write_file path=notes.md content="Hello from Countersign"',
  '/run npm test',
] as const;

/** The screen of a conversation without messages. */
function ChatStart({ isManual, firstMessage, onSuggest }: ChatStartProps) {
  const { chat } = useWords();
  const suggestions = firstMessage !== null ? [firstMessage] : isManual ? typedCalls : [];
  return (
    <div className="chat-start">
      <EmptyState title={chat.emptyTitle} hint={isManual ? chat.emptyManual : chat.empty}>
        {suggestions.length > 0 && (
          <ul className="suggestions" aria-label={chat.suggestions}>
            {suggestions.map((text) => (
              <li key={text}>
                <button type="button" className="suggestion" onClick={() => onSuggest(text)}>
                  <code>{text}</code>
                </button>
              </li>
            ))}
          </ul>
        )}
      </EmptyState>
    </div>
  );
}
