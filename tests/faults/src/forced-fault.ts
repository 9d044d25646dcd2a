import { until } from '../../lab/src/waiting.ts';
import type { Participant } from './check-run.ts';
import type { RunDatabase } from './run-database.ts';
import type { ServerNode } from './server-node.ts';

/** A fault that is timed to happen during a run or call, on fast and slow machines. */
export type ForcedFault = 'node-kill-in-run' | 'runner-replace-in-call';

export interface ForcedFaultParts {
  readonly database: RunDatabase;
  readonly nodes: readonly ServerNode[];
  readonly participant: Participant;
}

const downMs = 500;
/** A call must be made, shown, approved and started before the fault can happen. */
const forceTimeoutMs = 600_000;

/** Repeats the fault with another run or call until one was still under way when the fault came. */
export async function force(fault: ForcedFault, parts: ForcedFaultParts): Promise<void> {
  const tryOnce = fault === 'node-kill-in-run' ? killNodeInRun : replaceRunnerInCall;
  await until(() => tryOnce(parts), {
    within: forceTimeoutMs,
    otherwise: () => `${fault} met nothing that was under way`,
  });
}

async function killNodeInRun({ database, nodes, participant }: ForcedFaultParts): Promise<boolean> {
  const [run] = await database.query(
    `select runs.id, nodes.name from runs join nodes on nodes.id = runs.lease_owner
      where runs.status = 'running' limit 1`,
  );
  if (run === undefined) {
    if (participant.person.unsettled.size === 0) participant.person.say();
    return false;
  }
  const driving = nodes.find(({ pid }) => pid !== undefined && String(run.name).endsWith(`/${pid}`));
  await driving?.end('SIGKILL', downMs); // undefined: it was killed already
  const isMet = "select id from runs where id = $1 and (status = 'running' or epoch > 1)";
  return (await database.query(isMet, String(run.id))).length > 0;
}

async function replaceRunnerInCall({ database, participant }: ForcedFaultParts): Promise<boolean> {
  const { person, runner } = participant;
  const [call] = await database.query("select id from tool_executions where status = 'executing' limit 1");
  if (call === undefined) {
    if (person.unsettled.size === 0) person.call('long');
    return false;
  }
  await runner.replace(downMs);
  const isMet = `select id from tool_executions
    where id = $1 and (status = 'executing' or error_type = 'RUNNER_LOST')`;
  return (await database.query(isMet, String(call.id))).length > 0;
}
