import type { Attention } from '@countersign/approvals';
import type { Clock } from '@countersign/client';
import { type RefObject, useEffect, useRef } from 'react';

const lookEveryMs = 100;

/**
 * For fingers, which rest on nothing (UI-6): tells since when the end of a card, where its buttons are, has been in
 * sight without moving. What scrolls, or slides because something else grew, begins anew. Only where there is no hover.
 * Answers how to look once more: for the tap itself, which may come right after the card has moved.
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
