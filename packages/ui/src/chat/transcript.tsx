import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import type { ChatCall, ChatMessage, Conversation } from '../live/conversation.ts';
import { useWords } from '../words/words.ts';
import { CallRow } from './call-row.tsx';
import { MessageRow } from './message-row.tsx';
import { TranscriptSections } from './transcript-sections.tsx';
import { endOf, useFollowing } from './use-following.ts';
import { useReadingPlace, useStoredPlace } from './use-reading-place.ts';

interface TranscriptProps {
  readonly conversation: Conversation;
  readonly sessionId: string;
  /** A call to scroll to, after the person came from its approval. */
  readonly toolId: string | null;
  /** Number of messages sent. When it changes, the transcript scrolls to its end. */
  readonly sent: number;
}

/** Distance from the end, in pixels, that still counts as being at the end. */
const nearEnd = 80;

/** The messages and calls of a conversation. Scrolls with new content only while the person is at the end. */
export const Transcript = memo(function Transcript({
  conversation,
  sessionId,
  toolId,
  sent,
}: TranscriptProps) {
  const { chat } = useWords();
  const { order, messages, calls, agent } = conversation;
  const items = useMemo(() => transcriptItems({ order, messages, calls }), [order, messages, calls]);
  const box = useRef<HTMLElement>(null);
  const storedPlace = useStoredPlace(sessionId);
  const startPlace = toolId === null ? storedPlace : undefined;
  const isFollowing = useRef(startPlace === undefined);
  const lastTop = useRef(0);
  const lastSent = useRef(sent);
  const [isAway, setAway] = useState(startPlace !== undefined);

  useFollowing(box, isFollowing);
  useReadingPlace(box, isFollowing, sessionId, startPlace);
  useEffect(() => {
    if (toolId === null) return;
    const row = document.getElementById(`call-${toolId}`);
    if (!row) return;
    isFollowing.current = false;
    row.scrollIntoView({ block: 'center' });
  }, [toolId]);

  const follow = useCallback((to: (box: HTMLElement) => number) => {
    isFollowing.current = true;
    setAway(false);
    if (box.current) box.current.scrollTop = to(box.current);
  }, []);
  const toEnd = useCallback(() => follow(({ scrollHeight }) => scrollHeight), [follow]);
  useEffect(() => {
    if (lastSent.current !== sent) follow(endOf);
    lastSent.current = sent;
  }, [sent, follow]);
  return (
    <section
      ref={box}
      className="transcript"
      aria-label={chat.transcript}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      onScroll={({ currentTarget }) => {
        const { scrollHeight, scrollTop, clientHeight } = currentTarget;
        const isNear = scrollHeight - scrollTop - clientHeight < nearEnd;
        // If the person did not scroll up, the content grew before this event: keep following.
        if (isNear || scrollTop < lastTop.current) isFollowing.current = isNear;
        lastTop.current = scrollTop;
        setAway(!isFollowing.current);
      }}
    >
      <div className="transcript-column">
        <TranscriptSections
          sessionId={sessionId}
          items={items}
          messageOf={(item) => (item.kind === 'message' ? item.message : undefined)}
          row={(item) =>
            item.kind === 'message' ? (
              <MessageRow
                key={item.message.id}
                message={item.message}
                sessionId={sessionId}
                isContinued={item.isContinued}
                isPlain={item.isPlain}
              />
            ) : (
              <CallRow key={item.call.toolId} call={item.call} />
            )
          }
        />
        <p className="agent-state" role="status">
          {agent === 'thinking' && (
            <>
              <span className="spinner" aria-hidden="true" /> {chat.thinking}
            </>
          )}
          {agent === 'tool_execution' && (
            <>
              <span className="spinner" aria-hidden="true" /> {chat.executing}
            </>
          )}
          {agent === 'awaiting_approval' && chat.awaiting}
        </p>
      </div>
      {isAway && (
        <Button look="to-end" title={chat.newer} onClick={toEnd}>
          <span aria-hidden="true">↓</span>
          <span className="visually-hidden">{chat.newer}</span>
        </Button>
      )}
    </section>
  );
});

type TranscriptItem =
  | {
      readonly kind: 'message';
      readonly message: ChatMessage;
      readonly isContinued: boolean;
      readonly isPlain: boolean;
    }
  /** A call without a message: from an outside agent, or from the person through the API. */
  | { readonly kind: 'call'; readonly call: ChatCall };

/** The rows of the transcript, in order. Tool messages have no row, because their calls are shown. */
function transcriptItems({
  order,
  messages,
  calls,
}: Pick<Conversation, 'order' | 'messages' | 'calls'>): readonly TranscriptItem[] {
  const items: TranscriptItem[] = [];
  const alone = [...calls.values()].filter(({ runId }) => runId === null).sort(byTime);
  for (const id of order) {
    const message = messages.get(id);
    if (!message || message.role === 'tool') continue;
    while (alone[0] && alone[0].createdAt < message.createdAt) {
      items.push({ kind: 'call', call: alone.shift() as ChatCall });
    }
    const above = items.at(-1);
    const isContinued =
      message.role === 'assistant' && above?.kind === 'message' && above.message.role === 'assistant';
    // The manual model quotes files and output verbatim; rendering them as Markdown would mangle them.
    items.push({ kind: 'message', message, isContinued, isPlain: message.model === 'manual' });
  }
  for (const call of alone) items.push({ kind: 'call', call });
  return items;
}

const byTime = (a: ChatCall, b: ChatCall): number => (a.createdAt < b.createdAt ? -1 : 1);
