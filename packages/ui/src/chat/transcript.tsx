import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../frame/button.tsx';
import type { ChatCall, ChatMessage, Conversation } from '../live/conversation.ts';
import { useWords } from '../words/words.ts';
import { MessageRow } from './message-row.tsx';
import { CallRow } from './tool-call-row.tsx';
import { useFollowing } from './use-following.ts';
import { useLeftPlace, useReadingPlace } from './use-reading-place.ts';

interface TranscriptProps {
  readonly conversation: Conversation;
  readonly sessionId: string;
  /** A call to show: the person came from its approval. */
  readonly toolId: string | null;
  /** How often the person has sent something: after sending, scroll to the end. */
  readonly sent: number;
}

/** Pixels from the end that still count as being there. */
const nearEnd = 80;

/** The conversation. It follows what is new while the person is at its end, and leaves them alone otherwise. */
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
  const leftPlace = useLeftPlace(sessionId);
  const left = toolId === null ? leftPlace : undefined;
  const isFollowing = useRef(left === undefined);
  const lastTop = useRef(0);
  const lastSent = useRef(sent);
  const [isAway, setAway] = useState(left !== undefined);

  useFollowing(box, isFollowing);
  useReadingPlace(box, isFollowing, sessionId, left);
  useEffect(() => {
    if (toolId === null) return;
    const row = document.getElementById(`call-${toolId}`);
    if (!row) return;
    isFollowing.current = false;
    row.scrollIntoView({ block: 'center' });
  }, [toolId]);

  const toEnd = useCallback(() => {
    isFollowing.current = true;
    setAway(false);
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, []);
  useEffect(() => {
    if (lastSent.current !== sent) toEnd();
    lastSent.current = sent;
  }, [sent, toEnd]);
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
        // Away from the end without having scrolled up: the content grew before this event came.
        if (isNear || scrollTop < lastTop.current) isFollowing.current = isNear;
        lastTop.current = scrollTop;
        setAway(!isFollowing.current);
      }}
    >
      <div className="transcript-column">
        {items.map((item) =>
          item.kind === 'message' ? (
            <MessageRow
              key={item.message.id}
              message={item.message}
              sessionId={sessionId}
              isPlain={item.isPlain}
            />
          ) : (
            <CallRow key={item.call.toolId} call={item.call} />
          ),
        )}
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
  | { readonly kind: 'message'; readonly message: ChatMessage; readonly isPlain: boolean }
  /** A call without a message: from an outside agent, or from the person through the API. */
  | { readonly kind: 'call'; readonly call: ChatCall };

/** What the transcript shows, in order. Tool messages are not shown: their calls are. */
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
    // The manual model quotes files and output verbatim; rendering them as Markdown would mangle them.
    items.push({ kind: 'message', message, isPlain: message.model === 'manual' });
  }
  for (const call of alone) items.push({ kind: 'call', call });
  return items;
}

const byTime = (a: ChatCall, b: ChatCall): number => (a.createdAt < b.createdAt ? -1 : 1);
