import { type ReactNode, useEffect, useId, useRef, useState } from 'react';

interface PopoverProps {
  readonly label: ReactNode;
  readonly className?: string;
  readonly isCaution?: boolean;
  readonly children: ReactNode;
}

/** A button that opens a small panel beside it; Escape or a click elsewhere closes it. */
export function Popover({ label, className = '', isCaution = false, children }: PopoverProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const away = (event: PointerEvent) => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false);
    };
    document.addEventListener('pointerdown', away);
    return () => document.removeEventListener('pointerdown', away);
  }, [isOpen]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape is heard from the button and the panel inside
    <div
      ref={root}
      className={`popover ${className}`}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return;
        event.stopPropagation();
        setOpen(false);
        button.current?.focus();
      }}
    >
      <button
        ref={button}
        type="button"
        className={`button quiet small ${isCaution ? 'caution' : ''}`}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </button>
      {isOpen && (
        <div id={id} className="popover-panel">
          {children}
        </div>
      )}
    </div>
  );
}
