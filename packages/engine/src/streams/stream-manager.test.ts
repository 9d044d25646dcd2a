import { EngineFixture, settle } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
});
afterEach(() => fixture.engine.close());

const write = (userId: string, count: number, projectId: string | null = null) =>
  fixture.store.write(function* (tx) {
    const event = {
      event: 'stream.reset',
      data: { reason: 'test', timestamp: '2026-01-01T00:00:00Z' },
    } as const;
    tx.announce(userId, { events: Array.from({ length: count }, () => ({ projectId, event })) });
    yield* tx.projectsOf(userId);
  });

describe('[EV-2] StreamManager', () => {
  it('numbers the events of each person from one counter, without gaps', async () => {
    const ada = await fixture.listen();
    const bob = await fixture.listen({ userId: 'bob' });
    await Promise.all([write('ada', 3), write('bob', 2), write('ada', 1), write('ada', 5)]);
    await settle();
    expect([ada.ids(), bob.ids()]).toEqual([
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
      [1, 2],
    ]);
  });

  it('a client that comes back with its last id misses nothing and gets nothing twice', async () => {
    const first = await fixture.listen();
    await write('ada', 3);
    await settle();
    first.close();
    await write('ada', 700);
    const second = await fixture.listen({ lastEventId: first.ids().at(-1) as number });
    const writing = write('ada', 50);
    await writing;
    await settle();
    expect(second.ids()).toEqual(Array.from({ length: 750 }, (_, i) => i + 4));
    expect(first.ids()).toEqual([1, 2, 3]);
  });

  it('a client that comes while events are written gets each once', async () => {
    const writing = Array.from({ length: 30 }, () => write('ada', 7));
    const listeners = await Promise.all(Array.from({ length: 5 }, () => fixture.listen({ lastEventId: 0 })));
    await Promise.all(writing);
    await settle();
    for (const listener of listeners)
      expect(listener.ids()).toEqual(Array.from({ length: 210 }, (_, i) => i + 1));
  });

  it('an unknown id gets stream.reset and what is pending', async () => {
    void fixture.execute('write_file', { path: 'a.md', content: '' });
    await settle();
    const listener = await fixture.listen({ lastEventId: 999 });
    expect(listener.types()).toEqual(['stream.reset', 'tool.approval_request']);
  });

  it('without an id a client gets a snapshot of what is pending, then what is new', async () => {
    void fixture.execute('write_file', { path: 'a.md', content: '' });
    await settle();
    const listener = await fixture.listen();
    expect(listener.received).toMatchObject([{ id: undefined, event: { event: 'tool.approval_request' } }]);
    await write('ada', 1);
    await settle();
    expect(listener.ids()).toEqual([4]);
  });

  it('catches up on the slow tick when hints are lost', async () => {
    const listener = await fixture.listen();
    fixture.bus.deaf = true;
    await write('ada', 4);
    await settle();
    expect(listener.ids()).toEqual([]);
    await fixture.clock.advance(5_000);
    expect(listener.ids()).toEqual([1, 2, 3, 4]);
  });

  it('[EV-4] cuts off a client that does not read; other streams continue', async () => {
    const slow = await fixture.listen();
    const quick = await fixture.listen();
    slow.reads = false;
    await write('ada', 2);
    await settle();
    expect([slow.ended, slow.ids(), quick.ids()]).toEqual([true, [1], [1, 2]]);
    expect(fixture.engine.streams.size).toBe(1);
  });

  it('sends a client of one project the events of that project only', async () => {
    const listener = await fixture.listen({ projectId: 'project-1' });
    await write('ada', 1, 'project-1');
    await write('ada', 1, 'project-2');
    await write('ada', 1, null);
    await settle();
    expect(listener.ids()).toEqual([1, 3]);
  });

  it('ends every stream when it closes; closing one twice is harmless', async () => {
    const listener = await fixture.listen();
    listener.close();
    listener.close();
    const other = await fixture.listen();
    fixture.engine.streams.close();
    expect([listener.ended, other.ended]).toEqual([true, true]);
  });
});
