import type { Attention } from '@countersign/approvals';
import { type RefObject, useEffect, useRef } from 'react';

const lookEveryMs = 100;

/**
 * Tells `attention` whether a card is wholly in sight, where it was a moment ago (UI-6). Scrolling, sliding because
 * something else grew, and coming back to the page start the half second again. Returns a function that looks once more,
 * for an action that comes right after the card moved. `onSeen` is called while the card counts as looked at.
 */
export function useSight(
  card: RefObject<HTMLElement | null>,
  attention: Attention,
  onSeen: () => void = () => {},
): () => void {
  const lookNow = useRef(() => {});
  const seen = useRef(onSeen);
  seen.current = onSeen;
  useEffect(() => {
    const element = card.current;
    if (!element) return;
    const scroller = scrollerOf(element);
    let last: string | null = null;
    const compare = () => {
      const place = document.hidden ? null : placeInSight(element, scroller);
      if (place !== last) attention.setInSight(false);
      if (place !== null) attention.setInSight(true);
      last = place;
      if (attention.isGiven) seen.current();
    };
    const restart = () => attention.restart();
    compare();
    const looking = setInterval(compare, lookEveryMs);
    lookNow.current = compare;
    document.addEventListener('visibilitychange', restart);
    return () => {
      clearInterval(looking);
      lookNow.current = () => {};
      document.removeEventListener('visibilitychange', restart);
    };
  }, [card, attention]);
  return () => lookNow.current();
}

/** How much of the view a card must fill if it is taller than the view. */
const tallShare = 0.75;

/**
 * Where the heading and the buttons of a card are; null unless the whole card is in sight. A card that is taller than the
 * view counts while it fills most of it: its heading and buttons stay in sight then (card.css).
 */
function placeInSight(card: HTMLElement, scroller: Element | null): string | null {
  const view = viewOf(scroller);
  const whole = card.getBoundingClientRect();
  const padding = Number.parseFloat(getComputedStyle(card).paddingBottom) || 0;
  const shown = Math.min(whole.bottom - padding, view.bottom) - Math.max(whole.top, view.top);
  const enough =
    whole.height > view.bottom - view.top ? tallShare * (view.bottom - view.top) : whole.height - padding - 1;
  if (whole.height === 0 || shown < enough) return null;
  const head = card.querySelector('.card-head')?.getBoundingClientRect();
  const buttons = card.querySelector('.decision, .card-step')?.getBoundingClientRect();
  return [head?.top, head?.left, buttons?.top].map((edge) => Math.round(edge ?? 0)).join(' ');
}

/** The visible part of the window, or of the region that scrolls. */
function viewOf(scroller: Element | null): { readonly top: number; readonly bottom: number } {
  const { top, bottom } = scroller?.getBoundingClientRect() ?? { top: 0, bottom: window.innerHeight };
  return { top: Math.max(0, top), bottom: Math.min(window.innerHeight, bottom) };
}

function scrollerOf(element: Element): Element | null {
  for (let parent = element.parentElement; parent; parent = parent.parentElement)
    if (/auto|scroll/.test(getComputedStyle(parent).overflowY)) return parent;
  return null;
}
