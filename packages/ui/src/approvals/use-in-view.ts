import { type RefObject, useEffect } from 'react';

const textFields = 'textarea, input:not([type=radio], [type=checkbox])';

/** Scrolls the form of a step into view: it may open, or grow, below the visible part. */
export function useStepInView(card: RefObject<HTMLElement | null>, step: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another step is another form
  useEffect(() => {
    const form = card.current?.querySelector('.card-step');
    if (!form) return;
    const show = () => form.scrollIntoView({ block: 'nearest' });
    show();
    if (typeof ResizeObserver === 'undefined') return;
    const observer = new ResizeObserver(() => {
      // While the person types, the browser keeps the caret in view.
      if (!document.activeElement?.matches(textFields)) show();
    });
    observer.observe(form);
    return () => observer.disconnect();
  }, [card, step]);
}

/** Scrolls the message at `place` into view when it appears: it says why a press did not count. */
export function useAnswerInView(card: RefObject<HTMLElement | null>, place: string, answer: unknown): void {
  useEffect(() => {
    if (answer !== null) card.current?.querySelector(place)?.scrollIntoView({ block: 'nearest' });
  }, [card, place, answer]);
}
