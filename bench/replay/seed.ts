import { DatabaseSync } from 'node:sqlite';
import { InProcessBus, openSqliteStore } from '@countersign/store';
import { newProject } from '../bench-server.ts';

export const replayOwner = 'ada';

/** Creates a database with this many events of one person: the server writes the first, SQL copies it. */
export async function seedEvents(path: string, events: number): Promise<void> {
  const store = await openSqliteStore({ path, bus: new InProcessBus() });
  const { id } = await newProject(store, replayOwner, 1);
  const runner = { runner_id: 'runner', workspace: '/', state: 'connected', capabilities: [] } as const;
  const timestamp = new Date(store.now()).toISOString();
  const event = { event: 'runner.changed', data: { project_id: id, ...runner, timestamp } } as const;
  await store.write(function* (tx) {
    yield* tx.update('projects', id, { name: 'replayed' });
    tx.announce(replayOwner, { events: [{ projectId: id, event: event as never }] });
  });
  await store.close();
  const database = new DatabaseSync(path);
  database.exec(`
    pragma synchronous = off;
    begin;
    with recursive places(n) as (select 2 union all select n + 1 from places where n < ${events})
    insert into events (user_id, id, project_id, event, created_at)
      select user_id, n, project_id, event, created_at from places, events where id = 1;
    update counters set event_id = ${events};
    commit;
    pragma wal_checkpoint(truncate)`);
  database.close();
}
