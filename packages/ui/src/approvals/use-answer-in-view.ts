import { type RefObject, useEffect } from 'react';

/** Why a press of a button counted for nothing may stand beyond the edge of what is in sight: it is brought into view. */
export function useAnswerInView(card: RefObject<HTMLElement | null>, place: string, answer: unknown): void {
  useEffect(() => {
    if (answer !== null) card.current?.querySelector(place)?.scrollIntoView({ block: 'nearest' });
  }, [card, place, answer]);
}
