import { useEffect, useRef } from 'react';
import {
  cardKey,
  currentCard,
  goToCard,
  isDialogOpen,
  isTyping,
  pressOnCurrentCard,
  waitingCards,
} from '../approvals/card-keys.ts';
import { useCurrentCardMark } from '../approvals/current-card-mark.ts';
import { useWords } from '../words/words.ts';
import { Button } from './button.tsx';

interface ShortcutsProps {
  readonly isHelpOpen: boolean;
  onHelp(open: boolean): void;
}

/** Keys that work anywhere outside a field, and the page that explains them all. */
export function Shortcuts({ isHelpOpen, onHelp }: ShortcutsProps) {
  useCurrentCardMark();
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isDialogOpen()) return;
      if (event.key === '?') onHelp(true);
      else if (event.key === '/') focusOn('[data-composer]');
      else if (isKey(event, 'j')) moveBetweenCards(1);
      else if (isKey(event, 'k')) moveBetweenCards(-1);
      else if (!decides(event)) return;
      event.preventDefault();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, [onHelp]);
  return isHelpOpen ? <ShortcutsHelp onClose={() => onHelp(false)} /> : null;
}

/** Matches the letter, or the key's position on a non-Latin keyboard. */
const isKey = ({ key, code }: KeyboardEvent, letter: string): boolean =>
  /^[a-z]$/i.test(key) ? key.toLowerCase() === letter : code === `Key${letter.toUpperCase()}`;

const focusOn = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();

/** Whether the key went to the current card. A card that has the focus has taken it already. */
function decides(event: KeyboardEvent): boolean {
  const key = event.defaultPrevented ? undefined : cardKey(event);
  if (key === undefined) return false;
  // If nothing has the focus, move it to the card, so that it moves on to the next card after the decision. Do not
  // scroll: a card that moves must be looked at anew.
  if (document.activeElement === document.body) currentCard()?.focus({ preventScroll: true });
  return pressOnCurrentCard(key);
}

/** The next or previous card that waits, from the one that has the focus. */
function moveBetweenCards(step: 1 | -1): void {
  const cards = waitingCards();
  const current = cards.findIndex((card) => card.contains(document.activeElement));
  goToCard(cards[current < 0 ? (step > 0 ? 0 : cards.length - 1) : current + step]);
}

function ShortcutsHelp({ onClose }: { onClose(): void }) {
  const { shortcuts, settings, conversation } = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal?.();
  }, []);
  const groups: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
    [
      shortcuts.onCard,
      [
        ['y', shortcuts.approve],
        ['Shift+y', shortcuts.approveAll],
        ['n', shortcuts.reject],
        ['a', shortcuts.wider],
        ['e', shortcuts.edit],
        ['t', shortcuts.tryFirst],
        ['Esc', shortcuts.back],
      ],
    ],
    [
      shortcuts.anywhere,
      [
        ['j', shortcuts.next],
        ['k', shortcuts.previous],
        ['/', shortcuts.compose],
        ['Esc', shortcuts.toCard],
        ['Ctrl+Enter', shortcuts.approveFromField],
        ['↑', conversation.shortcuts.recall],
        ['Alt+M', conversation.shortcuts.mode],
        ['u', conversation.shortcuts.undo],
        ['?', shortcuts.help],
      ],
    ],
  ];
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="shortcuts-title" onClose={onClose}>
      <h2 id="shortcuts-title">{shortcuts.title}</h2>
      {groups.map(([title, keys]) => (
        <section key={title}>
          <h3 className="label">{title}</h3>
          <dl className="keys">
            {keys.map(([key, meaning]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <p className="muted">{shortcuts.guard}</p>
      <form method="dialog">
        <Button type="submit">{settings.close}</Button>
      </form>
    </dialog>
  );
}
