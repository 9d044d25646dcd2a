import type { ApprovalRow } from '@countersign/engine';
import { digest, EngineFixture, type Listener, settle } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventLoopTurns } from '../event-loop-turns.ts';
import type { Reading, Store, Unit } from '../store.ts';
import { endOfRequest, eventOfRequest, PendingRequests } from './pending-requests.ts';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
});
afterEach(() => fixture.engine.close());

/** Makes `count` calls wait for an approval, each in its own session. */
async function ask(count: number, from = 0): Promise<void> {
  for (let place = from; place < from + count; place += 1)
    await fixture.submit('write_file', { path: `${place}.md`, content: 'x' }, { sessionId: `s${place}` });
}
const pendingIds = async () =>
  (await fixture.store.read((tx) => tx.pendingApprovals('ada'))).map(({ id }) => id);
const told = (listener: Listener) =>
  listener.all('tool.approval_request').map(({ approval_id }) => approval_id);

/** Counts the approvals that are read, and calls back after each reading. */
function watchReading(store: Store, after: (reading: number) => unknown = () => {}) {
  const counts = { readings: 0, read: 0 };
  const read = store.read.bind(store);
  Object.assign(store, {
    async read<T>(unit: (tx: Reading) => Unit<T>): Promise<T> {
      const value = await read((tx) =>
        unit(
          new Proxy(tx, {
            get(target, name, receiver) {
              if (name === 'shownApprovals')
                return (ids: readonly string[]) => {
                  counts.read += ids.length;
                  return target.shownApprovals(ids);
                };
              const member = Reflect.get(target, name, receiver);
              return typeof member === 'function' ? member.bind(target) : member;
            },
          }),
        ),
      );
      counts.readings += 1;
      await after(counts.readings);
      return value;
    },
  });
  return counts;
}

describe('[EV-2] one snapshot per person', () => {
  it('is read once, however many streams open', async () => {
    await ask(120);
    const counts = watchReading(fixture.store);
    const ids = await pendingIds();
    const listeners = await Promise.all(Array.from({ length: 30 }, () => fixture.listen()));
    for (const listener of listeners) expect(told(listener)).toEqual(ids);
    expect(counts.read).toBe(120);
    await fixture.listen();
    expect(counts.read).toBe(120);
  });

  it('is kept current: what is new or changed is read, and nothing else', async () => {
    await ask(60);
    await fixture.listen({ runnerId: 'runner-1' });
    const counts = watchReading(fixture.store);
    await fixture.clock.advance(1);
    await ask(1, 60);
    const [first, second] = await pendingIds();
    await fixture.preview(first as string);
    await fixture.engine.approvals.rejectTool(fixture.person, second as string, {});
    await settle();
    const listener = await fixture.listen();
    expect(told(listener)).toEqual(await pendingIds());
    expect(listener.all('tool.approval_request')[0]).toMatchObject({
      approval_id: first,
      digest_base: digest('a'),
    });
    expect(counts.read).toBe(2);
  });

  it('misses nothing of another node whose hints are lost', async () => {
    const other = await fixture.addNode();
    await ask(60);
    await fixture.listen();
    fixture.bus.deaf = true;
    await fixture.clock.advance(1);
    await ask(1, 60);
    const [first] = await pendingIds();
    await other.approvals.rejectTool(fixture.person, first as string, {});
    const counts = watchReading(fixture.store);
    expect(told(await fixture.listen())).toEqual(await pendingIds());
    expect(counts.read).toBe(1);
    other.close();
  });

  it('is made again if the events since then were removed or are too many', async () => {
    await ask(3);
    await fixture.listen();
    fixture.bus.deaf = true;
    await fixture.store.write(function* (tx) {
      const event = {
        event: 'stream.reset',
        data: { reason: 'x', timestamp: '2026-01-01T00:00:00Z' },
      } as const;
      tx.announce('ada', { events: Array.from({ length: 1_001 }, () => ({ projectId: null, event })) });
      yield* tx.projectsOf('ada');
    });
    await ask(1, 3);
    expect(told(await fixture.listen())).toEqual(await pendingIds());
  });

  it('comes with the rules on paths of the policy as it is now', async () => {
    await ask(2);
    await fixture.listen();
    const rule = { id: 'no-private', effect: 'deny', tool: '*', path: 'private/**' } as const;
    await fixture.engine.policies.replace('ada', { version: 1, rules: [rule] });
    const listener = await fixture.listen();
    expect(listener.all('tool.approval_request').map(({ path_rules }) => path_rules)).toEqual([
      [rule],
      [rule],
    ]);
  });

  it('says what time is left at the moment that it is sent', async () => {
    await ask(1);
    await fixture.listen();
    await fixture.clock.advance(20_000);
    const [request] = (await fixture.listen()).all('tool.approval_request');
    expect([request?.remaining_ms, request?.timestamp]).toEqual([
      280_000,
      new Date(fixture.clock.now()).toISOString(),
    ]);
  });

  it('is for a stream of one project what belongs to it, and for a runner what it can preview', async () => {
    await fixture.store.write((tx) =>
      tx.insert('projects', {
        id: 'project-2',
        user_id: 'ada',
        name: 'Other',
        workspace: '/other',
        created_at: 0,
      }),
    );
    await ask(1);
    await fixture.clock.advance(1);
    await ask(1, 1);
    const project = { id: 'project-2', user_id: 'ada', name: 'Other', workspace: '/other', created_at: 0 };
    await fixture.clock.advance(1);
    await fixture.submit('write_file', { path: 'o.md', content: '' }, { project, sessionId: 'other' });
    const [a, b, c] = await pendingIds();
    expect(told(await fixture.listen())).toEqual([a, b, c]);
    expect(told(await fixture.listen({ projectId: 'project-2' }))).toEqual([c]);
    expect(told(await fixture.listen({ projectId: 'project-1' }))).toEqual([a, b]);
    expect(told(await fixture.listen({ runnerId: 'r', workspace: '/other' }))).toEqual([c]);
  });

  it('is dropped when no stream of the person is open', async () => {
    await ask(3);
    const listener = await fixture.listen();
    listener.close();
    const counts = watchReading(fixture.store);
    await fixture.listen();
    expect(counts.read).toBe(3);
  });
});

