import { describeError, findTool, type ToolErrorValue } from '@countersign/protocol';
import { removeLeftovers } from '../files/atomic-write.ts';
import type { Logger } from '../logger.ts';
import type { ResultReport } from '../runner-api.ts';
import { fileNow, isDirectory } from '../undo/file-now.ts';
import type { Workspace } from '../workspace.ts';
import type { Journal, JournalledAttempt, RecordedChange } from './journal.ts';

/**
 * Settles what a runner before this one had begun and not ended (RN-3). A file that is as it should have become:
 * completed. All files as they were: not done. Anything else, and every command: unknown. Nothing is run again; the
 * outcome is journalled, and then sent like every other.
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
    logger.info(`Left by a runner before: ${attempt.toolId} is ${report.error?.code ?? report.status}`);
    journal.end(attempt.toolId, attempt.attempt, report);
  }
}

async function outcomeOf(
  { tool, attempt }: JournalledAttempt,
  changes: readonly RecordedChange[],
  workspace: Workspace,
): Promise<ResultReport> {
  const told = { attempt };
  const failed = (error: ToolErrorValue): ResultReport => ({ ...told, status: 'failed', error });
  // File tools write down what they are about to do before they do it.
  if (findTool(tool)?.category !== 'filesystem') return failed(describeError('RUNNER_LOST'));
  try {
    let size = 0;
    let isAsAfter = changes.length > 0;
    let isAsBefore = true;
    for (const { path, before, after } of changes) {
      const now = await fileNow(workspace, path);
      const version = now?.version ?? null;
      isAsAfter &&= version === after;
      isAsBefore &&= version === before;
      size = now && !isDirectory(now) ? now.bytes.length : 0;
    }
    const change = changes.at(-1);
    if (change && isAsAfter) {
      const changed_files = changes.map(({ path, operation }) => ({ path, operation }));
      const result = {
        success: true,
        path: change.path,
        ...(tool !== 'delete_file' && tool !== 'create_directory' && { size }),
        changed_files,
      };
      return { ...told, status: 'completed', result };
    }
    if (!isAsBefore) return failed(describeError('RUNNER_LOST'));
    const path = change?.path ?? 'the file';
    return failed(describeError('WRITE_FAILED', { path, problem: 'the runner was stopped before it began' }));
  } catch {
    // What stands there now is no file that could be compared.
    return failed(describeError('RUNNER_LOST'));
  }
}
