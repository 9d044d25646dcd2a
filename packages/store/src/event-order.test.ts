import type { StoredEvent } from '@countersign/engine';
import { expect, it } from 'vitest';
import { EventOrder } from './event-order.ts';

const events = (...ids: readonly number[]): readonly StoredEvent[] =>
  ids.map((id) => ({ user_id: 'ada', id, project_id: null, event: {} as never, created_at: 0 }));

it('[EV-2] passes events along that follow each other', () => {
  const order = new EventOrder();
  expect(order.hintFor(events(1, 2))).toEqual({
    kind: 'events',
    userId: 'ada',
    newest: 2,
    events: events(1, 2),
  });
  expect(order.hintFor(events(3))).toMatchObject({ newest: 3, events: events(3) });
});

it('[EV-2] only says how far to read when a commit was heard of too early, and nothing when it comes late', () => {
  const order = new EventOrder();
  order.hintFor(events(1));
  expect(order.hintFor(events(3))).toEqual({ kind: 'events', userId: 'ada', newest: 3 });
  expect(order.hintFor(events(2))).toBeUndefined();
  expect(order.hintFor(events(4))).toMatchObject({ newest: 4, events: events(4) });
});

it('makes listeners read if it does not know the previous event', () => {
  expect(new EventOrder().hintFor(events(7))).toEqual({ kind: 'events', userId: 'ada', newest: 7 });
  expect(new EventOrder().hintFor([])).toBeUndefined();
});
