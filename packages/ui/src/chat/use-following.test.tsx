// @vitest-environment happy-dom
import { cleanup, render } from '@testing-library/react';
import { useRef } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { useFollowing } from './use-following.ts';

let grown = () => {};
beforeEach(() => {
  vi.stubGlobal(
    'ResizeObserver',
    class {
      constructor(callback: () => void) {
        grown = callback;
      }
      observe(): void {}
      disconnect(): void {}
    },
  );
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function Following({ isFollowing, isLater }: { readonly isFollowing: boolean; readonly isLater: boolean }) {
  const box = useRef<HTMLElement>(null);
  useFollowing(box, useRef(isFollowing));
  return (
    <section ref={box}>
      <div>
        <button type="button" data-approval="a" data-waiting>
          a card
        </button>
        {isLater && <p data-message="m2">A later message</p>}
      </div>
    </section>
  );
}

/** A box that is 500 px high with 2,000 px of content, and a card at the place that the test says. */
function open(isFollowing: boolean, isLater = false) {
  const { container } = render(<Following isFollowing={isFollowing} isLater={isLater} />);
  const box = container.querySelector('section') as HTMLElement;
  const card = container.querySelector('button') as HTMLElement;
  vi.spyOn(box, 'scrollHeight', 'get').mockReturnValue(2_000);
  vi.spyOn(box, 'getBoundingClientRect').mockReturnValue(new DOMRect(0, 0, 100, 500));
  const place = { top: 100, height: 200 };
  vi.spyOn(card, 'getBoundingClientRect').mockImplementation(
    () => new DOMRect(0, place.top, 100, place.height),
  );
  box.scrollTop = 1_000;
  return { box, card, place };
}

it('follows the end while nothing is looked at', () => {
  const { box } = open(true, true);
  grown();
  expect(box.scrollTop).toBe(2_000);
});

it('shows the first card that waits at the end, and never scrolls back to it', () => {
  const { box, place } = open(true);
  grown();
  expect(box.scrollTop).toBe(1_088);
  place.top = -300; // the person scrolled down, past it
  box.scrollTop = 1_400;
  grown();
  expect(box.scrollTop).toBe(1_400);
});

it('[UI-6] keeps a card in its place while it is looked at', () => {
  const { box, card, place } = open(true);
  card.focus();
  grown();
  expect(box.scrollTop).toBe(1_000);
  place.top = 140; // something above it grew
  grown();
  expect(box.scrollTop).toBe(1_040);
});

it.each([
  [true, 1_050],
  [false, 1_000],
])('brings the end of a card back that grew out of sight, while it follows: %s', (isFollowing, scrollTop) => {
  const { box, card, place } = open(isFollowing);
  card.focus();
  place.height = 450;
  grown();
  expect(box.scrollTop).toBe(scrollTop);
});
