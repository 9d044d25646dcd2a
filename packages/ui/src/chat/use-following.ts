import { type RefObject, useLayoutEffect } from 'react';

/** The pending card that has the focus or is under the pointer. */
const lookedAt = (box: HTMLElement): Element | undefined =>
  [...box.querySelectorAll('[data-approval][data-waiting]')].find(
    (card) => card.contains(document.activeElement) || card.matches(':hover'),
  );

/** Space above a card that is scrolled to. */
const margin = 12;

/** Where to scroll: to the end, but not past the first card that waits, unless the conversation goes on below it. */
export function endOf(box: HTMLElement): number {
  const end = box.scrollHeight - box.clientHeight;
  const first = box.querySelector('[data-approval][data-waiting]');
  const last = [...box.querySelectorAll('[data-message]')].at(-1);
  if (!first || (last && first.compareDocumentPosition(last) & Node.DOCUMENT_POSITION_FOLLOWING)) return end;
  const { top } = first.getBoundingClientRect();
  return Math.min(end, box.scrollTop + top - box.getBoundingClientRect().top - margin);
}

/**
 * Keeps the end in view while the content grows, unless the person has scrolled up. The first
 * card that waits at the end stays in view, so that several are read from the first one on. A card that the person looks at
 * does not move, because a card that slides away under the pointer cannot be decided (UI-6). If that card itself grows
 * out of sight, its end is scrolled back into view.
 */
export function useFollowing(box: RefObject<HTMLElement | null>, isFollowing: RefObject<boolean>): void {
  useLayoutEffect(() => {
    const element = box.current;
    const content = element?.firstElementChild;
    if (!element || !content) return;
    let place: { readonly card: Element; readonly top: number } | null = null;
    const note = () => {
      const card = lookedAt(element);
      place = card ? { card, top: card.getBoundingClientRect().top } : null;
    };
    const follow = () => {
      const card = lookedAt(element);
      if (!card) {
        if (isFollowing.current) element.scrollTop = Math.max(element.scrollTop, endOf(element));
      } else {
        const { top, bottom } = card.getBoundingClientRect();
        const moved = place?.card === card ? top - place.top : 0;
        const view = element.getBoundingClientRect();
        // A card that is taller than the view is read from its beginning.
        const hidden = Math.min(bottom - moved - view.bottom, top - moved - view.top - margin);
        element.scrollTop += moved + (isFollowing.current ? Math.max(0, hidden) : 0);
      }
      note();
    };
    follow();
    if (typeof ResizeObserver === 'undefined') return;
    const listening = new AbortController();
    for (const name of ['scroll', 'pointerover', 'focusin'] as const)
      element.addEventListener(name, note, { signal: listening.signal, passive: true });
    const observer = new ResizeObserver(follow);
    observer.observe(content);
    observer.observe(element); // its height changes with a banner above or more lines in the field below
    return () => {
      listening.abort();
      observer.disconnect();
    };
  }, [box, isFollowing]);
}
