import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Hint } from '@countersign/engine';
import { executionRow, payloadRow, projectRow } from '@countersign/testing';
import { databaseContract } from '@countersign/testing/database-contract';
import { storeContract } from '@countersign/testing/store-contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { auditedUsers, exportAudit, verifyAudit } from './audit-log.ts';
import { InProcessBus } from './in-process-bus.ts';
import { openSqliteStore, SqliteStore } from './sqlite-store.ts';

storeContract('SQLite in a file', async (bus) => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-store-'));
  const path = join(folder, 'countersign.db');
  let store = await openSqliteStore({ path, bus });
  return {
    store,
    async reopen() {
      await store.close();
      store = await openSqliteStore({ path, bus });
      return store;
    },
    async remove() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
});

databaseContract('SQLite', async (bus, now) => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-store-'));
  const path = join(folder, 'countersign.db');
  const store = await openSqliteStore({ path, bus, now });
  return {
    store,
    async execute(sql) {
      const database = new DatabaseSync(path);
      try {
        database.exec(sql);
      } finally {
        database.close();
      }
    },
    unprotectAudit: 'drop trigger audit_no_update; drop trigger audit_no_delete',
    verify: (userId, witness) => verifyAudit(store, userId, witness),
    exportLines: (format) => exportAudit(store, auditedUsers(store), format),
    sweep: (limits) => store.sweep(limits),
    async remove() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
});

