import { type RefObject, useLayoutEffect, useRef, useState } from 'react';

/** Measures the width of a plot, so that it is drawn unscaled and its text keeps its size. */
export function useWidth<Element extends HTMLElement>(): readonly [RefObject<Element | null>, number] {
  const box = useRef<Element>(null);
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(240, element.clientWidth || 640));
    measure();
    if (typeof ResizeObserver === 'undefined') return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}
