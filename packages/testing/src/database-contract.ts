import { type Announcement, type AuditRow, auditHash, type Bus } from '@countersign/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenedStore } from './store-contract.ts';
import {
  approvalRow,
  executionRow,
  fileChangeRow,
  nodeRow,
  payloadRow,
  resultRow,
  runnerBindingRow,
} from './stored-rows.ts';

/** A store in a database, which also promises a tamper-evident log and the removal of expired rows. */
export interface OpenedDatabase extends Omit<OpenedStore, 'reopen'> {
  /** Runs SQL directly, bypassing the store. */
  execute(sql: string): Promise<void>;
  /** SQL that removes the protection of the audit log, as the database's owner could. */
  readonly unprotectAudit: string;
  verify(
    userId: string,
    witness?: string,
  ): Promise<
    | { readonly ok: true; readonly rows: number; readonly head: string }
    | { readonly ok: false; readonly seq: number; readonly problem: string }
  >;
  exportLines(format: 'ndjson' | 'csv'): AsyncIterable<string>;
  sweep(limits: {
    readonly now: number;
    readonly rowsAtOnce?: number;
    readonly unitsAtMost?: number;
  }): Promise<unknown>;
}

const day = 24 * 60 * 60 * 1_000;

/** Registers tests; `open` returns an empty database whose clock is `now`. */
export function databaseContract(
  name: string,
  open: (bus: Bus, now: () => number) => Promise<OpenedDatabase>,
): void {
  describe(`the contract of a database: ${name}`, () => {
    let database: OpenedDatabase;
    let now: number;
    beforeEach(async () => {
      now = 1_800_000_000_000;
      database = await open({ publish: () => {}, subscribe: () => () => {} }, () => now);
    });
    afterEach(() => database.remove());

    const announce = (userId: string, announcement: Announcement): Promise<void> =>
      // biome-ignore lint/correctness/useYield: only an announcement
      database.store.write(function* (tx) {
        tx.announce(userId, announcement);
      });

    describe('the audit log', () => {
      beforeEach(async () => {
        for (const number of [1, 2, 3, 4]) {
          const data = { device: 'phone, "mine"', number };
          await announce('ada', { audit: [{ action: 'approval.approved', subject: `a${number}`, data }] });
        }
        await announce('grace', { audit: [{ action: 'token.made', subject: 't', data: null }] });
      });

      it('[DA-4] verifies as it was written', async () => {
        const { hash } = await database.store.read((tx) => tx.auditHead('ada'));
        expect(await database.verify('ada')).toEqual({ user_id: 'ada', ok: true, rows: 4, head: hash });
        expect(await database.verify('nobody')).toMatchObject({ ok: true, rows: 0 });
      });

      it('[DA-4] cannot be changed by mistake', async () => {
        for (const sql of ['update audit set action = action', 'delete from audit']) {
          await expect(database.execute(sql)).rejects.toThrow('append-only');
        }
        expect(await database.verify('ada')).toMatchObject({ ok: true, rows: 4 });
      });

      const changes: readonly (readonly [string, string, number])[] = [
        ['a changed action', `update audit set action = 'approval.rejected' where seq = 2`, 2],
        ['changed data', `update audit set data = '{"device":"laptop"}' where seq = 3`, 3],
        ['a changed time', `update audit set at = at + 1 where seq = 1`, 1],
        ['a changed hash', `update audit set hash = previous_hash where seq = 2`, 2],
        ['a row taken out', `delete from audit where seq = 2 and user_id = 'ada'`, 2],
        ['a first row taken out', `delete from audit where seq = 1 and user_id = 'ada'`, 1],
        ['a tail cut off', `delete from audit where seq > 2`, 3],
        ['everything cut off', `delete from audit where user_id = 'ada'`, 1],
        [
          'a tail cut off with its counter put back',
          `delete from audit where seq > 2; update counters set audit_seq = 2 where user_id = 'ada'`,
          3,
        ],
        ['a counter taken away', `delete from counters where user_id = 'ada'`, 1],
      ];
      it.each(changes)('[DA-4] detects %s, and where', async (_, sql, seq) => {
        await database.execute(`${database.unprotectAudit}; ${sql}`);
        expect(await database.verify('ada')).toMatchObject({ ok: false, seq });
      });

      it('[DA-4] detects a row that was changed with its hash: the next one does not follow it', async () => {
        const [, row] = await database.store.read((tx) => tx.audit('ada', 0, 2));
        const forged = { ...(row as AuditRow), action: 'approval.rejected' };
        const { hash: _, ...content } = forged;
        await database.execute(`${database.unprotectAudit}; update audit
          set action = 'approval.rejected', hash = '${auditHash(content)}' where seq = 2 and user_id = 'ada'`);
        expect(await database.verify('ada')).toEqual({
          user_id: 'ada',
          ok: false,
          seq: 3,
          problem: 'The row does not follow the one before it.',
        });
      });

      it('[DA-4] detects by a kept head that the tail was cut and the counter changed to fit', async () => {
        const witness = (await database.store.read((tx) => tx.auditHead('ada'))).hash;
        expect(await database.verify('ada', witness)).toMatchObject({ ok: true });
        await database.execute(`${database.unprotectAudit}; delete from audit where seq > 2;
          update counters set audit_seq = 2, audit_head =
            (select hash from audit where seq = 2 and user_id = 'ada') where user_id = 'ada'`);
        expect(await database.verify('ada')).toMatchObject({ ok: true, rows: 2 });
        expect(await database.verify('ada', witness)).toMatchObject({ ok: false, seq: 3 });
      });

      it('[DA-4] is exported as NDJSON and as CSV', async () => {
        const lines = await collect(database.exportLines('ndjson'));
        expect(lines.map((line) => JSON.parse(line).subject)).toEqual(['a1', 'a2', 'a3', 'a4', 't']);
        const rows = await database.store.read((tx) => tx.audit('ada', 0, 1));
        expect(JSON.parse(lines[0] as string)).toEqual(rows[0]);

        const csv = await collect(database.exportLines('csv'));
        expect(csv).toHaveLength(6);
        expect(csv[0]).toBe('user_id,seq,at,action,subject,data,previous_hash,hash\r\n');
        expect(csv[1]).toContain(
          `ada,1,${now},approval.approved,a1,"{""device"":""phone, \\""mine\\"""",""number"":1}",`,
        );
      });
    });

    describe('expired rows', () => {
      const event = { projectId: null, event: { event: 'agent.state', data: {} } as never };

      it('[EV-2] removes events after 7 days, and says at which id the rest begins', async () => {
        await announce('ada', { events: [event, event], audit: [{ action: 'a', subject: 's', data: 1 }] });
        now += 6 * day;
        await announce('ada', { events: [event] });
        now += 2 * day;
        expect(await database.sweep({ now })).toMatchObject({
          events: 2,
          payloads: 0,
          previews: 0,
          diffs: 0,
          nodes: 0,
          bindings: 0,
        });
        const bounds = () => database.store.read((tx) => tx.eventBounds('ada'));
        expect(await bounds()).toEqual({ oldest: 3, newest: 3 });
        now += 30 * day;
        await database.sweep({ now });
        expect(await bounds()).toEqual({ oldest: 4, newest: 3 });
        await announce('ada', { events: [event] });
        expect(await bounds()).toEqual({ oldest: 4, newest: 4 });
        expect(await database.verify('ada')).toMatchObject({ ok: true, rows: 1 });
      });

      it('removes servers that are long gone', async () => {
        await database.store.write(function* (tx) {
          yield* tx.insert('nodes', nodeRow({ id: 'gone', started_at: now - 3 * day, seen_at: 0 }));
          yield* tx.insert('nodes', nodeRow({ id: 'stopped', started_at: now - 60_000, seen_at: 0 }));
          yield* tx.insert('nodes', nodeRow({ id: 'there', started_at: now - 3 * day, seen_at: now }));
        });
        expect(await database.sweep({ now })).toMatchObject({ nodes: 1 });
        expect(await database.store.read((tx) => tx.get('nodes', 'gone'))).toBeUndefined();
        expect((await database.store.read((tx) => tx.liveNodes(-1))).map(({ id }) => id)).toEqual([
          'stopped',
          'there',
        ]);
      });

      it('[AP-9] removes the runner binding of an expired token, and no other', async () => {
        await database.store.write(function* (tx) {
          yield* tx.insert('runner_bindings', runnerBindingRow({ id: 'ended', expires_at: now - 2 * day }));
          yield* tx.insert('runner_bindings', runnerBindingRow({ id: 'good', expires_at: now + day }));
          yield* tx.insert('runner_bindings', runnerBindingRow({ id: 'endless', expires_at: null }));
        });
        expect(await database.sweep({ now })).toMatchObject({ bindings: 1 });
        const left = ['ended', 'good', 'endless'].map((id) =>
          database.store.read((tx) => tx.get('runner_bindings', id)),
        );
        expect((await Promise.all(left)).map((row) => row?.id)).toEqual([undefined, 'good', 'endless']);
      });

      it('[DA-3] removes payloads, results, previews and diffs after 30 days, but not those of an open call', async () => {
        const shown = {
          preview_size: 14,
          preview: { kind: 'directory', path: 'src' },
        } as const;
        const card = { ...shown, created_at: now };
        await database.store.write(function* (tx) {
          for (const [id, status] of [
            ['done', 'completed'],
            ['open', 'awaiting_approval'],
          ] as const) {
            yield* tx.insert('tool_executions', executionRow({ id, status, created_at: now }));
            yield* tx.insert('payloads', payloadRow({ id, created_at: now }));
            yield* tx.insert('results', resultRow({ id, created_at: now }));
          }
          yield* tx.insert('approvals', approvalRow({ ...card, id: 'done', status: 'approved' }));
          yield* tx.insert('approvals', approvalRow({ ...card, id: 'open' }));
          yield* tx.insert('file_changes', fileChangeRow({ created_at: now }));
          yield* tx.insert('file_changes', fileChangeRow({ id: 'newer', created_at: now + 29 * day }));
        });
        expect(await database.sweep({ now: now + 29 * day })).toEqual({
          events: 0,
          payloads: 0,
          results: 0,
          previews: 0,
          diffs: 0,
          nodes: 0,
          bindings: 0,
        });
        expect(await database.sweep({ now: now + 31 * day })).toEqual({
          events: 0,
          payloads: 1,
          results: 1,
          previews: 1,
          diffs: 1,
          nodes: 0,
          bindings: 0,
        });
        const left = await database.store.read(function* (tx) {
          return {
            record: (yield* tx.get('tool_executions', 'done'))?.status,
            done: yield* tx.get('payloads', 'done'),
            open: (yield* tx.get('payloads', 'open'))?.id,
            results: [(yield* tx.get('results', 'done'))?.id, (yield* tx.get('results', 'open'))?.id],
            cards: [yield* tx.get('approvals', 'done'), yield* tx.get('approvals', 'open')],
            changes: [yield* tx.get('file_changes', 'tool-0'), yield* tx.get('file_changes', 'newer')],
          };
        });
        expect(left).toEqual({
          record: 'completed',
          done: undefined,
          open: 'open',
          results: [undefined, 'open'],
          cards: [
            expect.objectContaining({
              preview_size: 0,
              preview: null,
            }),
            expect.objectContaining(shown),
          ],
          changes: [
            expect.objectContaining({ path: 'a.md', diff: null }),
            expect.objectContaining({ diff: expect.stringContaining('+new') }),
          ],
        });
      });

      it('removes a limited number of rows at a time', async () => {
        await announce('ada', { events: Array.from({ length: 50 }, () => event) });
        now += 8 * day;
        const bites = { now, rowsAtOnce: 10, unitsAtMost: 3 };
        expect(await database.sweep(bites)).toMatchObject({ events: 30 });
        expect(await database.sweep(bites)).toMatchObject({ events: 20 });
      });
    });
  });
}

async function collect(lines: AsyncIterable<string>): Promise<readonly string[]> {
  const collected: string[] = [];
  for await (const line of lines) collected.push(line);
  return collected;
}
