import { describeError, findTool, type ToolErrorValue } from '@countersign/protocol';
import { recoveredResult } from '../built-in-tools.ts';
import { removeLeftovers } from '../files/atomic-write.ts';
import { entryNow, versionNow } from '../layers/entry-now.ts';
import { FolderWalk } from '../layers/folder-walk.ts';
import { landedResult } from '../layers/landed-result.ts';
import { type ResumedLanding, resumeLanding } from '../layers/landing.ts';
import type { Logger } from '../logger.ts';
import { failedReport } from '../result-outbox.ts';
import type { ResultReport } from '../runner-api.ts';
import type { MadeChange } from '../tool-module.ts';
import type { Workspace } from '../workspace.ts';
import type { Journal, JournalledAttempt } from './journal.ts';
import type { PendingLanding } from './landing-records.ts';
import type { RecordedChange } from './recorded-change.ts';

/** Called when a landing was completed after a crash, before its layer is removed. */
export type OnResumed = (landing: PendingLanding, outcome: ResumedLanding) => Promise<void> | void;

/**
 * Ends calls that an earlier runner left unfinished (RN-3, RN-12). A landing that was journalled is completed. A command
 * whose layer has not landed changed nothing. For a file tool, the call completed if all files have the version after it, and
 * failed if all have the version before. Otherwise the outcome is unknown (RUNNER_LOST). Nothing is executed again. The
 * outcome is journalled and sent like any other.
 */
export async function recoverJournal(
  journal: Journal,
  workspace: Workspace,
  logger: Logger,
  onResumed: OnResumed = () => {},
): Promise<void> {
  const landings = journal.landings.pending();
  for (const call of journal.unfinished()) {
    const { toolId, attempt } = call;
    const landing = landings.find((one) => one.toolId === toolId && one.attempt === attempt);
    const report = landing
      ? await resumedReport(journal, workspace, landing, onResumed).catch((error: unknown) => {
          logger.error(`Landing not resumed: ${toolId}`, { call: toolId, error });
          return failedReport(error, attempt);
        })
      : await interruptedReport(journal, call, workspace, logger);
    logger.info(`Recovered interrupted call ${toolId}: ${report.error?.code ?? report.status}`);
    journal.end(toolId, attempt, report);
  }
}

async function resumedReport(
  journal: Journal,
  workspace: Workspace,
  landing: PendingLanding,
  onResumed: OnResumed,
): Promise<ResultReport> {
  const outcome = await resumeLanding(journal, workspace, landing);
  await onResumed(landing, outcome);
  const { layer, notUndoable, attempt } = landing;
  const result = landedResult(
    layer?.result ?? { success: true },
    { ...outcome, notUndoable },
    workspace.limits.entries,
  );
  return { attempt, status: 'completed', result };
}

async function interruptedReport(
  journal: Journal,
  call: JournalledAttempt,
  workspace: Workspace,
  logger: Logger,
): Promise<ResultReport> {
  const { toolId, attempt, layer } = call;
  if (layer !== undefined) {
    journal.landings.forget(toolId, attempt);
    return { attempt, status: 'failed', error: describeError('LAYER_DROPPED') };
  }
  const changes = journal.changesOf(toolId).filter((change) => change.attempt === attempt);
  for (const { path } of changes) {
    try {
      removeLeftovers(workspace.root, path, toolId);
    } catch (error) {
      logger.error(`A temporary file could not be removed beside ${path}`, { error });
    }
  }
  return outcomeOf(call, changes, workspace);
}

async function outcomeOf(
  { tool, attempt }: JournalledAttempt,
  changes: readonly RecordedChange[],
  { root }: Workspace,
): Promise<ResultReport> {
  const failed = (error: ToolErrorValue): ResultReport => ({ attempt, status: 'failed', error });
  // Only file tools journal their changes in advance, so only their outcome can be found out.
  if (findTool(tool)?.category !== 'filesystem') return failed(describeError('RUNNER_LOST'));
  const walk = new FolderWalk(root);
  try {
    let isAsAfter = changes.length > 0;
    let isAsBefore = true;
    const made: MadeChange[] = [];
    for (const { path, operation, before, after } of changes) {
      const at = walk.at(path);
      const now = entryNow(at);
      const version = walk.blockedAt(path) === undefined ? await versionNow(at, now) : undefined;
      isAsAfter &&= version === after;
      isAsBefore &&= version === before;
      made.push({ path, operation, size: now?.size ?? 0 });
    }
    const result = isAsAfter ? recoveredResult(tool, made) : undefined;
    if (result) return { attempt, status: 'completed', result };
    if (!isAsBefore) return failed(describeError('RUNNER_LOST'));
    const path = changes.at(-1)?.path ?? 'the file';
    return failed(describeError('WRITE_FAILED', { path, problem: 'the runner was stopped before it began' }));
  } catch {
    // An entry cannot be read now.
    return failed(describeError('RUNNER_LOST'));
  } finally {
    walk.close();
  }
}
