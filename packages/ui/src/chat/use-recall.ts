import { useState } from 'react';
import type { Conversation } from '../live/conversation.ts';

/** The person's messages of a conversation, newest first, each text once. */
export function earlierMessages(conversation: Conversation | undefined): readonly string[] {
  if (!conversation) return [];
  const texts = conversation.order.flatMap((id) => {
    const message = conversation.messages.get(id);
    return message?.role === 'user' ? [message.text] : [];
  });
  return [...new Set(texts.reverse())];
}

/** Brings earlier messages back into the empty field, as a shell does. */
export function useRecall(readEarlier: () => readonly string[]) {
  const [place, setPlace] = useState(-1);
  return {
    /** The text that an arrow key brings; undefined if the key only moves the caret. */
    textFor(key: string, text: string, caret: number): string | undefined {
      const earlier = readEarlier();
      const isUntouched = text === '' || (place >= 0 && text === earlier[place]);
      if (!isUntouched) return undefined;
      const start = text === '' ? -1 : place;
      // Inside a message of several lines, arrows move the caret until they reach its edge.
      const isEdge =
        key === 'ArrowUp' ? !text.slice(0, caret).includes('\n') : !text.slice(caret).includes('\n');
      const next = start + (key === 'ArrowUp' ? 1 : key === 'ArrowDown' ? -1 : 0);
      if (!isEdge || next === start || next < -1 || next >= earlier.length) return undefined;
      setPlace(next);
      return next < 0 ? '' : earlier[next];
    },
  };
}
