/** `Y`, with Shift, approves all calls of the step. */
export type CardKey = 'y' | 'Y' | 'n' | 'a' | 'e';

const byPlace: Readonly<Record<string, CardKey>> = { KeyY: 'y', KeyN: 'n', KeyA: 'a', KeyE: 'e' };
const cardKeys: readonly string[] = ['y', 'n', 'a', 'e'];

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

/** What each card does with a key that was pressed outside it. */
const listeners = new WeakMap<HTMLElement, (key: CardKey) => void>();

/** Gives a key to the current card, as if it had the focus. Returns whether a card waits. */
export function pressOnCurrentCard(key: CardKey): boolean {
  const card = currentCard();
  // Called within the key's own event, so that a form that opens has the focus before the next key.
  if (card) listeners.get(card)?.(key);
  return card !== undefined;
}

/** Calls `act` with keys that were pressed outside the card. Returns a function that stops it. */
export function onCardKey(card: HTMLElement, act: (key: CardKey) => void): () => void {
  listeners.set(card, act);
  return () => void listeners.delete(card);
}
