import { createContext, type RefObject, useLayoutEffect } from 'react';

/** The index of the item at the top of a conversation, and how far it is scrolled away. */
export interface ReadingPlace {
  readonly item: number;
  readonly hidden: number;
}

/** The last scroll position of each screen and conversation. */
export interface ScrollMemory {
  /** How far down, by the name of the screen. */
  readonly screens: Map<string, number>;
  /** By session id. Without an entry, a conversation opens at its end. */
  readonly conversations: Map<string, ReadingPlace>;
}

export const newScrollMemory = (): ScrollMemory => ({ screens: new Map(), conversations: new Map() });

/** Undefined without a frame: then no position is remembered. */
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
      if (element.scrollTop === reached) return; // by `restore`
      wanted = element.scrollTop;
      reached = wanted;
      screens.set(place, wanted);
    };
    restore();
    element.addEventListener('scroll', scrolled, { passive: true });
    // Restore later only while the content is still loading: nothing else may move under the pointer (UI-6).
    const reading = new MutationObserver(() => {
      if (reached < wanted) restore();
      if (reached >= wanted || !isLoading(element)) reading.disconnect();
    });
    if (reached < wanted && isLoading(element)) reading.observe(element, { childList: true, subtree: true });
    return () => {
      reading.disconnect();
      element.removeEventListener('scroll', scrolled);
    };
  }, [box, place, screens]);
}

const isLoading = (box: HTMLElement): boolean => box.querySelector('[data-loading]') !== null;
