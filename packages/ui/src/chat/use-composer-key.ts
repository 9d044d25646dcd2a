import { useState } from 'react';

/**
 * Which composer is shown: each conversation has one of its own, so that a draft is not sent elsewhere. The one in which
 * a conversation was begun goes on as its composer, with the focus and with what was typed meanwhile.
 */
export function useComposerKey(sessionId: string | null) {
  const [place, setPlace] = useState<Place>({ sessionId, key: 0, begun: null });
  if (place.sessionId !== sessionId) {
    const goesOn = place.sessionId === null && place.begun === sessionId;
    setPlace({ sessionId, key: goesOn ? place.key : place.key + 1, begun: null });
  }
  return {
    key: `composer ${place.key}`,
    /** The conversation that the message in this composer has begun. */
    begins: (begun: string) => setPlace((known) => ({ ...known, begun })),
  };
}

interface Place {
  readonly sessionId: string | null;
  readonly key: number;
  readonly begun: string | null;
}
