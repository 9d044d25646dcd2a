/** The real server, which tells how much memory it holds, has agents wait for approvals and sends events. */
import { newId, type ProjectRow } from '@countersign/engine';
import { newProject, sessionOf, startServer, tokenFor } from '../own-server.ts';
import { announceReady, inputOf } from '../processes/program.ts';

const { folder } = inputOf<{ folder: string }>();
const { address, engine, store } = await startServer(folder);
const people = 100;
const sessionsEach = 10;
const projects: ProjectRow[] = [];
const tokens: string[] = [];
for (let person = 0; person < people; person += 1) {
  const userId = `person-${person}`;
  projects.push(await newProject(store, userId, sessionsEach));
  tokens.push(await tokenFor(userId, 'front_end'));
}

announceReady({ address, tokens }, { held, wait, tell });

/** What is held once everything that nobody needs is gone. */
async function held(): Promise<{ inUse: number; resident: number }> {
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { inUse: heapUsed + external, resident: rss };
}

/** Agents call a tool that somebody must approve, and wait; answers how many do. `each` is for one session. */
async function wait({ each, content }: { each: number; content: string }): Promise<number> {
  let pending = 0;
  for (const project of projects) {
    const before = await pendingOf(project);
    const calls = sessionsEach * each;
    for (let place = 0; place < calls; place += 1) void askToWrite(project, place, content);
    while ((await pendingOf(project)) < before + calls) await new Promise(setImmediate);
    pending += before + calls;
  }
  return pending;
}

async function pendingOf({ user_id }: ProjectRow): Promise<number> {
  return (await store.read((tx) => tx.pendingApprovals(user_id))).length;
}

function askToWrite(project: ProjectRow, place: number, content: string): Promise<unknown> {
  return engine.executor.executeTool({
    userId: project.user_id,
    project,
    sessionId: sessionOf(project, place % sessionsEach),
    toolName: 'write_file',
    toolParams: { path: `notes-${place}.md`, content },
    toolCallId: newId(),
    agent: 'Agent',
    requestedBy: 'bench',
    context: { message_id: null, run_id: null, step: null, excerpt: 'please' },
  });
}

/** An event for everybody. */
async function tell(): Promise<void> {
  for (const { user_id, id } of projects) {
    const data = { runner_id: 'runner', workspace: '/', state: 'connected', capabilities: [] } as const;
    const timestamp = new Date(store.now()).toISOString();
    const event = { event: 'runner.changed', data: { project_id: id, ...data, timestamp } } as never;
    await store.write(function* (tx) {
      yield* tx.update('projects', id, { name: timestamp });
      tx.announce(user_id, { events: [{ projectId: id, event }] });
    });
  }
}
