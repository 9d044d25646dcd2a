import type { Attention } from '@countersign/approvals';
import { type RefObject, useEffect, useRef } from 'react';
import { SeenParts } from './seen-parts.ts';

const lookEveryMs = 100;

/** Access to what is in sight of a card. */
interface Sight {
  /** Looks once more, for an action that comes right after the card moved. */
  lookNow(): void;
  /** Scrolls to a part that was not in sight yet. Returns whether such a part of a tall card was missing. */
  showUnseen(): boolean;
}

/**
 * Tells `attention` whether a card is wholly in sight, where it was a moment ago (UI-6). Scrolling, sliding because
 * something else grew, and coming back to the page start the half second again. A card that does not fit into the
 * view counts once each part of it was in sight; `content` names what it shows, and another content is read anew.
 * `onSeen` is called while the card counts as looked at.
 */
export function useSight(
  card: RefObject<HTMLElement | null>,
  attention: Attention,
  content = '',
  onSeen: () => void = () => {},
): Sight {
  const sight = useRef<Sight>(blind);
  const seen = useRef(onSeen);
  seen.current = onSeen;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another content was in no part in sight
  useEffect(() => {
    const element = card.current;
    if (!element) return;
    const scroller = scrollerOf(element);
    const parts = new SeenParts();
    let last: string | null = null;
    const compare = () => {
      const place = document.hidden || isCovered(element) ? null : placeInSight(element, scroller, parts);
      if (place !== last) attention.setInSight(false);
      if (place !== null) attention.setInSight(true);
      last = place;
      if (attention.isGiven) seen.current();
    };
    const restart = () => attention.restart();
    attention.setInSight(false); // what was in sight may have been another content
    compare();
    const looking = setInterval(compare, lookEveryMs);
    sight.current = { lookNow: compare, showUnseen: () => showUnseen(element, scroller, parts) };
    document.addEventListener('visibilitychange', restart);
    return () => {
      clearInterval(looking);
      sight.current = blind;
      document.removeEventListener('visibilitychange', restart);
    };
  }, [card, attention, content]);
  return { lookNow: () => sight.current.lookNow(), showUnseen: () => sight.current.showUnseen() };
}

const blind: Sight = { lookNow: () => {}, showUnseen: () => false };

/**
 * Where the heading and the buttons of a card are; null unless the card is in sight: all of it now, or each part of it
 * before and its heading and buttons now (card.css keeps them there while the card does not fit).
 */
function placeInSight(card: HTMLElement, scroller: Element | null, parts: SeenParts): string | null {
  const view = viewOf(scroller);
  const whole = card.getBoundingClientRect();
  const padding = Number.parseFloat(getComputedStyle(card).paddingBottom) || 0;
  const isIn = ({ top, bottom }: View) => top >= view.top - 1 && bottom <= view.bottom + 1;
  const isSeen = (place: DOMRect | undefined) => place === undefined || isIn(place);
  const body = bodyOf(card, view);
  if (whole.height === 0) return null;
  if (body) {
    const { from, to } = shownPart(body);
    parts.look(from, to, performance.now());
    for (const { top, bottom } of body.unfolded) parts.add(top - body.top, bottom - body.top);
  }
  const head = card.querySelector('.card-head')?.getBoundingClientRect();
  const buttons = buttonsOf(card)?.getBoundingClientRect();
  const isWhole = isIn({ top: whole.top, bottom: whole.bottom - padding });
  const isRead =
    body !== undefined &&
    parts.firstUnseen(body.bottom - body.top, shownPart(body)) === undefined &&
    isSeen(head) &&
    isSeen(buttons);
  if (!isWhole && !isRead) return null;
  return [head?.top, head?.left, buttons?.top].map((edge) => Math.round(edge ?? 0)).join(' ');
}

const buttonsOf = (card: HTMLElement): Element | null => card.querySelector('.decision, .card-step');

interface View {
  readonly top: number;
  readonly bottom: number;
}

interface Body extends View {
  /** Where it is in sight: between the heading and the buttons, which stay above it. */
  readonly shownTop: number;
  readonly shownBottom: number;
  /** Parts that the person unfolded. They need not be read to the end. */
  readonly unfolded: readonly DOMRect[];
}

/** The part that is in sight now, from the top of what there is to read. */
const shownPart = ({ top, shownTop, shownBottom }: Body) => ({ from: shownTop - top, to: shownBottom - top });

/** What there is to read between the heading and the buttons of a card; undefined for a box without a heading. */
function bodyOf(card: HTMLElement, view: View): Body | undefined {
  const head = card.querySelector('.card-head');
  const buttons = buttonsOf(card);
  if (!head) return undefined;
  const texts = [...card.children].filter(
    (child) => child !== head && child !== buttons && !child.matches('.card-hint'),
  );
  const places = texts.map((text) => text.getBoundingClientRect()).filter(({ height }) => height > 0);
  if (places.length === 0) return undefined;
  return {
    top: Math.min(...places.map(({ top }) => top)),
    bottom: Math.max(...places.map(({ bottom }) => bottom)),
    shownTop: Math.max(
      view.top,
      head.getBoundingClientRect().bottom,
      Math.min(...places.map((one) => one.top)),
    ),
    shownBottom: Math.min(
      view.bottom,
      buttons?.getBoundingClientRect().top ?? view.bottom,
      Math.max(...places.map((one) => one.bottom)),
    ),
    unfolded: [...card.querySelectorAll('[data-unfolded], details[open]:not([data-needed])')].map((one) =>
      one.getBoundingClientRect(),
    ),
  };
}

/** Scrolls the first part of a tall card that was not in sight below its heading, or else the card into view. */
function showUnseen(card: HTMLElement, scroller: Element | null, parts: SeenParts): boolean {
  const view = viewOf(scroller);
  const body = bodyOf(card, view);
  const unseen = body && parts.firstUnseen(body.bottom - body.top, shownPart(body));
  if (!body || unseen === undefined || card.getBoundingClientRect().height <= view.bottom - view.top) {
    card.scrollIntoView({ block: 'nearest' });
    return false;
  }
  const page = scroller ?? document.documentElement;
  // Twice: scrolling moves the heading to where it sticks, which may be a little below the edge of the view.
  for (let now: Body | undefined = body, left = 2; now && left > 0; left -= 1) {
    page.scrollTop += now.top + unseen - now.shownTop;
    now = bodyOf(card, view);
  }
  return true;
}

/** Whether something lies over the heading or the buttons of a card, such as a dialog or an open menu. */
function isCovered(card: HTMLElement): boolean {
  if (card.ownerDocument.querySelector('dialog[open]')) return true;
  const marks = [card.querySelector('.card-head'), buttonsOf(card)];
  return marks.some((mark) => {
    if (!mark || typeof document.elementFromPoint !== 'function') return false;
    const { top, bottom, left, right } = mark.getBoundingClientRect();
    const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return above !== null && !card.contains(above) && !above.contains(card);
  });
}

/** The visible part of the window, or of the region that scrolls. */
function viewOf(scroller: Element | null): View {
  const { top, bottom } = scroller?.getBoundingClientRect() ?? { top: 0, bottom: window.innerHeight };
  return { top: Math.max(0, top), bottom: Math.min(window.innerHeight, bottom) };
}

function scrollerOf(element: Element): Element | null {
  for (let parent = element.parentElement; parent; parent = parent.parentElement)
    if (/auto|scroll/.test(getComputedStyle(parent).overflowY)) return parent;
  return null;
}
