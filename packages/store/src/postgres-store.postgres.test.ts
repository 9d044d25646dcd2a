import { columnsOf, type Hint, type StorageFull } from '@countersign/engine';
import {
  payloadRow,
  projectRow,
  runRow,
  type TemporaryPostgres,
  temporaryPostgres,
} from '@countersign/testing';
import { databaseContract } from '@countersign/testing/database-contract';
import { storeContract } from '@countersign/testing/store-contract';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { auditedUsers, exportAudit, openAuditSource, verifyAudit } from './audit-log.ts';
import type { DatabaseTransaction } from './database-transaction.ts';
import { InProcessBus } from './in-process-bus.ts';
import { PostgresBus } from './postgres-bus.ts';
import { OutcomeUnknown } from './postgres-failure.ts';
import { openPostgresStore, type PostgresStore } from './postgres-store.ts';
import { StorageHealth } from './storage-health.ts';

let server: TemporaryPostgres;
let shared: string;
beforeAll(async () => {
  server = await temporaryPostgres();
  shared = await server.createDatabase();
  await (await openPostgresStore({ url: shared, bus: new InProcessBus() })).close();
});
afterAll(() => server.stop());

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** An empty database. One is made and emptied again and again, which is much quicker than making many. */
async function emptyDatabase(): Promise<string> {
  const tables = Object.keys(columnsOf).join(', ');
  // Without its triggers: one of them keeps the audit log from being emptied.
  await execute(
    shared,
    `set session_replication_role = replica; truncate ${tables}; alter table audit enable trigger all`,
  );
  return shared;
}

storeContract('PostgreSQL', async (bus) => {
  const url = await emptyDatabase();
  let store = await openPostgresStore({ url, bus });
  return {
    store,
    async reopen() {
      await store.close();
      store = await openPostgresStore({ url, bus });
      return store;
    },
    remove: () => store.close(),
  };
});

databaseContract('PostgreSQL', async (bus, now) => {
  const url = await emptyDatabase();
  const store = await openPostgresStore({ url, bus, now });
  return {
    store,
    execute: (sql) => execute(url, sql),
    unprotectAudit: 'alter table audit disable trigger all',
    verify: (userId, witness) => verifyAudit(store, userId, witness),
    exportLines: (format) => exportAudit(store, auditedUsers(store), format),
    sweep: (limits) => store.sweep(limits),
    remove: () => store.close(),
  };
});

