import type { Attention } from '@countersign/approvals';
import type { Clock } from '@countersign/client';
import { type RefObject, useEffect, useRef } from 'react';

/** How often to check the pointer: no event is certain when a card slides under it or away from it. */
const lookMs = 100;

/**
 * Tracks whether the pointer rests on a card, by the browser's own events. React derives its enter and leave from
 * others, which do not come when the element under the pointer is disabled or gone: a card that slid there would never
 * count as looked at. Coming back to the page starts the half second again.
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
    // A focused button that was removed took the focus with it without an event.
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

const lookEveryMs = 100;

/**
 * For touch screens, where no pointer rests on a card (UI-6): tracks since when the end of the card, where its buttons
 * are, has been in sight without moving. Scrolling, or sliding because something else grew, starts again. Only where
 * there is no hover. Returns a function that checks once more, for a tap that comes right after the card moved.
 */
export function useSteadyInView(
  card: RefObject<HTMLElement | null>,
  attention: Attention,
  clock: Clock,
): () => void {
  const lookNow = useRef(() => {});
  useEffect(() => {
    const element = card.current;
    if (
      !element ||
      typeof IntersectionObserver === 'undefined' ||
      !window.matchMedia('(hover: none)').matches
    )
      return;
    let cancel = () => {};
    let lastEnd: number | null = null;
    const compare = () => {
      const { bottom } = element.getBoundingClientRect();
      const end = bottom > 0 && bottom <= window.innerHeight + margin(element) ? bottom : null;
      if (end !== lastEnd) attention.view(false);
      if (end !== null) attention.view(true);
      lastEnd = end;
    };
    const look = () => {
      compare();
      cancel = clock.after(lookEveryMs, look);
    };
    const observer = new IntersectionObserver((entries) => {
      cancel();
      lastEnd = null;
      attention.view(false);
      const isInSight = entries.at(-1)?.isIntersecting ?? false;
      lookNow.current = isInSight ? compare : () => {};
      if (isInSight) look();
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      cancel();
      lookNow.current = () => {};
    };
  }, [card, attention, clock]);
  return () => lookNow.current();
}

/** The space below the buttons need not be in sight. */
const margin = (element: HTMLElement): number =>
  Number.parseFloat(getComputedStyle(element).paddingBottom) || 0;
