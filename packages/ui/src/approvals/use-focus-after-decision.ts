import { type RefObject, useEffect, useRef } from 'react';
import { goOnToCard, waitingCards } from './card-keys.ts';

/**
 * Moves the focus when the card that had it was decided and removed: to the next waiting card, so that keys decide that
 * one, else to the element at `fallback`. `decided` changes with each decision.
 */
export function useFocusAfterDecision(
  box: RefObject<HTMLElement | null>,
  decided: unknown,
  fallback: () => HTMLElement | null | undefined,
): void {
  const hadFocus = useRef(false);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const stop = new AbortController();
    const { signal } = stop;
    element.addEventListener(
      'focusin',
      () => {
        hadFocus.current = true;
      },
      { signal },
    );
    element.addEventListener(
      'focusout',
      ({ target, relatedTarget }) => {
        if (relatedTarget instanceof Node) hadFocus.current = element.contains(relatedTarget);
        // If nothing else gets the focus, either the person clicked on an empty area, or the decided card was removed.
        else
          queueMicrotask(() => {
            if (target instanceof Node && target.isConnected && document.hasFocus()) hadFocus.current = false;
          });
      },
      { signal },
    );
    return () => stop.abort();
  }, [box]);
  const last = useRef(decided);
  // biome-ignore lint/correctness/useExhaustiveDependencies: acts once for each decision
  useEffect(() => {
    if (last.current === decided) return;
    last.current = decided;
    const isLost = !document.activeElement || document.activeElement === document.body;
    if (!hadFocus.current || !isLost) return;
    const next = waitingCards()[0];
    if (next) goOnToCard(next);
    else fallback()?.focus({ preventScroll: true });
  }, [decided]);
}
