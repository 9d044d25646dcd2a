/** One node of several, which writes events on request. */
import { makeEvent, type ProjectRow } from '@countersign/engine';
import { newProject, startNode, tokenFor } from '../bench-server.ts';
import { announceReady, inputOf } from '../processes/program.ts';

const { database, settings } = inputOf<{ database: string; settings: Record<string, unknown> }>();
const { address, store } = await startNode(database, settings);
announceReady({ address }, { createPeople, sendEvents, memory: () => process.memoryUsage.rss() });

interface EventOrder {
  readonly projects: readonly ProjectRow[];
  readonly each: number;
  readonly inCommit: number;
}

/** Creates people with a project each; any one node can do it. */
async function createPeople({ people, sessions }: { people: number; sessions: number }) {
  const made = [];
  for (let place = 0; place < people; place += 1) {
    const userId = `person-${place}`;
    const project: ProjectRow = await newProject(store, userId, sessions);
    const tokens = {
      person: await tokenFor(userId, 'person'),
      runner: await tokenFor(userId, 'runner'),
    };
    made.push({ project, tokens });
  }
  return made;
}

/** Writes `each` events for each person, `inCommit` in a commit, with one concurrent writer per person. */
async function sendEvents({ projects, each, inCommit }: EventOrder): Promise<void> {
  await Promise.all(
    projects.map(async ({ user_id, id }) => {
      for (let told = 0; told < each; told += inCommit) {
        const timestamp = new Date(store.now()).toISOString();
        const event = makeEvent('runner.changed', {
          project_id: id,
          runner_id: 'runner',
          workspace: '/',
          state: 'connected',
          capabilities: [],
          timestamp,
        });
        await store.write(function* (tx) {
          yield* tx.update('projects', id, { name: timestamp });
          const events = Array.from({ length: inCommit }, () => ({ projectId: id, event }));
          tx.announce(user_id, { events });
        });
      }
    }),
  );
}