describe('[EV-2] a client that comes while others decide', () => {
  /** What a front end knows after all it was told: pending ids with their digests. */
  function known(listener: Listener): Map<string, string | null> {
    const cards = new Map<string, string | null>();
    for (const { event } of listener.received) {
      if (event.event === 'tool.approval_request' || event.event === 'approval.updated')
        cards.set(event.data.approval_id, event.data.digest);
      if (event.event === 'approval.resolved') cards.delete(event.data.approval_id);
    }
    return cards;
  }
  const isOrdered = (ids: readonly number[]) =>
    ids.every((id, place) => place === 0 || id === (ids[place - 1] ?? 0) + 1);

  it('misses nothing and gets nothing twice, whenever the decision falls', async () => {
    await ask(160);
    await fixture.listen({ runnerId: 'runner-1' });
    await fixture.restart(); // drops what is in memory
    await fixture.listen({ runnerId: 'runner-1', lastEventId: 0 });
    const ids = await pendingIds();
    let next = 0;
    // After each piece that is read, one request is decided, one is previewed and one is made.
    const busy = { is: false };
    watchReading(fixture.store, async () => {
      if (busy.is || next >= 20) return;
      busy.is = true;
      next += 1;
      await fixture.engine.approvals.rejectTool(fixture.person, ids[next * 7] as string, {});
      await fixture.preview(ids[next * 7 + 1] as string);
      await ask(1, 1_000 + next);
      busy.is = false;
    });
    const listeners = await Promise.all(Array.from({ length: 3 }, () => fixture.listen()));
    await settle();
    await fixture.clock.advance(5_000);
    const rows = await fixture.store.read(function* (tx) {
      const found: ApprovalRow[] = [];
      for (const { id } of yield* tx.pendingApprovals('ada')) {
        const row = yield* tx.get('approvals', id);
        if (row) found.push(row);
      }
      return found;
    });
    const truth = rows.map(({ id, digest: shown }) => [id, shown]);
    expect(next).toBe(20);
    for (const listener of listeners) {
      expect([...known(listener)].sort()).toEqual(truth.sort());
      expect(isOrdered(listener.ids())).toBe(true);
      const requests = told(listener);
      expect(new Set(requests).size).toBe(requests.length);
    }
  });
});

