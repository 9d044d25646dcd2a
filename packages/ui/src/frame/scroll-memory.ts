import { createContext, type RefObject, useLayoutEffect } from 'react';

/** The index of the topmost visible item of a conversation, and how many of its pixels are above the view. */
export interface ReadingPlace {
  readonly item: number;
  readonly hidden: number;
}

/** The last scroll position of each screen and conversation. */
export interface ScrollMemory {
  /** Pixels from the top, by the name of the screen. */
  readonly screens: Map<string, number>;
  /** By session id. Without an entry, a conversation opens at its end. */
  readonly conversations: Map<string, ReadingPlace>;
}

export const newScrollMemory = (): ScrollMemory => ({ screens: new Map(), conversations: new Map() });

/** Undefined outside of `AppFrame`: then no position is remembered. */
export const ScrollMemoryContext = createContext<ScrollMemory | undefined>(undefined);

/**
 * Gives each screen its own scroll position in a box that they share: a new screen starts at the top, a known one where
 * it was left.
 */
export function useScrollMemory(
  box: RefObject<HTMLElement | null>,
  place: string,
  { screens }: ScrollMemory,
): void {
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    let wanted = screens.get(place) ?? 0;
    let reached = 0;
    const restore = () => {
      element.scrollTop = wanted;
      reached = element.scrollTop; // less than wanted while the content is too short
    };
    const scrolled = () => {
      if (element.scrollTop === reached) return; // `restore` scrolled, not the person
      wanted = element.scrollTop;
      reached = wanted;
      screens.set(place, wanted);
    };
    restore();
    element.addEventListener('scroll', scrolled, { passive: true });
    // Restore later only while the content is loading: otherwise, content would move under the pointer (UI-6).
    const observer = new MutationObserver(() => {
      if (reached < wanted) restore();
      if (reached >= wanted || !isLoading(element)) observer.disconnect();
    });
    if (reached < wanted && isLoading(element)) observer.observe(element, { childList: true, subtree: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', scrolled);
    };
  }, [box, place, screens]);
}

const isLoading = (box: HTMLElement): boolean => box.querySelector('[data-loading]') !== null;