describe('PostgreSQL', () => {
  let url: string;
  let store: PostgresStore;
  let admin: pg.Client;
  beforeEach(async () => {
    url = await server.createDatabase();
    store = await openPostgresStore({ url, bus: new InProcessBus() });
    admin = new pg.Client(url);
    await admin.connect();
  });
  afterEach(async () => {
    await store.close();
    await admin.end();
  });

  /** Ends every connection of the store, as a restart of the database or a broken network would. */
  const killConnections = () =>
    admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );

  it('[DA-2] lets several servers start on one database at once', async () => {
    const fresh = await server.createDatabase();
    const stores = await Promise.all(
      [1, 2, 3].map(() => openPostgresStore({ url: fresh, bus: new InProcessBus() })),
    );
    await Promise.all(
      stores.map((one, place) => one.write((tx) => tx.insert('projects', projectRow({ id: `p${place}` })))),
    );
    expect(await stores[0]?.read((tx) => tx.projectsOf('ada'))).toHaveLength(3);
    await Promise.all(stores.map((one) => one.close()));
  });

  it('[DA-2] says what to do about a database of before the first release', async () => {
    const fresh = await server.createDatabase();
    await (await openPostgresStore({ url: fresh, bus: new InProcessBus() })).close();
    await execute(fresh, 'alter table tokens drop column project_id');
    await expect(openPostgresStore({ url: fresh, bus: new InProcessBus() })).rejects.toMatchObject({
      code: 'DATABASE_IS_OLDER',
      message: expect.stringContaining('tokens.project_id'),
    });
  });

  it('[DA-2] says what to do about a database that a newer version has changed', async () => {
    const fresh = await server.createDatabase();
    await (await openPostgresStore({ url: fresh, bus: new InProcessBus() })).close();
    await execute(fresh, `insert into kysely_migration values ('9999-of-the-future', '2030-01-01')`);
    await expect(openPostgresStore({ url: fresh, bus: new InProcessBus() })).rejects.toMatchObject({
      code: 'DATABASE_IS_NEWER',
    });
  });

  it('[EV-2] keeps the numbers of a person gapless with two servers', async () => {
    const other = await openPostgresStore({ url, bus: new InProcessBus() });
    await Promise.all(
      Array.from({ length: 60 }, (_, place) =>
        // biome-ignore lint/correctness/useYield: nothing but an announcement
        (place % 2 === 0 ? store : other).write(function* (tx) {
          tx.announce('ada', { events: [event(place)], audit: [{ action: 'a', subject: 's', data: place }] });
        }),
      ),
    );
    const events = await store.read((tx) => tx.events('ada', 0, 100));
    expect(events.map(({ id }) => id)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
    await other.close();
  });

  it.each(['40001', '40P01'])('runs a unit again that was in the way of another (%s)', async (code) => {
    // The error of a conflict or deadlock. A sequence counts tries even if they are rolled back.
    await admin.query(`
      create sequence tries;
      create function fail_once() returns trigger language plpgsql as
        $$ begin if nextval('tries') = 1 then raise exception 'conflict' using errcode = '${code}'; end if;
        return new; end $$;
      create trigger fail_once before insert on projects for each row execute function fail_once()`);
    let attempts = 0;
    await store.write(function* (tx) {
      attempts += 1;
      yield* tx.insert('projects', projectRow());
      tx.announce('ada', { events: [event(1)] });
    });
    expect(attempts).toBe(2);
    expect(await store.read((tx) => tx.eventBounds('ada'))).toEqual({ oldest: 1, newest: 1 });
  });

  it('runs a unit again whose connection broke before the commit', async () => {
    await store.write((tx) => tx.insert('projects', projectRow({ id: 'warm' })));
    let attempts = 0;
    const holder = new pg.Client(url);
    await holder.connect();
    await holder.query('begin');
    await holder.query("select * from projects where id = 'warm' for update");
    const writing = store.write(function* (tx) {
      attempts += 1;
      yield* tx.insert('projects', projectRow({ id: 'new' }));
      yield* tx.get('projects', 'warm'); // waits for the holder
    });
    // As soon as it waits for the lock, its connection is cut.
    await expect
      .poll(async () => {
        const { rows } = await admin.query(
          `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        for (const { pid } of rows) await admin.query('select pg_terminate_backend($1)', [pid]);
        return rows.length;
      })
      .toBe(1);
    await holder.query('rollback');
    await holder.end();
    await writing;
    expect(attempts).toBe(2);
    expect((await store.read((tx) => tx.projectsOf('ada'))).map(({ id }) => id)).toEqual(['new', 'warm']);
  });

  it('recovers when every connection was cut while nothing was going on', async () => {
    await Promise.all(
      [1, 2, 3].map((place) => store.write((tx) => tx.insert('projects', projectRow({ id: `${place}` })))),
    );
    await killConnections();
    await store.write((tx) => tx.insert('projects', projectRow({ id: 'after' })));
    expect(await store.read((tx) => tx.projectsOf('ada'))).toHaveLength(4);
  });

  it('stops waiting for a stalled database, and continues when it responds again', async () => {
    const impatient = await openPostgresStore({ url, bus: new InProcessBus(), queryTimeoutMs: 1_000 });
    const write = (id: string) => impatient.write((tx) => tx.insert('projects', projectRow({ id })));
    const read = () => impatient.read((tx) => tx.projectsOf('ada'));
    await write('before');
    const goOn = server.pause();
    const answers = await Promise.allSettled([write('during'), read()]).finally(goOn);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await write('after');
    expect((await read()).map(({ id }) => id)).toEqual(expect.arrayContaining(['after', 'before']));
    await impatient.close();
  });

  it('[DA-2] goes on when a newer server adds a column, on every connection', async () => {
    const write = (id: string) =>
      store.write(function* (tx) {
        yield* tx.insert('projects', projectRow({ id }));
        return (yield* tx.get('projects', id))?.id;
      });
    const read = () => store.read((tx) => tx.get('projects', 'p0'));
    const many = Array.from({ length: 12 }, (_, i) => i);
    await Promise.all(many.map((i) => write(`p${i}`)));
    await Promise.all(many.map(read));
    await admin.query('alter table projects add column colour text');
    // A statement whose plan is older now returns rows of another type.
    const [written, found] = [
      await Promise.all(many.map((i) => write(`q${i}`))),
      await Promise.all(many.map(read)),
    ];
    expect(written).toEqual(many.map((i) => `q${i}`));
    expect(found).toMatchObject(many.map(() => projectRow({ id: 'p0' })));
  });

  it('does not retry a unit that may have been committed', async () => {
    // The commit itself cuts the connection: a deferred trigger ends its own backend.
    await admin.query(`
      create function end_backend() returns trigger language plpgsql as
        $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
      create constraint trigger cut after insert on projects deferrable initially deferred
        for each row when (new.id = 'poison') execute function end_backend()`);
    let attempts = 0;
    const writing = store.write(function* (tx) {
      attempts += 1;
      yield* tx.insert('projects', projectRow({ id: 'poison' }));
    });
    await expect(writing).rejects.toBeInstanceOf(OutcomeUnknown);
    expect(attempts).toBe(1);
    await store.write((tx) => tx.insert('projects', projectRow({ id: 'after' })));
  });

  it('runs a unit again that the database gave up because the process stood still in it', async () => {
    const stand = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    let attempts = 0;
    await store.write(function* (tx) {
      attempts += 1;
      const { statements } = tx as DatabaseTransaction;
      if (attempts === 1) {
        const impatience = statements.prepare('impatience', {}, (db) => ({
          compile: () =>
            sql`select set_config('idle_in_transaction_session_timeout', '20ms', false), pg_sleep(0.1)`.compile(
              db,
            ),
        }));
        setTimeout(stand, 20, 500); // as a process that is suspended while it waits for an answer
        yield* (tx as DatabaseTransaction).rows(impatience, {});
      }
      yield* (tx as DatabaseTransaction).runUnawaited('blind', {}, {}, (db) => ({
        compile: () => sql`select 1`.compile(db),
      }));
    });
    expect(attempts).toBe(2);
  });

  it.each(['53100', '53200', '25006'])(
    '[PF-2] says that there is no room (%s), and goes on when there is',
    async (code) => {
      const told: unknown[] = [];
      const own = await openPostgresStore({
        url,
        bus: new InProcessBus(),
        onError: (error) => told.push(error),
      });
      await admin.query(`create function no_room() returns trigger language plpgsql as $$
      begin raise exception 'could not extend file' using errcode = '${code}'; end $$;
      create trigger no_room before insert on payloads for each row execute function no_room()`);
      const health = new StorageHealth(own, { path: undefined, onFull: () => {}, onRoom: () => {} });
      try {
        const write = (id: string) => own.write((tx) => tx.insert('payloads', payloadRow({ id })));
        const full = { code: 'STORAGE_FULL', message: expect.stringContaining('PostgreSQL server') };
        await expect(write('one')).rejects.toMatchObject(full);
        expect(told).toMatchObject([full]);
        health.failed(told[0] as StorageFull);
        await admin.query('drop trigger no_room on payloads');
        await write('two');
        await expect.poll(() => health.check()).toBeUndefined();
        expect(await own.read((tx) => tx.get('payloads', 'one'))).toBeUndefined();
      } finally {
        health.stop();
        await own.close();
        await admin.query('drop trigger if exists no_room on payloads; drop function no_room()');
      }
    },
  );

  it('undoes a unit that swallowed a failure of the database', async () => {
    const writing = store.write(function* (tx) {
      yield* tx.insert('projects', projectRow());
      try {
        yield* tx.insert('projects', projectRow({ id: 'other', name: null as never }));
      } catch {
        // ignore the error, as a careless unit would
      }
    });
    await expect(writing).rejects.toThrow('rolled the unit back');
    expect(await store.read((tx) => tx.projectsOf('ada'))).toEqual([]);
  });

  it('gives two servers different orphaned runs', async () => {
    await store.write(function* (tx) {
      for (const id of ['a', 'b']) yield* tx.insert('runs', runRow({ id, lease_until: 1 }));
    });
    await admin.query('begin');
    await admin.query("select * from runs where id = 'a' for update");
    const taken = await store.write((tx) => tx.orphanedRuns(10, 10));
    expect(taken.map(({ id }) => id)).toEqual(['b']);
    await admin.query('rollback');
  });

  it('[DA-4] is read and verified beside the server', async () => {
    // biome-ignore lint/correctness/useYield: nothing but an announcement
    await store.write(function* (tx) {
      tx.announce('ada', { audit: [{ action: 'a', subject: 's', data: { b: 1, a: 2 } }] });
    });
    const source = openAuditSource(url);
    try {
      expect(await verifyAudit(source, 'ada')).toEqual({
        user_id: 'ada',
        ok: true,
        rows: 1,
        head: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
    } finally {
      await source.close();
    }
  });

  it('[AP-3] tells the time of the database', async () => {
    const { rows } = await admin.query('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms');
    expect(Math.abs(store.now() - rows[0].ms)).toBeLessThan(10_000);
  });
});

describe('hints over PostgreSQL', () => {
  const open = async (url: string) => {
    const bus = await PostgresBus.open({ url });
    const heard: Hint[] = [];
    bus.subscribe((hint) => void heard.push(hint));
    return { bus, heard };
  };

  it('reach other nodes as ids, and this one with their events', async () => {
    const url = await server.createDatabase();
    const [here, there] = [await open(url), await open(url)];
    const stored = { user_id: 'ada', id: 7, project_id: null, event: event(1).event, created_at: 1 };
    here.bus.publish({ kind: 'events', userId: 'ada', newest: 7, events: [stored] });
    here.bus.publish({ kind: 'settled', toolId: 't1' });
    here.bus.publish({ kind: 'decided', approvalId: 'a1' });
    expect(here.heard).toHaveLength(3);
    await expect
      .poll(() => there.heard)
      .toEqual([
        { kind: 'events', userId: 'ada', newest: 7 },
        { kind: 'settled', toolId: 't1' },
        { kind: 'decided', approvalId: 'a1' },
      ]);
    expect(here.heard).toHaveLength(3);
    await Promise.all([here.bus.close(), there.bus.close()]);
  });

  it('are combined in one message, with only the newest hint for each person', async () => {
    const url = await server.createDatabase();
    const [here, there] = [await open(url), await open(url)];
    for (let newest = 1; newest <= 500; newest += 1)
      here.bus.publish({ kind: 'events', userId: 'ada', newest });
    for (let tool = 0; tool < 500; tool += 1) here.bus.publish({ kind: 'settled', toolId: `tool-${tool}` });
    await expect.poll(() => there.heard.length).toBe(501);
    expect(there.heard[0]).toEqual({ kind: 'events', userId: 'ada', newest: 500 });
    await Promise.all([here.bus.close(), there.bus.close()]);
  });

  it('pass small passing events on and keep large ones here', async () => {
    const url = await server.createDatabase();
    const [here, there] = [await open(url), await open(url)];
    const passing = (text: string): Hint => ({
      kind: 'transient',
      userId: 'ada',
      projectId: null,
      event: { event: 'message.delta', data: { text } } as never,
    });
    here.bus.publish(passing('x'.repeat(20_000)));
    here.bus.publish(passing('small'));
    await expect.poll(() => there.heard).toEqual([passing('small')]);
    expect(here.heard).toHaveLength(2);
    await Promise.all([here.bus.close(), there.bus.close()]);
  });

  it('[EV-1] bring all that a command prints to other nodes, in its order', async () => {
    const url = await server.createDatabase();
    const [here, there] = [await open(url), await open(url)];
    const output = (chunk: string): Hint => ({
      kind: 'transient',
      userId: 'ada',
      projectId: null,
      event: {
        event: 'tool.progress',
        data: { tool_id: 't1', progress: 5, message: 'half', output: { stream: 'stdout', chunk } },
      } as never,
    });
    const chunks = ['😀\u001b[1m Привет\n'.repeat(1_200), 'short', `x${'😀'.repeat(3_000)}`];
    for (const chunk of chunks) here.bus.publish(output(chunk));
    expect(here.heard).toEqual(chunks.map(output));
    const progress = () =>
      there.heard.map((hint) => (hint as { event: { data: Record<string, unknown> } }).event.data);
    const printed = () =>
      progress()
        .map(({ output }) => (output as { chunk: string }).chunk)
        .join('');
    await expect.poll(printed).toBe(chunks.join(''));
    expect(progress().filter(({ message }) => message === 'half')).toHaveLength(chunks.length);
    expect(progress().every(({ output }) => (output as { chunk: string }).chunk.isWellFormed())).toBe(true);
    await Promise.all([here.bus.close(), there.bus.close()]);
  });

  it('that are none of ours are left alone', async () => {
    const url = await server.createDatabase();
    const [here, there] = [await open(url), await open(url)];
    // Every user of the database can notify, and a server of another version may send other hints.
    for (const stray of ['', '5', 'x[', 'x[5, null]', 'x[{"kind":7}]'])
      await execute(url, `select pg_notify('countersign', '${stray}')`);
    here.bus.publish({ kind: 'settled', toolId: 't1' });
    await expect.poll(() => there.heard).toEqual([{ kind: 'settled', toolId: 't1' }]);
    await Promise.all([here.bus.close(), there.bus.close()]);
  });

  it('are heard again after the connection was cut', async () => {
    const url = await server.createDatabase();
    const [here, there] = [await open(url), await open(url)];
    const admin = new pg.Client(url);
    await admin.connect();
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'countersign hints'
       and datname = current_database()`,
    );
    await expect
      .poll(() => {
        here.bus.publish({ kind: 'settled', toolId: 'again' });
        return there.heard.length;
      })
      .toBeGreaterThan(0);
    await admin.end();
    await Promise.all([here.bus.close(), there.bus.close(), here.bus.close()]);
  });
});

const event = (number: number) => ({
  projectId: null,
  event: { event: 'agent.state', data: { number } } as never,
});
