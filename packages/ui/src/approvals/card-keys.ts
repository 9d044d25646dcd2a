export type CardKey = 'y' | 'n' | 'a' | 'e';

const byPlace: Readonly<Record<string, CardKey>> = { KeyY: 'y', KeyN: 'n', KeyA: 'a', KeyE: 'e' };
const cardKeys: readonly string[] = ['y', 'n', 'a', 'e'];

/**
 * The card's key that was pressed. Undefined while the person types, with a modifier, and for a key that is held. On a
 * keyboard of another script, the key's position counts.
 */
export function cardKey(event: KeyboardEvent): CardKey | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target))
    return undefined;
  const key = event.key.toLowerCase();
  if (cardKeys.includes(key)) return key as CardKey;
  return /^[a-z]$/.test(key) || key.length > 1 ? undefined : byPlace[event.code];
}

/** Whether the focus is in a field that takes keys. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

const missedKey = 'countersign-missed-key';

/**
 * Tells the first waiting card that one of its keys was pressed while no card had the focus. The card says where keys
 * go; nothing is decided.
 */
export function tellMissedKey(event: KeyboardEvent): void {
  const isOnCard = event.target instanceof Element && event.target.closest('[data-approval][data-waiting]');
  if (event.defaultPrevented || isOnCard || cardKey(event) === undefined) return;
  document.querySelector('[data-approval][data-waiting]')?.dispatchEvent(new Event(missedKey));
}

export function onMissedKey(card: HTMLElement, heard: () => void): () => void {
  card.addEventListener(missedKey, heard);
  return () => card.removeEventListener(missedKey, heard);
}
