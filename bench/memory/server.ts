/** The real server, which can report its memory, make agents wait for approvals, and send events. */
import { makeEvent, type ProjectRow } from '@countersign/engine';
import { AgentRun } from '../agent-run.ts';
import { newProject, sessionOf, startServer, tokenFor } from '../bench-server.ts';
import { announceReady, inputOf } from '../processes/program.ts';

const { folder } = inputOf<{ folder: string }>();
const server = await startServer(folder);
const { address, store } = server;
const people = 100;
const sessionsEach = 10;
const projects: ProjectRow[] = [];
const tokens: string[] = [];
const runs = new Map<string, AgentRun>();
for (let person = 0; person < people; person += 1) {
  const userId = `person-${person}`;
  const project = await newProject(store, userId, sessionsEach);
  projects.push(project);
  for (let place = 0; place < sessionsEach; place += 1) {
    const sessionId = sessionOf(project, place);
    runs.set(sessionId, await AgentRun.start(server, project, sessionId));
  }
  tokens.push(await tokenFor(userId, 'front_end'));
}

announceReady({ address, tokens }, { held, wait, sendEvents });

/** Memory after garbage collection. */
async function held(): Promise<{ inUse: number; resident: number }> {
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { inUse: heapUsed + external, resident: rss };
}

/** Agents call a tool that needs approval, and wait. Returns how many wait. `each`: calls per session. */
async function wait({ each, content }: { each: number; content: string }): Promise<number> {
  let pending = 0;
  for (const project of projects) {
    const before = await pendingOf(project);
    const calls = sessionsEach * each;
    for (let place = 0; place < calls; place += 1)
      void runs
        .get(sessionOf(project, place % sessionsEach))
        ?.call('write_file', { path: `notes-${place}.md`, content });
    while ((await pendingOf(project)) < before + calls) await new Promise(setImmediate);
    pending += before + calls;
  }
  return pending;
}

async function pendingOf({ user_id }: ProjectRow): Promise<number> {
  return (await store.read((tx) => tx.pendingApprovals(user_id))).length;
}

/** Sends an event to everybody. */
async function sendEvents(): Promise<void> {
  for (const { user_id, id } of projects) {
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
      tx.announce(user_id, { events: [{ projectId: id, event }] });
    });
  }
}
