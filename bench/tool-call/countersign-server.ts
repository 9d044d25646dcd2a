/** The real server on a database file, with an agent inside that calls tools: its part of a call is what is timed. */
import { newId, type ProjectRow } from '@countersign/engine';
import { newProject, sessionOf, startServer, tokenFor } from '../own-server.ts';
import { announceReady, inputOf } from '../processes/program.ts';
import { callsOf } from './calls.ts';
import { readParams, writeParams } from './contents.ts';

const { folder } = inputOf<{ folder: string }>();
const { address, engine, store } = await startServer(folder);

/** In one session only so many approvals may wait: each lane has its own. */
const lanes = 64;
const [reader, writer] = [await person('reader'), await person('writer')];
const time = callsOf({
  plain: (lane) => execute(reader.project, lane, 'read_file', readParams),
  asked: (lane) => execute(writer.project, lane, 'write_file', writeParams),
});
announceReady({ address, people: [reader, writer] }, { time });

async function person(userId: string) {
  const project = await newProject(store, userId, lanes);
  return {
    project,
    runner: await tokenFor(userId, 'runner'),
    frontEnd: await tokenFor(userId, 'front_end'),
  };
}

async function execute(
  project: ProjectRow,
  lane: number,
  toolName: string,
  toolParams: Record<string, string>,
): Promise<void> {
  const outcome = await engine.executor.executeTool({
    userId: project.user_id,
    project,
    sessionId: sessionOf(project, lane),
    toolName,
    toolParams,
    toolCallId: newId(),
    agent: 'Agent',
    requestedBy: 'bench',
    context: { message_id: null, run_id: null, step: null, excerpt: '' },
  });
  if (outcome.status !== 'completed') throw new Error(JSON.stringify(outcome));
}
