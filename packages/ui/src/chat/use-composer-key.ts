import { useState } from 'react';

/**
 * The React key of the composer. Each conversation has its own, so that a draft is not sent elsewhere. A new
 * conversation keeps the composer it was started in, with its focus and text.
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