describe('[PF-2] a large snapshot', () => {
  it('lets the event loop turn between its pieces, while it is read and while it is sent', async () => {
    await ask(400);
    let turns = 0;
    let isDone = false;
    const turn = () => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const pieces: number[] = [];
    const close = await fixture.engine.openStream(
      { userId: 'ada', projectId: undefined, runnerId: undefined, mayExecute: false, lastEventId: undefined },
      {
        send: () => true,
        sendPending: (requests) => {
          pieces.push(requests.length);
          return true;
        },
        end: () => {},
      },
    );
    isDone = true;
    expect(pieces.reduce((sum, count) => sum + count, 0)).toBe(400);
    expect(Math.max(...pieces)).toBeLessThanOrEqual(50);
    expect(turns).toBeGreaterThanOrEqual(2 * (400 / 50) - 2);
    close();
  });

  it('shares each turn of the event loop among all waiting readers, a few pieces at a time', async () => {
    const turns = new EventLoopTurns();
    const order: number[] = [];
    let loops = 0;
    const count = () => {
      loops += 1;
      if (order.length < 12) setImmediate(count);
    };
    setImmediate(count);
    const perTurn = new Map<number, number>();
    await Promise.all(
      Array.from({ length: 12 }, async (_, place) => {
        await turns.next();
        order.push(place);
        perTurn.set(loops, (perTurn.get(loops) ?? 0) + 1);
      }),
    );
    expect(order).toEqual(Array.from({ length: 12 }, (_, place) => place));
    expect([...perTurn.values()]).toEqual([4, 4, 4]);
  });

  it('waits for a client that reads slowly instead of cutting it off, and ends when it goes', async () => {
    await ask(200);
    let sent = 0;
    const seen: number[] = [];
    await fixture.engine.openStream(
      { userId: 'ada', projectId: undefined, runnerId: undefined, mayExecute: false, lastEventId: undefined },
      {
        send: () => true,
        sendPending: (requests) => {
          sent += requests.length;
          return true;
        },
        room: async () => {
          seen.push(sent);
          return seen.length < 3;
        },
        end: () => {},
      },
    );
    const [first = 0, second = 0, third = 0] = seen;
    expect([first < second, second < third, third < 200, sent]).toEqual([true, true, true, third]);
    expect(fixture.engine.streams.size).toBe(0);
  });

  it('is cached up to a limit for all people; requests beyond it are read when they are sent', async () => {
    await ask(20);
    const turns = new EventLoopTurns();
    const kept = new PendingRequests(fixture.store, turns, { keptBytes: 6_000 });
    const { requests } = await kept.current('ada');
    const inMemory = requests.filter(({ json }) => json !== undefined);
    expect(requests).toHaveLength(20);
    expect(inMemory.length).toBeGreaterThan(0);
    expect(inMemory.reduce((sum, { json }) => sum + (json?.length ?? 0), 0)).toBeLessThanOrEqual(6_000);
    const ids = await pendingIds();
    await fixture.engine.approvals.rejectTool(fixture.person, ids[19] as string, {});
    const encoded = await kept.encoded('ada', requests);
    expect(encoded.map(({ approvalId }) => approvalId)).toEqual(ids.slice(0, 19));
    for (const request of encoded) {
      const event = eventOfRequest(request, 0);
      expect(`${request.json}${endOfRequest(request, 0)}`).toBe(JSON.stringify(event.data));
    }
  });
});

describe('[EX-7] a runner that comes back', () => {
  it('is told of each unsettled call once, in pieces, also of one that is signalled meanwhile', async () => {
    await fixture.listen({ runnerId: 'runner-1' });
    const calls: string[] = [];
    for (let place = 0; place < 120; place += 1)
      calls.push((await fixture.submit('read_file', { path: `${place}.md` })).id);
    await settle();
    let late: string | undefined;
    watchReading(fixture.store, async () => {
      if (late !== undefined) return;
      late = '';
      late = (await fixture.submit('read_file', { path: 'late.md' })).id;
    });
    const back = await fixture.listen({ runnerId: 'runner-1' });
    await settle();
    const signals = back.all('tool.execution_signal').map(({ tool_id }) => tool_id);
    expect(signals.sort()).toEqual([...calls, late].sort());
  });
});
