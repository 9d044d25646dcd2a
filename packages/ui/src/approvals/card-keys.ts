/** `Y`, with Shift, approves all calls of the step. */
export type CardKey = 'y' | 'Y' | 'n' | 'a' | 'e' | 't';

const byPlace: Readonly<Record<string, CardKey>> = { KeyY: 'y', KeyN: 'n', KeyA: 'a', KeyE: 'e', KeyT: 't' };
const cardKeys: readonly string[] = ['y', 'n', 'a', 'e', 't'];

/**
 * The card's key that was pressed. Undefined while the person types, with a modifier, and for a key that is held. On a
 * keyboard of another script, the key's position counts.
 */
export function cardKey(event: KeyboardEvent): CardKey | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target))
    return undefined;
  const letter = event.key.toLowerCase();
  const isLatin = /^[a-z]$/.test(letter) || letter.length > 1;
  const key = cardKeys.includes(letter) ? (letter as CardKey) : isLatin ? undefined : byPlace[event.code];
  return key === 'y' && event.shiftKey ? 'Y' : key;
}

/** Presses the button that approves all calls of the card's step, if there are several. */
export function approveGroupOf(card: HTMLElement | null): void {
  card?.closest('[data-step-group]')?.querySelector<HTMLElement>('[data-approve-all]')?.click();
}

/** Whether the focus is in a field that takes keys. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

/** The cards that wait for a decision, in the order of the page. */
export const waitingCards = (): readonly HTMLElement[] => [
  ...document.querySelectorAll<HTMLElement>('[data-approval][data-waiting]'),
];

/** The card that keys decide: the one with the focus, else the first that waits. */
export function currentCard(): HTMLElement | undefined {
  const cards = waitingCards();
  return cards.find((card) => card.contains(document.activeElement)) ?? cards[0];
}

/** Moves the focus to a card and shows it. */
export function goToCard(card: HTMLElement | undefined): void {
  card?.focus({ preventScroll: true });
  card?.scrollIntoView({ block: 'nearest' });
}

interface CardListener {
  /** Called with a key that was pressed outside the card. */
  act(key: CardKey): void;
  /** Called when keys decide this card from now on, because the one before it is gone. */
  tookOver(): void;
}

const listeners = new WeakMap<HTMLElement, CardListener>();
let lastCurrent: HTMLElement | undefined;

/**
 * Marks the card that keys decide with `data-current`. A card that takes over from one that is decided or gone is told: a
 * key that was meant for the other one must not decide it (UI-6).
 */
export function markCurrentCard(): void {
  const current = currentCard();
  for (const card of document.querySelectorAll('[data-current]'))
    if (card !== current) card.removeAttribute('data-current');
  if (current && !current.hasAttribute('data-current')) {
    current.setAttribute('data-current', '');
    if (lastCurrent && !waitingCards().includes(lastCurrent)) listeners.get(current)?.tookOver();
  }
  lastCurrent = current;
}

const watchers = new Set<() => void>();

/** Calls `watcher` when a card came or went. Returns a function that stops it. */
export function watchCards(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

/** Call this when a card was added or removed. */
export function cardsChanged(): void {
  for (const watcher of watchers) watcher();
}

/** Gives a key to the current card, as if it had the focus. Returns whether a card waits. */
export function pressOnCurrentCard(key: CardKey): boolean {
  markCurrentCard();
  const card = currentCard();
  // Called within the key's own event, so that a form that opens has the focus before the next key.
  if (card) listeners.get(card)?.act(key);
  return card !== undefined;
}

/** Moves the focus on to a card, because the one that had it is decided and gone. */
export function goOnToCard(card: HTMLElement): void {
  listeners.get(card)?.tookOver();
  goToCard(card);
}

/** Registers what a card does. Returns a function that stops it. */
export function onCardKey(card: HTMLElement, listener: CardListener): () => void {
  listeners.set(card, listener);
  return () => void listeners.delete(card);
}

/** Whether a dialog is open: keys are for it then. */
export const isDialogOpen = (): boolean => document.querySelector('dialog[open]') !== null;
