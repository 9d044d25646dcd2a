import { type RefObject, useEffect } from 'react';

const textFields = 'textarea, input:not([type=radio], [type=checkbox])';

/** What was asked for may open, or grow, below the edge of what is in sight: it is brought into view. */
export function useStepInView(card: RefObject<HTMLElement | null>, step: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another step is another form
  useEffect(() => {
    const form = card.current?.querySelector('.card-step');
    if (!form) return;
    const show = () => form.scrollIntoView({ block: 'nearest' });
    show();
    if (typeof ResizeObserver === 'undefined') return;
    const observer = new ResizeObserver(() => {
      // While somebody writes, the browser keeps the caret in view by itself.
      if (!document.activeElement?.matches(textFields)) show();
    });
    observer.observe(form);
    return () => observer.disconnect();
  }, [card, step]);
}

/** Why a press of a button counted for nothing may stand beyond the edge of what is in sight: it is brought into view. */
export function useAnswerInView(card: RefObject<HTMLElement | null>, place: string, answer: unknown): void {
  useEffect(() => {
    if (answer !== null) card.current?.querySelector(place)?.scrollIntoView({ block: 'nearest' });
  }, [card, place, answer]);
}
