import { type RefObject, useEffect } from 'react';

const textFields = 'textarea, input:not([type=radio], [type=checkbox])';

/** Scrolls the form of a step into view when it opens or grows. */
export function useStepInView(card: RefObject<HTMLElement | null>, step: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step has its own form
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

/** Scrolls the element at `selector` into view when its message appears: it says why a key or click did not count. */
export function useMessageInView(
  card: RefObject<HTMLElement | null>,
  selector: string,
  message: unknown,
): void {
  useEffect(() => {
    if (message !== null) card.current?.querySelector(selector)?.scrollIntoView({ block: 'nearest' });
  }, [card, selector, message]);
}
