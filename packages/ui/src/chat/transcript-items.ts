import type { ChatCall, ChatMessage, Conversation } from '../live/conversation.ts';

export type TranscriptItem =
  | { readonly kind: 'message'; readonly message: ChatMessage; readonly isPlain: boolean }
  /** A call without a message: from an outside agent, or from the person through the API. */
  | { readonly kind: 'call'; readonly call: ChatCall };

/** What the transcript shows, in order. Tool messages are not shown: their calls are. */
export function transcriptItems({
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
