import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { Icon } from './icons.tsx';

export interface MenuItem {
  readonly name: string;
  readonly isDisabled?: boolean;
  /** Why it is disabled, or what it does. */
  readonly hint?: string;
  act(): void;
}

interface MenuProps {
  /** What the button says to a screen reader. */
  readonly label: string;
  readonly items: readonly MenuItem[];
}

/** A small button that opens a list of actions. The list is in the top layer, so that no scrolling box cuts it off. */
export function Menu({ label, items }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const shown = list.current;
    if (!isOpen || !shown || !button.current) return;
    shown.showPopover?.();
    placeBeside(shown, button.current.getBoundingClientRect());
    buttonsOf(shown)[0]?.focus();
    const close = () => setOpen(false);
    const away = ({ target }: Event) => {
      const inside = target instanceof Node && (shown.contains(target) || button.current?.contains(target));
      if (!inside) close();
    };
    document.addEventListener('pointerdown', away);
    document.addEventListener('scroll', away, true);
    window.addEventListener('resize', close);
    return () => {
      document.removeEventListener('pointerdown', away);
      document.removeEventListener('scroll', away, true);
      window.removeEventListener('resize', close);
    };
  }, [isOpen]);
  const leave = () => {
    setOpen(false);
    button.current?.focus();
  };
  const pressed = (event: KeyboardEvent) => {
    const all = list.current ? buttonsOf(list.current) : [];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (next !== undefined) all[(next + all.length) % all.length]?.focus();
    else if (event.key === 'Escape') leave();
    else if (event.key === 'Tab') setOpen(false);
    // No key of an open menu decides a card.
    event.stopPropagation();
    if (next !== undefined || event.key === 'Escape') event.preventDefault();
  };
  return (
    <span className="menu">
      <button
        ref={button}
        type="button"
        className="button quiet small menu-button"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="more" />
      </button>
      {isOpen && (
        <div
          ref={list}
          id={id}
          role="menu"
          aria-label={label}
          className="menu-list"
          popover="manual"
          onKeyDown={pressed}
        >
          {items.map(({ name, isDisabled = false, hint, act }) => (
            <button
              key={name}
              type="button"
              role="menuitem"
              tabIndex={-1}
              aria-disabled={isDisabled || undefined}
              title={hint}
              onClick={() => {
                if (isDisabled) return;
                leave();
                act();
              }}
            >
              {name}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}

const buttonsOf = (list: HTMLElement): readonly HTMLElement[] => [
  ...list.querySelectorAll<HTMLElement>('[role=menuitem]'),
];

/** Below the button, or above it where there is no room; within the window. */
function placeBeside(list: HTMLElement, button: DOMRect): void {
  const { offsetWidth: width, offsetHeight: height } = list;
  const below = button.bottom + 4;
  const top = below + height > window.innerHeight ? Math.max(4, button.top - height - 4) : below;
  const left = Math.max(4, Math.min(button.right - width, window.innerWidth - width - 4));
  list.style.insetBlockStart = `${top}px`;
  list.style.insetInlineStart = `${left}px`;
}