describe('SQLite', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-store-'));
    path = join(folder, 'countersign.db');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('[DA-2] lets one server have the file, by whichever name', async () => {
    const store = await openSqliteStore({ path, bus: new InProcessBus() });
    symlinkSync(path, join(folder, 'link.db'));
    for (const name of [path, join(folder, 'link.db'), join(folder, '.', 'countersign.db')]) {
      await expect(openSqliteStore({ path: name, bus: new InProcessBus() })).rejects.toThrow(
        'is in use by another Countersign server',
      );
    }
    await store.close();
    await (await openSqliteStore({ path, bus: new InProcessBus() })).close();
  });

  it('[DA-2] says what to do about a database of before the first release', async () => {
    await (await openSqliteStore({ path, bus: new InProcessBus() })).close();
    const database = new DatabaseSync(path);
    database.exec('drop table nodes');
    database.close();
    await expect(openSqliteStore({ path, bus: new InProcessBus() })).rejects.toMatchObject({
      code: 'DATABASE_IS_OLDER',
      message: expect.stringContaining('nodes.'),
    });
  });

  it('[DA-2] says what to do about a database that a newer version has changed, and leaves it alone', async () => {
    await (await openSqliteStore({ path, bus: new InProcessBus() })).close();
    const database = new DatabaseSync(path);
    database.exec(`insert into kysely_migration values ('9999-of-the-future', '2030-01-01')`);
    database.close();
    await expect(openSqliteStore({ path, bus: new InProcessBus() })).rejects.toMatchObject({
      code: 'DATABASE_IS_NEWER',
      message: expect.stringMatching(/newer version .*9999-of-the-future.* restore the backup/),
    });
    const again = new DatabaseSync(path);
    again.exec(`delete from kysely_migration where name = '9999-of-the-future'`);
    again.close();
    await (await openSqliteStore({ path, bus: new InProcessBus() })).close();
  });

  it('[DA-2] loses nothing that was acknowledged, nor the file, when the server is killed', async () => {
    const program = `
      import { openSqliteStore } from ${JSON.stringify(new URL('./sqlite-store.ts', import.meta.url).href)};
      const bus = { publish() {}, subscribe: () => () => {} };
      const store = await openSqliteStore({ path: ${JSON.stringify(path)}, bus });
      await store.write((tx) => tx.insert('projects', ${JSON.stringify(projectRow())}));
      process.stdout.write('written');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    await expect(openSqliteStore({ path, bus: new InProcessBus() })).rejects.toThrow('is in use');
    child.kill('SIGKILL');
    await once(child, 'close');
    const store = await openSqliteStore({ path, bus: new InProcessBus() });
    expect(await store.read((tx) => tx.get('projects', 'project'))).toEqual(projectRow());
    await store.close();
  });

  it('[DA-2] makes all of its tables or none, so that a start that was cut off can be repeated', async () => {
    const path = join(folder, 'countersign.db');
    const before = new DatabaseSync(path);
    before.exec('create table audit (in_the_way)'); // one of the last to be made
    before.close();
    await expect(openSqliteStore({ path, bus: new InProcessBus() })).rejects.toThrow(/already exists/);
    const after = new DatabaseSync(path);
    after.exec('drop table audit');
    expect(after.prepare("select name from sqlite_master where name = 'projects'").all()).toEqual([]);
    after.close();
    await (await openSqliteStore({ path, bus: new InProcessBus() })).close();
  });

  it('[PF-2] continues with other units during a long read', async () => {
    const store = await openSqliteStore({ path, bus: new InProcessBus() });
    const order: string[] = [];
    await Promise.all([
      store.read((tx) => tx.metrics('ada', { since: 0 })).then(() => order.push('metrics')),
      store.write((tx) => tx.insert('projects', projectRow())).then(() => order.push('write')),
    ]);
    expect(order).toEqual(['write', 'metrics']);
    const interrupted = store.read((tx) => tx.metrics('ada', { since: 0 }));
    interrupted.catch(() => {});
    await store.close();
    await Promise.allSettled([interrupted]); // answered or refused, but not left waiting
  });

  it('[DA-2] does not keep the lock of a file that it could not open', async () => {
    const broken = new DatabaseSync(path);
    broken.exec('create table projects (id text)');
    broken.close();
    await expect(openSqliteStore({ path, bus: new InProcessBus() })).rejects.toThrow('already exists');
    await expect(openSqliteStore({ path, bus: new InProcessBus() })).rejects.toThrow('already exists');
  });

  /** A store on a connection that the test can reach, and what its bus heard. */
  async function openWithin(
    prepare: (database: DatabaseSync) => void,
    onError: (error: unknown) => void = () => {},
  ) {
    await (await openSqliteStore({ path, bus: new InProcessBus() })).close();
    const database = new DatabaseSync(path);
    prepare(database);
    const bus = new InProcessBus();
    const hints: Hint[] = [];
    bus.subscribe((hint) => void hints.push(hint));
    const store = new SqliteStore(database, bus, Date.now, () => {}, onError);
    const write = (id: string, bytes = 10) =>
      store.write(function* (tx) {
        yield* tx.insert('payloads', payloadRow({ id, params: { text: 'x'.repeat(bytes) } }));
        tx.announce('ada', {
          events: [{ projectId: null, event: { event: 'agent.state', data: { id } } as never }],
          audit: [{ action: 'a', subject: id, data: null }],
        });
      });
    const written = () =>
      store.read(function* (tx) {
        const kept: string[] = [];
        for (const { subject } of yield* tx.audit('ada', 0, 10)) {
          if ((yield* tx.get('payloads', subject)) !== undefined) kept.push(subject);
        }
        return { kept, newest: (yield* tx.eventBounds('ada')).newest };
      });
    return { database, store, hints, write, written };
  }

  it('[PF-2] rejects every unit of a failed commit, sends no hint, and continues', async () => {
    const { store, hints, write, written } = await openWithin((database) =>
      // COMMIT checks a deferred foreign key: the only failure of a commit that a test can cause without a broken disk.
      database.exec(`
        pragma foreign_keys = on;
        create table nobody (id text primary key);
        create table orphan (id text references nobody (id) deferrable initially deferred);
        create trigger poison after insert on payloads when new.id = 'poison'
          begin insert into orphan values ('x'); end`),
    );
    await write('before');
    hints.length = 0;
    const outcomes = await Promise.allSettled([write('one'), write('poison'), write('two')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(hints).toEqual([]);
    await write('after');
    expect(await written()).toEqual({ kept: ['before', 'after'], newest: 2 });
    expect(hints).toHaveLength(1);
    await store.close();
  });

  it('[PF-2] survives a full disk, and reports it', async () => {
    const told: unknown[] = [];
    const { database, store, write, written } = await openWithin(
      () => {},
      (error) => told.push(error),
    );
    await write('before');
    const { page_count: pages } = database.prepare('pragma page_count').get() as { page_count: number };
    database.exec(`pragma max_page_count = ${pages + 4}`);
    const full = {
      code: 'STORAGE_FULL',
      message: expect.stringMatching(/full \(SQLITE_FULL\).*Free space on the disk of the database file/s),
    };
    const outcomes = await Promise.allSettled([write('large', 1_000_000), write('with it')]);
    expect(outcomes).toMatchObject([
      { status: 'rejected', reason: full },
      { status: 'rejected', reason: full },
    ]);
    expect(told).toMatchObject([full]);
    database.exec('pragma max_page_count = 1000000');
    await write('after', 1_000_000);
    expect(await written()).toEqual({ kept: ['before', 'after'], newest: 2 });
    await store.close();
  });

  it('[PF-2] keeps nothing of a unit that threw after it had written, and all of the others in its commit', async () => {
    const { store, hints, write, written } = await openWithin(() => {});
    const failing = store.write(function* (tx) {
      yield* tx.insert('payloads', payloadRow({ id: 'failed' }));
      yield* tx.update('payloads', 'one', { params: { text: 'spoilt' } });
      tx.announce('ada', { audit: [{ action: 'a', subject: 'failed', data: null }] });
      throw new Error('half way');
    });
    const outcomes = await Promise.allSettled([write('one'), failing, write('two')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await written()).toEqual({ kept: ['one', 'two'], newest: 2 });
    const seen = await store.write(function* (tx) {
      return [yield* tx.get('payloads', 'failed'), (yield* tx.get('payloads', 'one'))?.params];
    });
    expect(seen).toEqual([undefined, { text: 'x'.repeat(10) }]);
    await write('three');
    expect(hints.flatMap((hint) => (hint.kind === 'events' ? [hint.newest] : []))).toEqual([1, 2, 3]);
    await store.close();
  });

  it('reads in a unit what the database has, also of rows that it remembers', async () => {
    const store = await openSqliteStore({ path, bus: new InProcessBus() });
    const row = executionRow({ id: 'call', tool_call_id: 'a\0b', error: null });
    await store.write((tx) => tx.insert('tool_executions', row));
    await store.write((tx) => tx.insert('projects', projectRow({ workspace: '/half-\ud800' })));
    await store.write((tx) => tx.insert('tool_executions', executionRow({ id: 'other', attempt: 1 })));
    await store.write((tx) => tx.update('tool_executions', 'other', { error: 'x\0y' }));
    await store.write((tx) => tx.update('tool_executions', 'missing', { error: 'nobody' }));
    const inUnit = await store.write(function* (tx) {
      return [
        yield* tx.get('tool_executions', 'call'),
        yield* tx.get('tool_executions', 'other'),
        yield* tx.get('tool_executions', 'missing'),
      ];
    });
    const half = await store.write((tx) => tx.get('projects', 'project'));
    expect(half?.workspace).toBe('/half-\uFFFD');
    const read = await store.read(function* (tx) {
      return [
        yield* tx.get('tool_executions', 'call'),
        yield* tx.get('tool_executions', 'other'),
        yield* tx.get('tool_executions', 'missing'),
      ];
    });
    expect(inUnit).toEqual(read);
    expect(inUnit.map((found) => found && [found.tool_call_id, found.error, found.attempt])).toEqual([
      ['a␀b', null, row.attempt],
      [executionRow().tool_call_id, 'x␀y', 1],
      undefined,
    ]);
    await store.close();
  });

  it('[PF-2] carries a long log over into the database and starts it anew, and loses nothing', async () => {
    const store = await openSqliteStore({ path, bus: new InProcessBus() });
    const ids = Array.from({ length: 400 }, (_, place) => `payload-${place}`);
    for (const id of ids) {
      await store.write((tx) =>
        tx.insert('payloads', payloadRow({ id, params: { text: 'x'.repeat(16_000) } })),
      );
    }
    const pagesInLog = () => readFileSync(`${path}-shm`).readUInt32LE(16);
    let extra = 0;
    await vi.waitFor(async () => {
      extra += 1;
      await store.write((tx) => tx.insert('payloads', payloadRow({ id: `extra-${extra}` })));
      expect(pagesInLog()).toBeLessThan(1_500); // of more than 2,000 that were written
    });
    await store.close();
    const again = await openSqliteStore({ path, bus: new InProcessBus() });
    const kept = await again.read(function* (tx) {
      let count = 0;
      for (const id of ids) if ((yield* tx.get('payloads', id)) !== undefined) count += 1;
      return count;
    });
    expect(kept).toBe(400);
    await again.close();
  });

  it('[PF-2] does not wait for a reader to carry the log over, and does so when it has gone', async () => {
    const store = await openSqliteStore({ path, bus: new InProcessBus() });
    await store.write((tx) => tx.insert('projects', projectRow()));
    const reader = new DatabaseSync(path, { readOnly: true });
    reader.exec('begin');
    reader.prepare('select * from projects').all();
    const write = (id: string) =>
      store.write((tx) => tx.insert('payloads', payloadRow({ id, params: { text: 'x'.repeat(16_000) } })));
    // Makes the store check a log that is too long many times. Waiting for the reader just once takes 5 s.
    for (let place = 0; place < 600; place += 1) await write(`payload-${place}`);
    const pagesInLog = () => readFileSync(`${path}-shm`).readUInt32LE(16);
    expect(pagesInLog()).toBeGreaterThan(2_000);
    reader.close();
    let extra = 0;
    await vi.waitFor(async () => {
      extra += 1;
      await write(`extra-${extra}`);
      expect(pagesInLog()).toBeLessThan(2_000);
    });
    await store.close();
  });

  it('writes what was queued before it closes', async () => {
    const store = await openSqliteStore({ path, bus: new InProcessBus() });
    const written = store.write((tx) => tx.insert('projects', projectRow()));
    await store.close();
    await written;
    const again = await openSqliteStore({ path, bus: new InProcessBus() });
    expect(await again.read((tx) => tx.get('projects', 'project'))).toEqual(projectRow());
    await again.close();
  });

  it('[DA-3] is readable by its owner only', async () => {
    const store = await openSqliteStore({ path, bus: new InProcessBus() });
    await store.write((tx) => tx.insert('projects', projectRow()));
    const modes = ['', '-wal', '-shm'].map((end) => statSync(`${path}${end}`).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    await store.close();
  });

  it('refuses a fraction where PostgreSQL would refuse it', async () => {
    const store = await openSqliteStore({ path: ':memory:', bus: new InProcessBus() });
    const write = store.write((tx) => tx.insert('tool_executions', executionRow({ created_at: 1.5 })));
    await expect(write).rejects.toThrow('"created_at" is not an integer: 1.5');
    await store.close();
  });
});
