import type { Attention } from '@countersign/approvals';
import { type RefObject, useEffect } from 'react';

/** How often it is looked where the pointer is: a card that slides under it, or away, tells no event for certain. */
const lookMs = 100;

/**
 * Tells whether the pointer rests on a card, by the browser's own events. React makes its enter and leave of others,
 * which do not come when what lay under the pointer is disabled or gone: a card that slid there would wait for ever.
 * What was not on the screen has not been looked at: coming back to the page begins anew.
 */
export function usePresence(card: RefObject<HTMLElement | null>, attention: Attention): void {
  useEffect(() => {
    const element = card.current;
    if (!element) return;
    const listening = new AbortController();
    const { signal } = listening;
    const on = (name: 'pointerenter' | 'pointerleave' | 'pointerdown', act: () => void) =>
      element.addEventListener(name, act, { signal, capture: name === 'pointerdown' });
    on('pointerenter', () => attention.pointer(true));
    on('pointerleave', () => attention.pointer(false));
    // A focused button that went away took the focus with it, and no event told so.
    on('pointerdown', () => {
      if (!element.contains(document.activeElement)) attention.focus(false);
    });
    document.addEventListener('visibilitychange', () => attention.restart(), { signal });
    let wasThere = false;
    const looking = setInterval(() => {
      const isThere = element.matches(':hover');
      if (isThere !== wasThere) attention.pointer(isThere);
      wasThere = isThere;
    }, lookMs);
    return () => {
      listening.abort();
      clearInterval(looking);
    };
  }, [card, attention]);
}
