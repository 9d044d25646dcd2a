export type CardKey = 'y' | 'n' | 'a' | 'e';

const byPlace: Readonly<Record<string, CardKey>> = { KeyY: 'y', KeyN: 'n', KeyA: 'a', KeyE: 'e' };
const cardKeys: readonly string[] = ['y', 'n', 'a', 'e'];

/**
 * Which of the card's keys was pressed. None while the person types, none with a modifier, none that repeats because
 * it is held. On a keyboard of another script the place of the key counts.
 */
export function cardKey(event: KeyboardEvent): CardKey | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target))
    return undefined;
  const key = event.key.toLowerCase();
  if (cardKeys.includes(key)) return key as CardKey;
  return /^[a-z]$/.test(key) || key.length > 1 ? undefined : byPlace[event.code];
}

/** Whether keys go into a field. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

const missedKey = 'countersign-missed-key';

/** A key of a card that no card got: the first one that waits is told, and says where keys go. Nothing is decided. */
export function tellMissedKey(event: KeyboardEvent): void {
  const isOnCard = event.target instanceof Element && event.target.closest('[data-approval][data-waiting]');
  if (event.defaultPrevented || isOnCard || cardKey(event) === undefined) return;
  document.querySelector('[data-approval][data-waiting]')?.dispatchEvent(new Event(missedKey));
}

export function onMissedKey(card: HTMLElement, heard: () => void): () => void {
  card.addEventListener(missedKey, heard);
  return () => card.removeEventListener(missedKey, heard);
}
