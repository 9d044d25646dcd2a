// @vitest-environment happy-dom
import { act, cleanup, fireEvent, screen } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, expect, it } from 'vitest';
import { openPage } from '../page-fixture.test-data.tsx';
import { AppFrame } from './app-frame.tsx';
import { type Location, readLocation } from './links.ts';
import { LoadingState } from './states.tsx';

afterEach(cleanup);

interface Steering {
  go(hash: string): void;
  load(isLoading: boolean): void;
}

function Framed({ steering }: { readonly steering: Steering }) {
  const [location, setLocation] = useState<Location>(() => readLocation('#/history'));
  const [isLoading, setLoading] = useState(false);
  steering.go = (hash) => act(() => setLocation(readLocation(hash)));
  steering.load = (next) => act(() => setLoading(next));
  return (
    <AppFrame location={location} chatHref="#/chat" settings={null} aside={null}>
      {isLoading ? <LoadingState /> : <p>{location.screen}</p>}
    </AppFrame>
  );
}

/** The frame, and a way to walk through it. Boxes in this DOM have no height of their own: it is given. */
async function openFrame() {
  const steering: Steering = { go: () => {}, load: () => {} };
  await openPage(<Framed steering={steering} />);
  const box = screen.getByRole('main');
  let top = 0;
  let highest = 2_000;
  Object.defineProperty(box, 'scrollTop', {
    get: () => Math.min(top, highest),
    set: (wanted: number) => {
      top = Math.min(wanted, highest);
    },
  });
  return {
    box,
    go: (hash: string) => steering.go(hash),
    load: (isLoading: boolean) => {
      highest = isLoading ? 0 : 2_000;
      steering.load(isLoading);
    },
    /** The content is so short now that the browser cannot keep the position. */
    shorten: (to: number) => {
      highest = to;
    },
    scrollTo: (to: number) => {
      box.scrollTop = to;
      fireEvent.scroll(box);
    },
  };
}

it('each screen keeps its own scroll position, and a new one starts at its top', async () => {
  const { box, go, scrollTo } = await openFrame();
  scrollTo(700);
  go('#/metrics');
  expect(box.scrollTop).toBe(0);
  scrollTo(300);
  go('#/history/t1');
  expect(box.scrollTop).toBe(0);
  go('#/history');
  expect(box.scrollTop).toBe(700);
  go('#/metrics');
  expect(box.scrollTop).toBe(300);
  go('#/history/t2');
  expect(box.scrollTop).toBe(0);
});

it('a screen that loads again restores its scroll position once its content is there', async () => {
  const { box, go, load, scrollTo, shorten } = await openFrame();
  scrollTo(700);
  go('#/permissions');
  load(true);
  go('#/history');
  expect(box.scrollTop).toBe(0);
  await act(async () => load(false));
  expect(box.scrollTop).toBe(700);

  // A page that grows later does not scroll under the pointer (UI-6).
  go('#/permissions');
  shorten(100);
  go('#/history');
  expect(box.scrollTop).toBe(100);
  shorten(2_000);
  await act(async () => box.append(document.createElement('p')));
  expect(box.scrollTop).toBe(100);
});

it('a person who scrolls while a screen is read stays where they are', async () => {
  const { box, go, load, scrollTo, shorten } = await openFrame();
  scrollTo(700);
  go('#/permissions');
  load(true);
  go('#/history');
  shorten(50);
  scrollTo(40);
  await act(async () => load(false));
  expect(box.scrollTop).toBe(40);
});
