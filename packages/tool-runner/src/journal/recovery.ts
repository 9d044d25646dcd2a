import { describeError, findTool, type ToolErrorValue } from '@countersign/protocol';
import { recoveredResult } from '../built-in-tools.ts';
import { removeLeftovers } from '../files/atomic-write.ts';
import type { Logger } from '../logger.ts';
import type { ResultReport } from '../runner-api.ts';
import type { MadeChange } from '../tool-module.ts';
import { fileNow, isDirectory } from '../undo/file-now.ts';
import type { Workspace } from '../workspace.ts';
import type { Journal, JournalledAttempt, RecordedChange } from './journal.ts';

/**
 * Ends calls that an earlier runner left unfinished (RN-3). If all files have the version after the call, it completed; if
 * all have the version before, it failed; otherwise, and for every command, the outcome is unknown (RUNNER_LOST). Nothing
 * is executed again. The outcome is journalled and sent like any other.
 */
export async function recoverJournal(journal: Journal, workspace: Workspace, logger: Logger): Promise<void> {
  for (const attempt of journal.unfinished()) {
    const changes = journal.changesOf(attempt.toolId).filter((change) => change.attempt === attempt.attempt);
    for (const { path } of changes) {
      try {
        removeLeftovers(workspace.root, path, attempt.toolId);
      } catch (error) {
        logger.error(`A temporary file could not be removed beside ${path}`, { error });
      }
    }
    const report = await outcomeOf(attempt, changes, workspace);
    logger.info(`Recovered interrupted call ${attempt.toolId}: ${report.error?.code ?? report.status}`);
    journal.end(attempt.toolId, attempt.attempt, report);
  }
}

async function outcomeOf(
  { tool, attempt }: JournalledAttempt,
  changes: readonly RecordedChange[],
  workspace: Workspace,
): Promise<ResultReport> {
  const failed = (error: ToolErrorValue): ResultReport => ({ attempt, status: 'failed', error });
  // Only file tools journal their changes in advance, so only their outcome can be found out.
  if (findTool(tool)?.category !== 'filesystem') return failed(describeError('RUNNER_LOST'));
  try {
    let isAsAfter = changes.length > 0;
    let isAsBefore = true;
    const made: MadeChange[] = [];
    for (const { path, operation, before, after } of changes) {
      const now = await fileNow(workspace, path);
      const version = now?.version ?? null;
      isAsAfter &&= version === after;
      isAsBefore &&= version === before;
      made.push({ path, operation, size: now && !isDirectory(now) ? now.bytes.length : 0 });
    }
    const result = isAsAfter ? recoveredResult(tool, made) : undefined;
    if (result) return { attempt, status: 'completed', result };
    if (!isAsBefore) return failed(describeError('RUNNER_LOST'));
    const path = changes.at(-1)?.path ?? 'the file';
    return failed(describeError('WRITE_FAILED', { path, problem: 'the runner was stopped before it began' }));
  } catch {
    // The path is neither a file nor a directory now.
    return failed(describeError('RUNNER_LOST'));
  }
}
