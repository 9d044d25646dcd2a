import { type ReactNode, useEffect, useId, useRef } from 'react';

interface QuestionProps {
  readonly title: string;
  readonly children: ReactNode;
  onClose(): void;
}

/** A dialog that asks before something happens. Escape closes it and does nothing. */
export function Question({ title, children, onClose }: QuestionProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal?.();
  }, []);
  return (
    <dialog ref={dialog} className="dialog question" aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
