import { useEffect } from 'react';
import { useCardsAboveInput, WaitingCards } from '../approvals/connected-card.tsx';
import { EmptyState, ErrorState, LoadingState } from '../frame/states.tsx';
import { useLive } from '../live/live-context.ts';
import { useObservable } from '../live/observable.ts';
import { useModel, useTools } from '../queries/workspace.ts';
import { RunnerBanner } from '../runners/runner-banner.tsx';
import { useWords } from '../words/words.ts';
import { Composer } from './composer.tsx';
import { ModelChip } from './model-chip.tsx';
import { Transcript } from './transcript.tsx';
import { useComposerKey, useSending } from './use-sending.ts';

interface ChatScreenProps {
  readonly projectId: string;
  /** Null for a new conversation, which the first message creates. */
  readonly sessionId: string | null;
  readonly toolId: string | null;
  readonly firstMessage: string | null;
  /** Replaces the advice to run a command, where a runner is started differently. */
  readonly runnerAdvice?: React.ReactNode;
  onSession(sessionId: string): void;
}

/** One conversation: what was said and done, and the place to write. */
export function ChatScreen(props: ChatScreenProps) {
  const { projectId, sessionId, toolId, firstMessage, runnerAdvice, onSession } = props;
  const { chat } = useWords();
  const { conversations, connection } = useLive();
  const conversation = useObservable(conversations.all, (all) =>
    sessionId === null ? undefined : all.get(sessionId),
  );
  const isOffline = useObservable(connection, ({ status }) => status !== 'open');
  const tools = useTools(projectId);
  const model = useModel();
  const isManual = model.data?.model === 'manual' || (model.data?.problem ?? null) !== null;
  const areCardsAbove = useCardsAboveInput();
  const composer = useComposerKey(sessionId);
  const sending = useSending({
    projectId,
    sessionId,
    conversation,
    model: model.data,
    onSession: (begun) => {
      composer.begins(begun);
      onSession(begun);
    },
  });

  useEffect(() => {
    if (sessionId !== null) void conversations.open({ projectId, sessionId });
  }, [conversations, projectId, sessionId]);

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
        <Transcript
          key={`transcript ${sessionId}`}
          conversation={conversation}
          sessionId={sessionId}
          toolId={toolId}
          sent={sending.sent}
        />
      )}
      {areCardsAbove && sessionId !== null && <WaitingCards sessionId={sessionId} />}
      <Composer
        key={composer.key}
        tools={tools.data ?? []}
        placeholder={isManual ? chat.placeholderManual : chat.placeholder}
        isSending={sending.isSending}
        isBlocked={isOffline || (model.isSuccess && model.data.model === null)}
        problem={sending.problem}
        onStop={sending.stop}
        isStopping={sending.isStopping}
        onSend={sending.send}
        footer={<ModelChip model={model.data} />}
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

/** A conversation that has not begun. */
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
