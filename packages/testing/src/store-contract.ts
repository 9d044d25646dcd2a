import {
  type Announcement,
  type AuditRow,
  auditGenesis,
  auditHash,
  type Bus,
  DuplicateRow,
  Engine,
  type Hint,
  type HistoryFilter,
  largestShown,
  type Reading,
  type Refusal,
  RunnerBindings,
  type ServerEvent,
  type Store,
  systemClock,
  type TableName,
  type Tables,
  type Unit,
} from '@countersign/engine';
import { SecretMasker } from '@countersign/policy';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  approvalRow,
  executionRow,
  fileChangeRow,
  grantRow,
  messageRow,
  nodeRow,
  oneRowOfEach,
  payloadRow,
  policyRow,
  projectRow,
  queuedMessageRow,
  resultRow,
  runnerRow,
  runRow,
  sessionRow,
  tokenRow,
} from './stored-rows.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens it again with its data. */
  reopen(): Promise<Store>;
  /** Closes it and deletes its data. */
  remove(): Promise<void>;
}

/** What every store promises the engine. Registers tests; `open` returns an empty store on the given bus. */
export function storeContract(name: string, open: (bus: Bus) => Promise<OpenedStore>): void {
  describe(`the store's contract: ${name}`, () => {
    let opened: OpenedStore;
    let store: Store;
    let hints: Hint[];

    beforeEach(async () => {
      hints = [];
      opened = await open({ publish: (hint) => void hints.push(hint), subscribe: () => () => {} });
      store = opened.store;
    });
    afterEach(() => opened.remove());

    const insert = <K extends TableName>(table: K, ...rows: readonly Tables[K][]): Promise<void> =>
      store.write(function* (tx) {
        for (const row of rows) yield* tx.insert(table, row);
      });
    const announce = (userId: string, announcement: Announcement): Promise<void> =>
      // biome-ignore lint/correctness/useYield: only an announcement
      store.write(function* (tx) {
        tx.announce(userId, announcement);
      });
    const read = <T>(query: (tx: Reading) => Unit<T>): Promise<T> => store.read(query);
    const ids = async (query: (tx: Reading) => Unit<readonly { readonly id: string }[]>) =>
      (await store.read(query)).map(({ id }) => id);

    describe('rows', () => {
      it('[DA-1] returns what was inserted, in every table', async () => {
        const rows = oneRowOfEach();
        await store.write(function* (tx) {
          for (const [table, row] of Object.entries(rows)) yield* tx.insert(table as TableName, row);
        });
        const back = await read(function* (tx) {
          const found: Record<string, unknown> = {};
          for (const table of Object.keys(rows)) {
            found[table] = yield* tx.get(table as TableName, rows[table as TableName].id);
          }
          return found;
        });
        expect(back).toEqual(rows);
      });

      it('[DA-1] keeps JSON, booleans, fractions and odd characters as they are', async () => {
        const row = executionRow({
          tool_params: { text: 'a\u0000b \u{1f600} " \' \\', list: [1, 2.5, null, true], empty: {} },
          reasons: [{ rule: 'RK-2', why: 'it only reads' }] as never,
          network: true,
          execution_time_ms: 12.75,
          error: 'naïve \u202e; drop table',
        });
        await insert('tool_executions', row);
        expect(await read((tx) => tx.get('tool_executions', row.id))).toEqual(row);
      });

      it('keeps text with a NUL readable on every database', async () => {
        await insert('messages', messageRow({ content: 'a\u0000b' }));
        const row = await read((tx) => tx.get('messages', 'message'));
        expect(row?.content).toMatch(/^a[\0␀]b$/);
      });

      it('updates only the named columns, and says whether there was a row', async () => {
        await insert('tool_executions', executionRow());
        const changed = await store.write(function* (tx) {
          return [
            yield* tx.update('tool_executions', 'tool', { status: 'executing', runner_id: 'runner' }),
            yield* tx.update('tool_executions', 'tool', {}),
            yield* tx.update('tool_executions', 'nobody', { status: 'executing' }),
          ];
        });
        expect(changed).toEqual([true, true, false]);
        expect(await read((tx) => tx.get('tool_executions', 'tool'))).toEqual(
          executionRow({ status: 'executing', runner_id: 'runner' }),
        );
      });

      it('removes one row, and says whether there was one', async () => {
        await insert('queued_messages', queuedMessageRow(), queuedMessageRow({ id: 'other', position: 2 }));
        await insert('projects', projectRow());
        const removed = await store.write(function* (tx) {
          return [
            yield* tx.remove('queued_messages', 'queued'),
            yield* tx.remove('queued_messages', 'queued'),
            yield* tx.remove('projects', 'project'), // a row that was just written may be cached
            yield* tx.get('projects', 'project'),
          ];
        });
        expect(removed).toEqual([true, false, true, undefined]);
        expect(await read((tx) => tx.get('projects', 'project'))).toBeUndefined();
        expect(await ids((tx) => tx.queuedMessagesOf('session'))).toEqual(['other']);
      });

      it('sees its own changes inside a unit', async () => {
        const seen = await store.write(function* (tx) {
          yield* tx.insert('grants', grantRow());
          yield* tx.countGrantUse('grant');
          yield* tx.countGrantUse('grant');
          return (yield* tx.get('grants', 'grant'))?.uses;
        });
        expect(seen).toBe(2);
      });

      it('[AG-2] refuses a second row with the same id or the same call of a run', async () => {
        await insert('tool_executions', executionRow({ id: 'a', run_id: 'run', step: 0, call_index: 0 }));
        const sameId = executionRow({ id: 'a' });
        const sameCall = executionRow({ id: 'b', run_id: 'run', step: 0, call_index: 0 });
        for (const row of [sameId, sameCall])
          await expect(insert('tool_executions', row)).rejects.toBeInstanceOf(DuplicateRow);
        await insert('tool_executions', executionRow({ id: 'c' }), executionRow({ id: 'd' }));
      });

      it('refuses a second message at the same position', async () => {
        await insert('messages', messageRow({ id: 'a', position: 1 }));
        await expect(insert('messages', messageRow({ id: 'b', position: 1 }))).rejects.toBeInstanceOf(
          DuplicateRow,
        );
      });

      it('continues a unit after a duplicate that it expected', async () => {
        await insert('tool_executions', executionRow());
        const found = await store.write(function* (tx) {
          try {
            yield* tx.insert('tool_executions', executionRow({ tool_name: 'other' }));
          } catch (error) {
            if (!(error instanceof DuplicateRow)) throw error;
          }
          yield* tx.update('tool_executions', 'tool', { attempt: 2 });
          return yield* tx.get('tool_executions', 'tool');
        });
        expect(found).toEqual(executionRow({ attempt: 2 }));
      });
    });

    describe('units of writing', () => {
      it('[EX-2] undoes rows, events and audit rows of a unit that throws', async () => {
        await insert('tool_executions', executionRow());
        await announce('ada', { events: [event(1)], audit: [entry(1)] });
        hints.length = 0;
        const failing = store.write(function* (tx) {
          yield* tx.insert('payloads', oneRowOfEach().payloads);
          yield* tx.update('tool_executions', 'tool', { status: 'executing' });
          tx.announce('ada', { events: [event(2)], audit: [entry(2)] });
          throw new Error('no');
        });
        await expect(failing).rejects.toThrow('no');
        const state = await read(function* (tx) {
          return {
            execution: yield* tx.get('tool_executions', 'tool'),
            payload: yield* tx.get('payloads', 'tool'),
            bounds: yield* tx.eventBounds('ada'),
            events: (yield* tx.events('ada', 0, 10)).length,
            audit: (yield* tx.audit('ada', 0, 10)).length,
          };
        });
        expect(state).toEqual({
          execution: executionRow(),
          payload: undefined,
          bounds: { oldest: 1, newest: 1 },
          events: 1,
          audit: 1,
        });
        expect(hints).toEqual([]);
      });

      it('[PF-2] does not let a unit that throws affect units committed with it', async () => {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 9 }, (_, place) =>
            store.write(function* (tx) {
              yield* tx.insert('projects', projectRow({ id: `p${place}` }));
              tx.announce('ada', { events: [event(place)] });
              if (place % 3 === 1) throw new Error(`unit ${place}`);
              return place;
            }),
          ),
        );
        expect(outcomes.map((outcome) => outcome.status)).toEqual(
          Array.from({ length: 9 }, (_, place) => (place % 3 === 1 ? 'rejected' : 'fulfilled')),
        );
        expect(await ids((tx) => tx.projectsOf('ada'))).toEqual(['p0', 'p2', 'p3', 'p5', 'p6', 'p8']);
        const events = await read((tx) => tx.events('ada', 0, 100));
        expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
      });

      it('[AP-2] lets one of two concurrent decisions win', async () => {
        await insert('approvals', approvalRow());
        const decide = (status: 'approved' | 'rejected') =>
          store.write(function* (tx) {
            const row = yield* tx.get('approvals', 'approval');
            if (row?.status !== 'pending') return 'too late';
            yield* tx.update('approvals', 'approval', { status });
            return 'decided';
          });
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, (_, place) => decide(place % 2 === 0 ? 'approved' : 'rejected')),
        );
        expect(outcomes.filter((outcome) => outcome === 'decided')).toHaveLength(1);
      });

      it('loses no count of concurrent units', async () => {
        await insert('grants', grantRow());
        await Promise.all(Array.from({ length: 30 }, () => store.write((tx) => tx.countGrantUse('grant'))));
        expect((await read((tx) => tx.get('grants', 'grant')))?.uses).toBe(30);
      });

      it('refuses announcements for two people in one unit', async () => {
        const mixed = store.write(function* (tx) {
          yield* tx.insert('projects', projectRow());
          tx.announce('ada', { events: [event(1)] });
          tx.announce('grace', { events: [event(1)] });
        });
        await expect(mixed).rejects.toThrow('one person');
        expect(await read((tx) => tx.get('projects', 'project'))).toBeUndefined();
      });

      it('says how many writes wait', async () => {
        const written = ['a', 'b', 'c'].map((id) => store.write((tx) => tx.get('projects', id)));
        expect(store.backlog).toBe(3);
        await Promise.all(written);
        expect(store.backlog).toBe(0);
      });

      it('refuses work after it was closed, and can be closed twice', async () => {
        await store.close();
        await store.close();
        await expect(insert('projects', projectRow())).rejects.toThrow('closed');
        await expect(read((tx) => tx.projectsOf('ada'))).rejects.toThrow('closed');
      });
    });

    describe('events', () => {
      it('[EV-2] numbers them for each person, without gaps and in the order of the commits', async () => {
        const people = ['ada', 'grace', 'edsger', 'barbara'];
        const writers = Array.from({ length: 200 }, (_, place) => {
          const userId = people[place % people.length] as string;
          return store.write(function* (tx) {
            yield* tx.insert('projects', projectRow({ id: `p${place}`, user_id: userId }));
            tx.announce(userId, { events: [event(place), event(place)] });
            if (place % 10 === 9) throw new Error('every tenth fails');
          });
        });
        const outcomes = await Promise.allSettled(writers);
        expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(20);
        for (const [place, userId] of people.entries()) {
          const events = await read((tx) => tx.events(userId, 0, 1_000));
          const expected = outcomes.filter(
            ({ status }, writer) => status === 'fulfilled' && writer % people.length === place,
          ).length;
          expect(events.map(({ id }) => id)).toEqual(
            Array.from({ length: 2 * expected }, (_, index) => index + 1),
          );
          // Both events of a unit are adjacent: no other unit came in between.
          const halves = events.map((row) => numberOf(row.event));
          expect(halves.filter((_, index) => index % 2 === 0)).toEqual(
            halves.filter((_, index) => index % 2 === 1),
          );
        }
      });

      it('[EV-2] tells the bus after the commit, in order, so that a listener never misses one', async () => {
        await Promise.all(
          Array.from({ length: 50 }, (_, place) => announce('ada', { events: [event(place)] })),
        );
        await expect.poll(() => newestOf(hints, 'ada')).toBe(50);
        let last = 0;
        for (const hint of hints) {
          if (hint.kind !== 'events') continue;
          expect(hint.newest).toBeGreaterThan(last);
          // Events that the hint carries continue the sequence; if it carries none, the listener reads them.
          if (hint.events !== undefined) {
            expect(hint.events.map(({ id }) => id)).toEqual([hint.newest]);
            expect(hint.newest).toBe(last + 1);
          }
          last = hint.newest;
        }
        expect(last).toBe(50);
      });

      it('[EV-2] reads from any id, in pages', async () => {
        await announce('ada', { events: Array.from({ length: 40 }, (_, place) => event(place)) });
        const page = await read((tx) => tx.events('ada', 30, 5));
        expect(page.map(({ id }) => id)).toEqual([31, 32, 33, 34, 35]);
        expect(page[0]).toEqual({
          user_id: 'ada',
          id: 31,
          project_id: 'project',
          event: event(30).event,
          created_at: expect.any(Number),
        });
        expect(await read((tx) => tx.events('ada', 40, 5))).toEqual([]);
        expect(await read((tx) => tx.eventBounds('ada'))).toEqual({ oldest: 1, newest: 40 });
        expect(await read((tx) => tx.eventBounds('grace'))).toEqual({ oldest: 0, newest: 0 });
      });
    });

    describe('the audit log', () => {
      it('[DA-4] chains the rows of each person by their hashes', async () => {
        expect(await read((tx) => tx.auditHead('ada'))).toEqual({ seq: 0, hash: auditGenesis });
        await announce('ada', { audit: [entry(1), entry(2)] });
        await announce('grace', { audit: [entry(1)] });
        await Promise.all([3, 4, 5].map((number) => announce('ada', { audit: [entry(number)] })));
        const rows = await read((tx) => tx.audit('ada', 0, 100));
        expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
        expectChain(rows);
        expectChain(await read((tx) => tx.audit('grace', 0, 100)));
        expect(await read((tx) => tx.auditHead('ada'))).toEqual({ seq: 5, hash: rows.at(-1)?.hash });
        expect((await read((tx) => tx.audit('ada', 2, 2))).map(({ seq }) => seq)).toEqual([3, 4]);
      });
    });

    describe('queries', () => {
      it('finds projects of a person, oldest first, and sessions by their last message', async () => {
        await insert(
          'projects',
          projectRow({ id: 'b', created_at: 2 }),
          projectRow({ id: 'a', created_at: 3 }),
          projectRow({ id: 'c', created_at: 1, user_id: 'grace' }),
        );
        await insert(
          'sessions',
          sessionRow({ id: 'b', created_at: 2 }),
          sessionRow({ id: 'a', created_at: 3 }),
          sessionRow({ id: 'spoken', created_at: 1, last_message_at: 5 }),
          sessionRow({ id: 'spoken-later', created_at: 0, last_message_at: 6 }),
          sessionRow({ id: 'c', project_id: 'other' }),
          sessionRow({ id: 'call', opened_by: 'agent', created_at: 7 }),
          sessionRow({ id: 'later-call', opened_by: 'agent', created_at: 8 }),
          sessionRow({ id: 'call-elsewhere', opened_by: 'agent', created_at: 9, project_id: 'other' }),
          sessionRow({ id: 'call-of-another', opened_by: 'other', created_at: 9 }),
          sessionRow({ id: 'spoken-after-a-call', opened_by: 'agent', created_at: 6, last_message_at: 4 }),
          sessionRow({ id: 'd', user_id: 'grace' }),
        );
        await insert('sessions', sessionRow({ id: 'reading', project_id: 'other', mode: 'read_only' }));
        expect(await read((tx) => tx.modeOf('reading'))).toBe('read_only');
        expect(await read((tx) => tx.modeOf('nothing'))).toBeUndefined();
        expect(await ids((tx) => tx.projectsOf('ada'))).toEqual(['b', 'a']);
        const inOrder = ['spoken-later', 'spoken', 'spoken-after-a-call', 'a', 'b'];
        expect(await ids((tx) => tx.sessionsOf('ada', 'project', 10))).toEqual(inOrder);
        expect(await ids((tx) => tx.sessionsOf('ada', 'project', 3))).toEqual(inOrder.slice(0, 3));
        const openedBy = (token: string) => read((tx) => tx.sessionOpenedBy('ada', 'project', token));
        expect([(await openedBy('agent'))?.id, await openedBy('nobody')]).toEqual(['later-call', undefined]);
      });

      it('[AG-5] lists the queue of a session in order', async () => {
        await insert(
          'queued_messages',
          queuedMessageRow({ id: 'second', position: 2, when_busy: 'send_now', model: 'manual' }),
          queuedMessageRow({ id: 'first', position: 1 }),
          queuedMessageRow({ id: 'elsewhere', session_id: 'other' }),
        );
        expect(await ids((tx) => tx.queuedMessagesOf('session'))).toEqual(['first', 'second']);
        await expect(insert('queued_messages', queuedMessageRow({ id: 'third' }))).rejects.toBeInstanceOf(
          DuplicateRow,
        );
      });

      it('pages through the messages of a session', async () => {
        const positions = [3, 1, 2, 5, 4];
        await insert(
          'messages',
          ...positions.map((position) => messageRow({ id: `m${position}`, position })),
          messageRow({ id: 'other', session_id: 'other', position: 9 }),
        );
        expect(await ids((tx) => tx.messagesOf('session', { limit: 2 }))).toEqual(['m1', 'm2']);
        expect(await ids((tx) => tx.messagesOf('session', { after: 2, limit: 9 }))).toEqual([
          'm3',
          'm4',
          'm5',
        ]);
        expect(await read((tx) => tx.lastPosition('session'))).toBe(5);
        expect(await read((tx) => tx.lastPosition('empty'))).toBe(0);
      });

      it('returns the models of the runs that messages belong to', async () => {
        await insert(
          'runs',
          runRow({ id: 'typed', model: 'manual' }),
          runRow({ id: 'later', model: 'openai:one' }),
          runRow({ id: 'elsewhere', model: 'openai:two' }),
        );
        await insert(
          'messages',
          messageRow({ id: 'm1', position: 1, run_id: 'typed' }),
          messageRow({ id: 'm2', position: 2, run_id: 'typed' }),
          messageRow({ id: 'm3', position: 3, run_id: null }),
          messageRow({ id: 'm4', position: 4, run_id: 'later' }),
          messageRow({ id: 'other', session_id: 'other', position: 2, run_id: 'elsewhere' }),
        );
        const models = (from: number, to: number) =>
          read(function* (tx) {
            return [...(yield* tx.modelsOf('session', { from, to }))].sort();
          });
        expect(await models(1, 4)).toEqual([
          ['later', 'openai:one'],
          ['typed', 'manual'],
        ]);
        expect(await models(2, 3)).toEqual([['typed', 'manual']]);
        expect(await models(3, 3)).toEqual([]);
      });

      it('marks messages as rewound, and leaves them out where the agent reads', async () => {
        for (const position of [1, 2, 3, 4])
          await insert('messages', messageRow({ id: `m${position}`, position }));
        await insert('messages', messageRow({ id: 'other', session_id: 'other', position: 3 }));
        expect(await read((tx) => tx.countMessagesFrom('session', 3))).toBe(2);
        expect(await store.write((tx) => tx.rewindMessages('session', 3, 7))).toBe(2);
        expect(await store.write((tx) => tx.rewindMessages('session', 2, 8))).toBe(1);
        await insert('messages', messageRow({ id: 'm5', position: 5 }));
        expect(await ids((tx) => tx.latestMessages('session', 10))).toEqual(['m1', 'm5']);
        expect(await ids((tx) => tx.latestMessages('session', 1))).toEqual(['m5']);
        const all = await read((tx) => tx.messagesOf('session', { limit: 10 }));
        expect(all.map(({ rewound_at }) => rewound_at)).toEqual([null, 8, 7, 7, null]);
        await store.write((tx) => tx.removeMessages('session'));
        expect(await ids((tx) => tx.messagesOf('session', { limit: 10 }))).toEqual([]);
        expect(await ids((tx) => tx.messagesOf('other', { limit: 10 }))).toEqual(['other']);
      });

      it('finds the calls that came after a message, newest first', async () => {
        await insert('messages', messageRow({ id: 'ask', role: 'user', position: 1, created_at: 10 }));
        for (const step of [0, 1, 10])
          await insert('messages', messageRow({ id: `run-${step}`, position: 2 + step, created_at: 10 }));
        const call = (id: string, step: number | null, created_at: number) =>
          executionRow({ id, run_id: step === null ? null : 'run', step, call_index: 0, created_at });
        await insert('tool_executions', call('first', 0, 11), call('second', 1, 11), call('last', 10, 12));
        await insert('tool_executions', call('before', null, 9), call('between', null, 11));
        await insert(
          'tool_executions',
          executionRow({ id: 'elsewhere', session_id: 'other', created_at: 20 }),
        );
        const from = (position: number, created_at: number) =>
          ids((tx) => tx.callsFrom({ id: 'session', user_id: 'ada' }, { position, created_at }));
        expect(await from(1, 10)).toEqual(['last', 'second', 'first', 'between']);
        expect(await from(3, 11)).toEqual(['last', 'second', 'between']);
        expect(await from(12, 12)).toEqual(['last']);
      });

      it('finds what the calls of a run or a session changed, without the diffs', async () => {
        await insert(
          'file_changes',
          fileChangeRow({ id: 'b-0', created_at: 2 }),
          fileChangeRow({ id: 'a-1', created_at: 1, path: 'b.md' }),
          fileChangeRow({ id: 'a-0', created_at: 1 }),
          fileChangeRow({ id: 'c-0', created_at: 3, run_id: 'later', truncated: true }),
          fileChangeRow({ id: 'd-0', session_id: 'other', run_id: null }),
        );
        expect(await ids((tx) => tx.fileChangesOf({ runId: 'run' }))).toEqual(['a-0', 'a-1', 'b-0']);
        const all = await read((tx) => tx.fileChangesOf({ sessionId: 'session' }));
        expect(all.map(({ id, truncated }) => [id, truncated])).toEqual([
          ['a-0', false],
          ['a-1', false],
          ['b-0', false],
          ['c-0', true],
        ]);
        expect(all.some((row) => 'diff' in row)).toBe(false);
      });

      it('searches conversations by words of their title or of one message, in any case', async () => {
        await insert(
          'sessions',
          sessionRow({ id: 'title', title: 'Отчёт за Март 100%', last_message_at: 5 }),
          sessionRow({ id: 'message', title: '', last_message_at: 4 }),
          sessionRow({ id: 'rewound', title: '', last_message_at: 3 }),
          sessionRow({ id: 'deleted', title: 'Март', deleted_at: 1 }),
          sessionRow({ id: 'others', title: 'Март', user_id: 'grace' }),
        );
        await insert(
          'messages',
          messageRow({ id: '1', session_id: 'message', content: 'The PARSER fails in a_b.ts\nв марте' }),
          messageRow({ id: '2', session_id: 'message', position: 2, content: 'elsewhere', role: 'tool' }),
          messageRow({ id: '3', session_id: 'rewound', content: 'the parser', rewound_at: 1 }),
        );
        const found = (...words: string[]) => ids((tx) => tx.searchSessions('ada', 'project', words, 10));
        expect(await found('МАРТ')).toEqual(['title', 'message']);
        expect(await found('parser', 'FAILS')).toEqual(['message']);
        expect(await found('parser', 'title')).toEqual([]);
        expect(await found('elsewhere')).toEqual([]);
        expect(await found('a_b')).toEqual(['message']);
        expect(await found('a%b')).toEqual([]);
        expect(await found('100%', 'отчёт')).toEqual(['title']);
        expect(await found("'; drop table messages; --", '\\')).toEqual([]);
        expect(await ids((tx) => tx.searchSessions('ada', 'project', ['март'], 1))).toEqual(['title']);
        expect(await ids((tx) => tx.sessionsOf('ada', 'project', 10))).not.toContain('deleted');
      });

      it('finds runs without a live lease, and the active run of a session', async () => {
        await insert(
          'runs',
          runRow({ id: 'held', lease_until: 100, session_id: 'one' }),
          runRow({ id: 'lapsed', lease_until: 50, session_id: 'two' }),
          runRow({ id: 'free', lease_owner: null, lease_until: null, session_id: 'three' }),
          runRow({ id: 'ended', lease_until: 50, status: 'completed', session_id: 'two' }),
        );
        expect((await ids((tx) => tx.orphanedRuns(50, 10))).sort()).toEqual(['free', 'lapsed']);
        expect(await ids((tx) => tx.orphanedRuns(50, 1))).toHaveLength(1);
        const taken = await store.write((tx) => tx.orphanedRuns(100, 10));
        expect(taken.map(({ id }) => id).sort()).toEqual(['free', 'held', 'lapsed']);
        expect((await read((tx) => tx.activeRunOf('two')))?.id).toBe('lapsed');
        expect(await read((tx) => tx.activeRunOf('four'))).toBeUndefined();
      });

      it('finds calls by their run, their runner and their state', async () => {
        await insert(
          'tool_executions',
          executionRow({
            id: 'a',
            run_id: 'run',
            step: 1,
            call_index: 0,
            status: 'completed',
            runner_id: 'r',
          }),
          executionRow({
            id: 'b',
            run_id: 'run',
            step: 1,
            call_index: 1,
            status: 'executing',
            runner_id: 'r',
          }),
          executionRow({ id: 'c', status: 'approved', runner_id: 'r', created_at: 2 }),
          executionRow({ id: 'd', status: 'approved', runner_id: null }),
          executionRow({ id: 'e', status: 'awaiting_approval', runner_id: null }),
          executionRow({ id: 'f', status: 'approved', runner_id: null, user_id: 'grace' }),
          executionRow({ id: 'g', status: 'approved', runner_id: 'r', user_id: 'grace' }),
          executionRow({ id: 'h', status: 'executing', runner_id: null, error_recoverable: true }),
          executionRow({ id: 'i', status: 'executing', runner_id: null, risk_level: 'HIGH' }),
        );
        expect((await read((tx) => tx.executionOfCall('run', 1, 1)))?.id).toBe('b');
        expect((await store.write((tx) => tx.executionOfCall('run', 1, 0)))?.id).toBe('a');
        expect(await read((tx) => tx.executionOfCall('run', 2, 0))).toBeUndefined();
        expect(await ids((tx) => tx.openExecutionsOf('ada', 'r'))).toEqual(['c', 'b']);
        expect(await ids((tx) => tx.unassignedExecutions('ada'))).toEqual(['d', 'h']);
        expect(await ids((tx) => tx.allowedExecutions())).toEqual([...['c', 'b', 'd', 'f', 'g', 'h', 'i']]);
        expect(await read((tx) => tx.countAwaiting('ada', 'token'))).toBe(1);
        expect(await read((tx) => tx.countAwaiting('ada', 'another token'))).toBe(0);
      });

      it('finds pending approvals of a person, of a session and by their deadline', async () => {
        await insert('approvals', approvalRow({ id: 'late', deadline_at: 30, created_at: 1 }));
        await insert('approvals', approvalRow({ id: 'soon', deadline_at: 10, created_at: 2 }));
        await insert('approvals', approvalRow({ id: 'decided', deadline_at: 5, status: 'approved' }));
        await insert(
          'approvals',
          approvalRow({ id: 'hers', deadline_at: 20, user_id: 'grace', session_id: 's2' }),
        );
        expect(await ids((tx) => tx.pendingApprovals('ada'))).toEqual(['late', 'soon']);
        expect(await ids((tx) => tx.pendingTrials('ada'))).toEqual([]);
        const trial = { runner_id: 'runner-1', instance: null };
        await store.write((tx) => tx.update('approvals', 'soon', { trial }));
        expect(await ids((tx) => tx.pendingTrials('ada'))).toEqual(['soon']);
        expect((await read((tx) => tx.get('approvals', 'soon')))?.trial).toEqual(trial);
        expect(await read((tx) => tx.countPendingApprovals('session'))).toBe(2);
        expect(await read((tx) => tx.pendingInProject('ada', 'project'))).toEqual([
          { id: 'late', session_id: 'session', tool_name: 'write_file' },
          { id: 'soon', session_id: 'session', tool_name: 'write_file' },
        ]);
        expect(await read((tx) => tx.pendingInProject('ada', 'another'))).toEqual([]);
        expect(await read((tx) => tx.soonestDeadlines(2))).toEqual([
          { id: 'soon', deadline_at: 10 },
          { id: 'hers', deadline_at: 20 },
        ]);
        expect(await read((tx) => tx.peekApproval('soon'))).toEqual({ tool_id: 'tool' });
        expect(await read((tx) => tx.peekApproval('nothing'))).toBeUndefined();
      });

      it('[EV-2] omits previews and call parameters from a list when they are too large', async () => {
        const preview = { kind: 'summary', summary: 'what happens' } as const;
        const params = { path: 'a.md', content: 'x' };
        const said = { description: 'agent wants to change a.md', offered_scopes: [] };
        for (const [id, size] of [
          ['small', largestShown],
          ['large', largestShown + 1],
        ] as const) {
          await insert('approvals', approvalRow({ id, tool_id: id, preview, preview_size: size }));
          await insert('payloads', payloadRow({ ...said, id, params, params_size: size }));
        }
        await insert('approvals', approvalRow({ id: 'decided', tool_id: 'small', status: 'approved' }));
        await insert(
          'approvals',
          approvalRow({ id: 'alone', tool_id: 'gone', preview: null, preview_size: 0 }),
        );
        const nothing = { description: null, offered_scopes: null, params: null };
        expect(
          await read((tx) => tx.shownApprovals(['small', 'unknown', 'large', 'decided', 'alone'])),
        ).toEqual([
          {
            approval: approvalRow({ id: 'alone', tool_id: 'gone', preview: null, preview_size: 0 }),
            payload: nothing,
          },
          {
            approval: approvalRow({
              id: 'large',
              tool_id: 'large',
              preview: null,
              preview_size: largestShown + 1,
            }),
            payload: { ...said, params: null },
          },
          {
            approval: approvalRow({ id: 'small', tool_id: 'small', preview, preview_size: largestShown }),
            payload: { ...said, params },
          },
        ]);
        expect(await read((tx) => tx.shownApprovals([]))).toEqual([]);
        expect((await read((tx) => tx.get('approvals', 'large')))?.preview).toEqual(preview);
        expect(await read((tx) => tx.shownPayload('small'))).toEqual({ ...said, params });
        expect(await read((tx) => tx.shownPayload('large'))).toEqual({ ...said, params: null });
        expect(await store.write((tx) => tx.shownPayload('small'))).toMatchObject({ ...said, params });
        expect(await read((tx) => tx.shownPayload('nothing'))).toEqual(nothing);
      });

      it('[AP-6] returns the edited parameters of a call, also inside a unit', async () => {
        const edited = payloadRow({ id: 'edited', requested_params: { path: 'b.md' } });
        await insert('payloads', payloadRow({ id: 'as-asked' }), edited);
        const both = function* (tx: Reading) {
          return [
            yield* tx.editedParams('as-asked'),
            yield* tx.editedParams('edited'),
            yield* tx.editedParams('nothing'),
          ];
        };
        expect(await read(both)).toEqual([null, edited.params, null]);
        expect(await store.write(both)).toEqual([null, edited.params, null]);
      });

      it('[AP-4] finds live grants', async () => {
        await insert(
          'grants',
          grantRow({ id: 'a', created_at: 1 }),
          grantRow({ id: 'b', created_at: 2, expires_at: 101 }),
          grantRow({ id: 'c', created_at: 3, expires_at: 100 }),
          grantRow({ id: 'd', created_at: 4, revoked_at: 50 }),
          grantRow({ id: 'e', created_at: 5, project_id: 'other' }),
          grantRow({ id: 'f', user_id: 'grace' }),
        );
        expect(await ids((tx) => tx.liveGrants('ada', 'project', 100))).toEqual(['a', 'b']);
        expect(await ids((tx) => tx.grantsOf('ada'))).toEqual(['a', 'b', 'c', 'd', 'e']);
      });

      it('finds runners and tokens of a person', async () => {
        await insert(
          'runners',
          runnerRow({ id: 'b' }),
          runnerRow({ id: 'a' }),
          runnerRow({ id: 'c', user_id: 'x' }),
        );
        await insert('tokens', tokenRow({ id: 'b', created_at: 1 }), tokenRow({ id: 'a', created_at: 2 }));
        expect(await ids((tx) => tx.runnersOf('ada'))).toEqual(['a', 'b']);
        expect(await ids((tx) => tx.tokensOf('ada'))).toEqual(['b', 'a']);
      });

      it('[AP-9] binds a token of scope runner once, whichever node is first', async () => {
        const caller = { userId: 'ada', tokenId: 't', scope: 'runner' } as const;
        const [here, there] = [new RunnerBindings(store), new RunnerBindings(store)];
        const opened = (node: RunnerBindings, runner_id: string) =>
          node.runnerOfStream(caller, { runner_id, instance: 'journal' }).then(
            (runner) => runner.runner_id,
            (error: Refusal) => error.code,
          );
        const answers = await Promise.all([
          opened(here, 'a'),
          opened(there, 'b'),
          opened(here, 'c'),
          opened(there, 'd'),
        ]);
        const { runner_id = '', instance } = (await read((tx) => tx.get('runner_bindings', 't@ada'))) ?? {};
        const refused = 'RUNNER_TOKEN_BOUND';
        expect([instance, answers.toSorted()]).toEqual([
          'journal',
          [refused, refused, refused, runner_id].toSorted(),
        ]);
        expect([await opened(here, runner_id), await opened(there, runner_id)]).toEqual([
          runner_id,
          runner_id,
        ]);
        const others = { ...caller, userId: 'bob' };
        expect(await here.runnerOfReport(others, { runner_id: 'x', instance: 'own' })).toEqual({
          runner_id: 'x',
          instance: 'own',
        });
      });

      it('[EX-7] finds connected runners, and the calls of runners that are gone', async () => {
        await insert(
          'runners',
          runnerRow({ id: 'a@ada', runner_id: 'a', last_seen_at: 100 }),
          runnerRow({ id: 'b@ada', runner_id: 'b', last_seen_at: 200 }),
          runnerRow({ id: 'c@ada', runner_id: 'c', last_seen_at: 300, connected: false }),
          runnerRow({ id: 'd@ada', runner_id: 'd', last_seen_at: 300, workspace: '/other' }),
          runnerRow({ id: 'a@bob', runner_id: 'a', user_id: 'bob', last_seen_at: 50, connected: false }),
        );
        const present = (since: number) => read((tx) => tx.presentRunners('ada', '/home/ada/engine', since));
        expect([await present(99), await present(100), await present(200)]).toEqual([['b', 'a'], ['b'], []]);
        expect(await ids((tx) => tx.silentRunners(200, 10))).toEqual(['a@ada', 'b@ada']);
        expect(await ids((tx) => tx.silentRunners(300, 1))).toEqual(['a@ada']);
        await insert(
          'tool_executions',
          executionRow({ id: '1', status: 'executing', runner_id: 'a' }),
          executionRow({ id: '2', status: 'executing', runner_id: 'c' }),
          executionRow({ id: '3', status: 'approved', runner_id: 'nobody' }),
          executionRow({ id: '4', status: 'approved', runner_id: 'a', user_id: 'bob' }),
          executionRow({ id: '5', status: 'completed', runner_id: 'c' }),
          executionRow({ id: '6', status: 'awaiting_approval', runner_id: 'c' }),
          executionRow({ id: '7', status: 'approved', runner_id: null }),
        );
        expect((await ids((tx) => tx.strandedExecutions(10))).sort()).toEqual(['2', '3', '4']);
        expect(await ids((tx) => tx.strandedExecutions(1))).toHaveLength(1);
        const heard = async () => (await read((tx) => tx.runnersOf('ada'))).map((row) => row.last_seen_at);
        await store.write((tx) => tx.markRunnersSeen(250, 300));
        expect(await heard()).toEqual([250, 250, 300, 300]);
        // After the clock was set back: no last_seen_at is in the future.
        await store.write((tx) => tx.markRunnersSeen(150, 250));
        expect(await heard()).toEqual([250, 250, 300, 150]);
      });

      it('[EX-10] finds overdue calls, the longest overdue first', async () => {
        await insert(
          'tool_executions',
          executionRow({ id: 'a', status: 'approved', due_at: 20 }),
          executionRow({ id: 'b', status: 'executing', due_at: 10, user_id: 'bob' }),
          executionRow({ id: 'c', status: 'approved', due_at: 31 }),
          executionRow({ id: 'd', status: 'failed', due_at: 5 }),
          executionRow({ id: 'e', status: 'approved', due_at: null }),
        );
        expect(await ids((tx) => tx.dueExecutions(30, 10))).toEqual(['b', 'a']);
        expect(await ids((tx) => tx.dueExecutions(30, 1))).toEqual(['b']);
      });

      it('[AG-3] finds calls that are open although their run has ended', async () => {
        await insert('runs', runRow({ id: 'on' }), runRow({ id: 'over', status: 'stopped' }));
        const call = { step: 0, call_index: 0 };
        await insert(
          'tool_executions',
          executionRow({ id: 'a', ...call, run_id: 'on', status: 'executing' }),
          executionRow({ id: 'b', ...call, run_id: 'over', status: 'awaiting_approval' }),
          executionRow({ id: 'c', run_id: 'over', step: 0, call_index: 1, status: 'completed' }),
          executionRow({
            id: 'd',
            run_id: 'over',
            step: 0,
            call_index: 2,
            status: 'executing',
            cancel_requested: true,
          }),
          executionRow({ id: 'e', status: 'approved' }),
        );
        expect(await ids((tx) => tx.leftoverExecutions(10))).toEqual(['b']);
      });

      it('[AG-2] renews the leases of one node, and says which', async () => {
        await insert(
          'runs',
          runRow({ id: 'a', lease_owner: 'one', lease_until: 5, epoch: 3 }),
          runRow({ id: 'b', lease_owner: 'two', lease_until: 5 }),
          runRow({ id: 'c', lease_owner: 'one', lease_until: 5, status: 'completed' }),
        );
        expect(await store.write((tx) => tx.renewLeases('one', 100))).toEqual([{ id: 'a', epoch: 3 }]);
        const until = async (id: string) => (await read((tx) => tx.get('runs', id)))?.lease_until;
        expect([await until('a'), await until('b'), await until('c')]).toEqual([100, 5, 5]);
      });

      it('[AG-2] corrects leases and node rows in the future after the clock was set back', async () => {
        await insert(
          'runs',
          runRow({ id: 'a', lease_until: 50 }),
          runRow({ id: 'b', lease_until: 5_000 }),
          runRow({ id: 'c', lease_until: null }),
          runRow({ id: 'd', lease_until: 5_000, status: 'completed' }),
        );
        await insert('nodes', nodeRow({ id: 'heard', seen_at: 40 }), nodeRow({ id: 'later', seen_at: 41 }));
        await store.write(function* (tx) {
          yield* tx.capRunLeases(50);
          yield* tx.capNodesSeenAt(40);
        });
        const leases = await read(function* (tx) {
          const found: (number | null | undefined)[] = [];
          for (const id of ['a', 'b', 'c', 'd']) found.push((yield* tx.get('runs', id))?.lease_until);
          return found;
        });
        expect(leases).toEqual([50, 50, null, 5_000]);
        const nodes = await read((tx) => tx.liveNodes(0));
        expect(nodes.map(({ id, seen_at }) => [id, seen_at])).toEqual([
          ['heard', 40],
          ['later', 40],
        ]);
      });

      it('finds live nodes, and the version of a policy', async () => {
        await insert('nodes', nodeRow({ id: 'b', seen_at: 10 }), nodeRow({ id: 'a', seen_at: 11 }));
        await insert('nodes', nodeRow({ id: 'gone', seen_at: 0 }));
        expect(await ids((tx) => tx.liveNodes(9))).toEqual(['a', 'b']);
        expect(await ids((tx) => tx.liveNodes(10))).toEqual(['a']);
        await insert('policies', policyRow({ version: 7 }));
        expect([
          await read((tx) => tx.policyVersion('ada')),
          await read((tx) => tx.policyVersion('bob')),
        ]).toEqual([7, 0]);
      });

      it('[RN-8] keeps the custom tools of a runner', async () => {
        const tool = {
          name: 'deploy__run',
          description: 'Deploys\u0000',
          input_schema: { type: 'object', properties: { a: { enum: [null, 1.5, 'x'] } } },
          risk_level: 'HIGH' as const,
          read_only: false,
          destructive: true,
          network: false,
          category: 'deployment',
          requires_approval: true,
        };
        await insert('runners', runnerRow({ id: 'a' }));
        await store.write(function* (tx) {
          yield* tx.update('runners', 'a', { custom_tools: [tool] });
        });
        const [row] = await store.read((tx) => tx.runnersOf('ada'));
        expect(row?.custom_tools).toEqual([tool]);
      });

      it('[AG-3] counts rejections of a call in a session, or by one program', async () => {
        await insert(
          'tool_executions',
          executionRow({ id: 'a', status: 'rejected', params_digest: 'x' }),
          executionRow({ id: 'b', status: 'rejected', params_digest: 'x' }),
          executionRow({ id: 'c', status: 'rejected', params_digest: 'y' }),
          executionRow({ id: 'd', status: 'completed', params_digest: 'x' }),
          executionRow({ id: 'e', status: 'rejected', params_digest: 'x', session_id: 'other' }),
          executionRow({ id: 'f', status: 'rejected', params_digest: 'x', requested_by: 'other' }),
          executionRow({ id: 'g', status: 'rejected', params_digest: 'x', user_id: 'grace' }),
        );
        const count = (sessionId: string, requestedBy: string | null) =>
          read((tx) => tx.countRejections('ada', { paramsDigest: 'x', sessionId, requestedBy }));
        expect(await count('session', null)).toBe(3);
        expect(await count('other', 'other')).toBe(2);
        expect(await count('new', 'token')).toBe(3);
        expect(await count('new', 'nobody')).toBe(0);
      });

      it('[OB-1] counts calls and times for each tool', async () => {
        const times = [10, 20, 30, 40];
        await insert(
          'approvals',
          approvalRow({ id: 'ap', created_at: 100, decided_at: 600, status: 'approved' }),
        );
        await insert(
          'tool_executions',
          ...times.map((ms, place) =>
            executionRow({ id: `r${place}`, status: 'completed', execution_time_ms: ms }),
          ),
          executionRow({ id: 'f', status: 'failed', approval_id: 'ap' }),
          executionRow({ id: 'w1', tool_name: 'write_file', status: 'rejected' }),
          executionRow({ id: 'w2', tool_name: 'write_file', status: 'timeout' }),
          executionRow({ id: 'w3', tool_name: 'write_file', status: 'executing' }),
          executionRow({ id: 'old', tool_name: 'write_file', created_at: 1 }),
          executionRow({ id: 'hers', user_id: 'grace' }),
        );
        expect(await read((tx) => tx.metrics('ada', { since: 1_000 }))).toEqual([
          {
            tool_name: 'read_file',
            total_calls: 5,
            success_count: 4,
            error_count: 1,
            rejected_count: 0,
            avg_execution_time_ms: 25,
            p50_execution_time_ms: 20,
            p95_execution_time_ms: 40,
            avg_approval_wait_ms: 500,
            p50_approval_wait_ms: 500,
            p95_approval_wait_ms: 500,
          },
          {
            tool_name: 'write_file',
            total_calls: 3,
            success_count: 0,
            error_count: 1,
            rejected_count: 1,
            avg_execution_time_ms: null,
            p50_execution_time_ms: null,
            p95_execution_time_ms: null,
            avg_approval_wait_ms: null,
            p50_approval_wait_ms: null,
            p95_approval_wait_ms: null,
          },
        ]);
      });
    });

    it('[OB-1] counts calls of one project, and over time', async () => {
      await insert(
        'tool_executions',
        executionRow({ id: 'a', created_at: 1_000, status: 'completed', execution_time_ms: 10 }),
        executionRow({ id: 'b', created_at: 1_099, status: 'failed', execution_time_ms: 20 }),
        executionRow({ id: 'c', created_at: 1_250, status: 'rejected', tool_name: 'write_file' }),
        executionRow({ id: 'd', created_at: 1_250, status: 'completed', project_id: 'other' }),
        executionRow({ id: 'old', created_at: 999 }),
      );
      const here = { since: 1_000, projectId: 'project' };
      const names = (await read((tx) => tx.metrics('ada', here))).map((row) => [
        row.tool_name,
        row.total_calls,
      ]);
      expect(names).toEqual([
        ['read_file', 2],
        ['write_file', 1],
      ]);
      const none = { success_count: 0, error_count: 0, rejected_count: 0 };
      const times = { avg_execution_time_ms: null, avg_approval_wait_ms: null };
      expect(await read((tx) => tx.metricsSeries('ada', { ...here, bucketMs: 100 }))).toEqual([
        {
          tool_name: 'read_file',
          bucket: 0,
          total_calls: 2,
          ...none,
          success_count: 1,
          error_count: 1,
          ...times,
          avg_execution_time_ms: 15,
        },
        { tool_name: 'write_file', bucket: 2, total_calls: 1, ...none, rejected_count: 1, ...times },
      ]);
      expect(await read((tx) => tx.metricsSeries('ada', { since: 1_000, bucketMs: 1_000 }))).toHaveLength(2);
    });

    describe('history', () => {
      it('[RE-2] searches tool, parameters, result and error for words, in any case', async () => {
        await insert(
          'tool_executions',
          executionRow({ id: 'a', tool_name: 'write_file', tool_params: { path: 'Отчёт "май".md' } }),
          executionRow({ id: 'b', tool_name: 'shell_exec', tool_params: { command: 'npm run Build' } }),
          executionRow({ id: 'c', tool_name: 'read_file', tool_params: null, error: 'Nothing to Build' }),
          executionRow({ id: 'd', user_id: 'grace', tool_params: { command: 'npm run build' } }),
        );
        const printed = { success: true, stdout: 'AssertionError:\texpected "3"\n' };
        await insert(
          'results',
          resultRow({ id: 'b', result: printed }),
          resultRow({ id: 'd', result: printed }),
        );
        const found = (...words: string[]) =>
          ids((tx) => tx.history('ada', { words, limit: 50 })).then((some) => some.sort());
        expect(await found('build')).toEqual(['b', 'c']);
        expect(await found('SHELL', 'build')).toEqual(['b']);
        expect(await found('assertionerror', 'build')).toEqual(['b']);
        expect(await found('"3"')).toEqual(['b']);
        expect(await found('отчёт')).toEqual(['a']);
        expect(await found('"май"')).toEqual(['a']);
        expect(await found('write_file', 'build')).toEqual([]);
        expect(
          await ids((tx) => tx.history('ada', { words: ['build'], status: 'rejected', limit: 5 })),
        ).toEqual([]);
      });

      it('[AP-5] finds the decisions of any number of calls', async () => {
        const some = Array.from({ length: 120 }, (_, i) => `approval-${i}`);
        for (const [i, id] of some.entries())
          await insert(
            'approvals',
            approvalRow({ id, status: i === 0 ? 'pending' : 'rejected', message: `no ${i}` }),
          );
        const found = await read((tx) => tx.decidedApprovals([...some, 'unknown']));
        expect(found.map(({ id }) => id).sort()).toEqual(some.slice(1).sort());
        expect(found.find(({ id }) => id === 'approval-7')).toMatchObject({
          status: 'rejected',
          message: 'no 7',
        });
      });

      it('[RE-2] pages back through calls of the same millisecond without losing or repeating one', async () => {
        await insert(
          'tool_executions',
          ...Array.from({ length: 25 }, (_, place) =>
            executionRow({ id: `t${String(place).padStart(2, '0')}`, created_at: Math.floor(place / 10) }),
          ),
          executionRow({ id: 'hers', user_id: 'grace' }),
        );
        const pages: string[][] = [];
        let before: HistoryFilter['before'];
        for (;;) {
          const cursor = before === undefined ? {} : { before };
          const page = await read((tx) => tx.history('ada', { ...cursor, limit: 7 }));
          const last = page.at(-1);
          if (last === undefined) break;
          pages.push(page.map(({ id }) => id));
          before = { createdAt: last.created_at, id: last.id };
        }
        expect(pages.map((page) => page.length)).toEqual([7, 7, 7, 4]);
        expect(pages.flat()).toEqual(
          Array.from({ length: 25 }, (_, place) => `t${String(24 - place).padStart(2, '0')}`),
        );
      });

      const filters: readonly (readonly [string, Omit<HistoryFilter, 'limit'>, readonly string[]])[] = [
        ['nothing', {}, ['f', 'e', 'd', 'c', 'b', 'a']],
        ['project', { projectId: 'p2' }, ['b']],
        ['session', { sessionId: 's2' }, ['c']],
        ['run', { runId: 'run' }, ['d']],
        ['tool', { toolName: 'git_push' }, ['e']],
        ['an unusual state', { status: 'rejected' }, ['e']],
        ['an open state', { status: 'approved' }, ['b']],
        ['the usual state', { status: 'completed' }, ['f', 'd', 'c', 'a']],
        ['high risk', { riskLevel: 'HIGH' }, ['e']],
        ['low risk', { riskLevel: 'LOW' }, ['f', 'd', 'c', 'b', 'a']],
        ['since', { since: 5 }, ['f', 'e']],
        ['until', { until: 3 }, ['b', 'a']],
        ['between', { since: 2, until: 5 }, ['d', 'c', 'b']],
        ['before', { before: { createdAt: 3, id: 'c' } }, ['b', 'a']],
        ['several', { riskLevel: 'HIGH', toolName: 'git_push', status: 'rejected', since: 1 }, ['e']],
        ['what does not meet', { toolName: 'git_push', sessionId: 'nowhere' }, []],
      ];
      it.each(filters)('[RE-2] filters by %s', async (_, filter, expected) => {
        await insert(
          'tool_executions',
          executionRow({ id: 'a', created_at: 1, status: 'completed' }),
          executionRow({ id: 'b', created_at: 2, project_id: 'p2' }),
          executionRow({ id: 'c', created_at: 3, session_id: 's2', status: 'completed' }),
          executionRow({
            id: 'd',
            created_at: 4,
            run_id: 'run',
            step: 0,
            call_index: 0,
            status: 'completed',
          }),
          executionRow({
            id: 'e',
            created_at: 5,
            tool_name: 'git_push',
            status: 'rejected',
            risk_level: 'HIGH',
          }),
          executionRow({ id: 'f', created_at: 6, requested_by: 'agent', status: 'completed' }),
        );
        expect(await ids((tx) => tx.history('ada', { ...filter, limit: 50 }))).toEqual(expected);
      });
    });

    it('[EV-2] gives streams that open during decisions a consistent snapshot and all later events', async () => {
      const engine = new Engine({
        store,
        bus: { publish: () => {}, subscribe: () => () => {} },
        clock: systemClock,
        masker: new SecretMasker({ digest: String }),
        onError: (error) => expect(error).toBeUndefined(),
      });
      const about = (name: string, id: string) =>
        ({ projectId: 'project', event: { event: name, data: { approval_id: id } } as never }) as const;
      const requested = (id: string) =>
        store.write(function* (tx) {
          yield* tx.insert('approvals', approvalRow({ id, tool_id: id, created_at: store.now() }));
          yield* tx.insert('payloads', payloadRow({ id }));
          tx.announce('ada', { events: [about('tool.approval_request', id)] });
        });
      const decided = (id: string) =>
        store.write(function* (tx) {
          yield* tx.update('approvals', id, { status: 'rejected' });
          tx.announce('ada', { events: [about('approval.resolved', id)] });
        });
      await Promise.all(Array.from({ length: 130 }, (_, place) => requested(`r${place}`)));
      const opened = Array.from({ length: 4 }, async () => {
        const cards = new Set<string>();
        let twice = 0;
        await engine.openStream(
          {
            userId: 'ada',
            projectId: undefined,
            runnerId: undefined,
            mayExecute: false,
            lastEventId: undefined,
          },
          {
            send({ event, data }) {
              const { approval_id: id } = data as { approval_id: string };
              if (event === 'tool.approval_request' && cards.has(id)) twice += 1;
              if (event === 'tool.approval_request') cards.add(id);
              if (event === 'approval.resolved' && !cards.delete(id)) twice += 1;
              return true;
            },
            end: () => {},
          },
        );
        return { cards, twice: () => twice };
      });
      for (let place = 0; place < 30; place += 1)
        await Promise.all([decided(`r${place * 4}`), requested(`late-${place}`)]);
      const streams = await Promise.all(opened);
      await engine.streams.tick();
      const pending = (await ids((tx) => tx.pendingApprovals('ada'))).sort();
      expect(pending).toHaveLength(130);
      await expect
        .poll(() => streams.map(({ cards }) => [...cards].sort()))
        .toEqual(streams.map(() => pending));
      expect(streams.map(({ twice }) => twice())).toEqual([0, 0, 0, 0]);
      engine.close();
    });

    it('[AP-10] keeps everything when it is reopened', async () => {
      await store.write(function* (tx) {
        yield* tx.insert('approvals', approvalRow());
        tx.announce('ada', { events: [event(1)], audit: [entry(1)] });
      });
      store = await opened.reopen();
      expect(await ids((tx) => tx.pendingApprovals('ada'))).toEqual(['approval']);
      await announce('ada', { events: [event(2)], audit: [entry(2)] });
      expect((await read((tx) => tx.events('ada', 0, 10))).map(({ id }) => id)).toEqual([1, 2]);
      expectChain(await read((tx) => tx.audit('ada', 0, 10)));
    });

    it('[AP-3] has a clock that never goes back', async () => {
      const times = Array.from({ length: 1_000 }, () => store.now());
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(times.every(Number.isSafeInteger)).toBe(true);
    });
  });
}

/** An event that carries a number; a store does not look at the kind of event. */
function event(number: number): NonNullable<Announcement['events']>[number] {
  const data = { state: 'idle', run_id: null, session_id: 'session', project_id: 'project', number };
  return { projectId: 'project', event: { event: 'agent.state', data } as unknown as ServerEvent };
}

const numberOf = (stored: ServerEvent): unknown =>
  (stored as unknown as { data: { number: number } }).data.number;

const entry = (number: number): NonNullable<Announcement['audit']>[number] => ({
  action: 'approval.approved',
  subject: `approval-${number}`,
  data: { zebra: number, device: 'phone', nested: { b: [1, null], a: 'ä' } },
});

function newestOf(hints: readonly Hint[], userId: string): number {
  return hints.reduce(
    (newest, hint) =>
      hint.kind === 'events' && hint.userId === userId ? Math.max(newest, hint.newest) : newest,
    0,
  );
}

function expectChain(rows: readonly AuditRow[]): void {
  let previous = auditGenesis;
  for (const row of rows) {
    expect(row.previous_hash).toBe(previous);
    expect(row.hash).toBe(auditHash(row));
    previous = row.hash;
  }
}
