/** The real server on a database file, with an agent inside that calls tools; the agent's side is timed. */
import type { JsonObject } from '@countersign/engine';
import { AgentRun } from '../agent-run.ts';
import { newProject, sessionOf, startServer, tokenFor } from '../bench-server.ts';
import { announceReady, inputOf } from '../processes/program.ts';
import { callsOf } from './calls.ts';
import { readParams, writeParams } from './contents.ts';

const { folder } = inputOf<{ folder: string }>();
const server = await startServer(folder);

/** A session allows only some pending approvals and one active run, so each lane has its own session. */
const lanes = 64;
const [reader, writer] = [await person('reader'), await person('writer')];
const time = callsOf({
  plain: (lane) => execute(reader.runs[lane], 'read_file', readParams),
  asked: (lane) => execute(writer.runs[lane], 'write_file', writeParams),
});
const people = [reader, writer].map(({ project, runner, frontEnd }) => ({ project, runner, frontEnd }));
announceReady({ address: server.address, people }, { time });

async function person(userId: string) {
  const project = await newProject(server.store, userId, lanes);
  const runs: AgentRun[] = [];
  for (let lane = 0; lane < lanes; lane += 1)
    runs.push(await AgentRun.start(server, project, sessionOf(project, lane)));
  return {
    project,
    runs,
    runner: await tokenFor(userId, 'runner'),
    frontEnd: await tokenFor(userId, 'front_end'),
  };
}

async function execute(run: AgentRun | undefined, toolName: string, toolParams: JsonObject): Promise<void> {
  const outcome = await run?.call(toolName, toolParams);
  if (outcome?.status !== 'completed') throw new Error(JSON.stringify(outcome));
}
