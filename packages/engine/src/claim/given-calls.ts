import { isFinal } from '@countersign/protocol';
import type { RunnerRegistry } from '../dispatch/runner-registry.ts';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow } from '../rows.ts';
import type { Reading, Unit } from '../store.ts';
import type { NamedRunner } from './runner-bindings.ts';

/**
 * Refuses what is said of a call by anybody but the program that it was given to (AP-9): the one that claimed it, also
 * when it was given up since (EX-7); before a claim, the one that is connected as the call's runner. A client that names
 * no runner speaks only for calls that such clients were told to execute (EV-3). Where no program is named, the runner's
 * id has to do.
 */
export function* requireGivenTo(
  tx: Reading,
  execution: ExecutionRow,
  { runner_id, instance }: NamedRunner,
  runners: Pick<RunnerRegistry, 'find'>,
): Unit<void> {
  if (execution.runner_id === null) {
    if (runner_id === undefined) yield* requireToldToPlainClients(tx, execution);
    else yield* requireTakenFrom(tx, execution, { runner_id, instance });
    return;
  }
  if (runner_id !== execution.runner_id) throw another('it was given to another runner');
  if (instance === undefined) return;
  const isClaimed = execution.status !== 'approved' && execution.claimed_by !== null;
  const given = isClaimed
    ? execution.claimed_by
    : (runners.find(execution.user_id, runner_id)?.instance ??
      (yield* runnerOf(tx, execution.user_id, runner_id))?.instance);
  if (given !== instance) throw another('another program with the id of this runner has it');
}

/**
 * A call that waits for a runner was given to nobody. A client without a runner's id is told of a call by the signal that
 * makes it `executing`, and only in a workspace that no runner ever served; a late report must come from such a workspace.
 */
function* requireToldToPlainClients(tx: Reading, execution: ExecutionRow): Unit<void> {
  const { status } = execution;
  if (status === 'approved' || (isFinal(status) && (yield* hadRunner(tx, execution))))
    throw another('it was given to nobody');
}

/** The call was taken from a runner that was given up, and no other runner has it: that program may still report it. */
function* requireTakenFrom(
  tx: Reading,
  { user_id, project_id, status, claimed_by }: ExecutionRow,
  { runner_id, instance }: NamedRunner & { runner_id: string },
): Unit<void> {
  const runner = yield* runnerOf(tx, user_id, runner_id);
  const project = yield* tx.get('projects', project_id);
  const isServed = runner !== undefined && runner.workspace === project?.workspace;
  if (!isServed || status === 'executing' || (instance !== undefined && claimed_by !== instance))
    throw another('it was not given to this runner');
}

/** Whether the call's workspace is one that runners serve. */
export function* hadRunner(
  tx: Reading,
  { user_id, project_id }: Pick<ExecutionRow, 'user_id' | 'project_id'>,
): Unit<boolean> {
  const project = yield* tx.get('projects', project_id);
  const runners = yield* tx.runnersOf(user_id);
  return runners.some(({ workspace }) => workspace === project?.workspace);
}

/** Without a lock: reports of one runner must not wait for each other. */
function* runnerOf(tx: Reading, userId: string, runnerId: string) {
  return (yield* tx.runnersOf(userId)).find(({ runner_id }) => runner_id === runnerId);
}

const another = (problem: string): Refusal => new Refusal('CLAIM_REFUSED', { problem });
