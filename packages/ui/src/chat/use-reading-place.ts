import { type RefObject, useContext, useLayoutEffect, useState } from 'react';
import { type ReadingPlace, ScrollMemoryContext } from '../frame/scroll-memory.ts';

/** How often to scroll again: messages get their height when they come into sight, which takes some frames. */
const framesToSettle = 10;
const scrollInputs = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;

/** Where the person was reading when they left this conversation; undefined if it is new or they were at its end. */
export function useStoredPlace(sessionId: string): ReadingPlace | undefined {
  const places = useContext(ScrollMemoryContext)?.conversations;
  const [stored] = useState(() => places?.get(sessionId));
  return stored;
}

/** Scrolls to `start`, unless the person scrolls first. Stores the reading place when the conversation is left. */
export function useReadingPlace(
  box: RefObject<HTMLElement | null>,
  isFollowing: RefObject<boolean>,
  sessionId: string,
  start: ReadingPlace | undefined,
): void {
  const places = useContext(ScrollMemoryContext)?.conversations;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || !places) return;
    const listening = new AbortController();
    const { signal } = listening;
    const settle = (framesLeft: number) => {
      if (!start || isFollowing.current || signal.aborted || framesLeft === 0) return;
      scrollTo(element, start);
      requestAnimationFrame(() => settle(framesLeft - 1));
    };
    for (const name of scrollInputs)
      element.addEventListener(name, () => listening.abort(), { signal, passive: true });
    settle(framesToSettle);
    return () => {
      listening.abort();
      const place = isFollowing.current ? undefined : placeIn(element);
      if (place) places.set(sessionId, place);
      else places.delete(sessionId);
    };
  }, [box, isFollowing, places, sessionId, start]);
}

const itemsOf = (box: HTMLElement): readonly Element[] => [...(box.firstElementChild?.children ?? [])];

function placeIn(box: HTMLElement): ReadingPlace | undefined {
  const { top } = box.getBoundingClientRect();
  const items = itemsOf(box);
  const item = items.findIndex((one) => one.getBoundingClientRect().bottom > top);
  const shown = items[item];
  return shown && { item, hidden: top - shown.getBoundingClientRect().top };
}

function scrollTo(box: HTMLElement, { item, hidden }: ReadingPlace): void {
  const shown = itemsOf(box)[item];
  if (shown) box.scrollTop += shown.getBoundingClientRect().top + hidden - box.getBoundingClientRect().top;
}
