import { useEffect } from 'react';
import { useLive } from '../live/live-context.ts';
import { markCurrentCard, watchCards } from './card-keys.ts';

/** Marks the card that keys decide with `data-current`, as cards come and go and the focus moves. */
export function useCurrentCardMark(): void {
  const { approvals } = useLive();
  useEffect(() => {
    let frame = 0;
    const markSoon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(markCurrentCard);
    };
    markSoon();
    // A card may be drawn long after its approval is known.
    const forget = [approvals.entries.subscribe(markSoon), watchCards(markSoon)];
    document.addEventListener('focusin', markSoon);
    document.addEventListener('focusout', markSoon);
    return () => {
      cancelAnimationFrame(frame);
      for (const stop of forget) stop();
      document.removeEventListener('focusin', markSoon);
      document.removeEventListener('focusout', markSoon);
    };
  }, [approvals]);
}
