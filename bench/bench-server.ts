import { newId, type ProjectRow, type Store } from '@countersign/engine';
import { loadConfig, type RunningServer, serve } from '@countersign/server';
import { SignJWT } from 'jose';

const authSecret = 'a secret of the bench, thirty-two characters long';

/** The real server as `countersign serve` starts it, on a database file in a folder, with a high rate limit. */
export const startServer = (folder: string): Promise<RunningServer> =>
  startNode(`${folder}/countersign.db`, { requestsPerSecond: 1_000_000 });

/** Starts a bench server on any database, with other settings. */
export function startNode(database: string, settings: Readonly<Record<string, unknown>>) {
  return serve(loadConfig({ env: {}, flags: { port: 0, database, authSecret, ...settings } }));
}

export function tokenFor(userId: string, scope: 'person' | 'runner' | 'front_end'): Promise<string> {
  return new SignJWT({ scope })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(userId)
    .setJti(newId())
    .sign(new TextEncoder().encode(authSecret));
}

/** Creates a person's project with some sessions. */
export async function newProject(store: Store, userId: string, sessions: number): Promise<ProjectRow> {
  const created_at = store.now();
  const id = `project-${userId}`;
  const project = { id, user_id: userId, name: userId, workspace: `/home/${userId}`, created_at };
  await store.write(function* (tx) {
    yield* tx.insert('projects', project);
    for (let place = 0; place < sessions; place += 1) {
      yield* tx.insert('sessions', {
        id: sessionOf(project, place),
        user_id: userId,
        project_id: id,
        title: '',
        mode: 'ask',
        created_at,
        opened_by: null,
        last_message_at: null,
        deleted_at: null,
      });
    }
  });
  return project;
}

export const sessionOf = ({ id }: ProjectRow, place: number): string => `${id}-${place}`;
