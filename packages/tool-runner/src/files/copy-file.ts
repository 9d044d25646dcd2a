import { CountersignError } from '@countersign/protocol';
import type { Workspace } from '../workspace.ts';
import { changingFiles } from './change-files.ts';
import { findTarget, type OnRead, PERMISSIONS, type PlannedChange, plannedWrite } from './file-plan.ts';

export const copyFile = changingFiles<'copy_file'>(async (params, workspace, onRead) => [
  await planCopy({ tool: 'copy_file', ...params }, workspace, onRead),
]);

export async function planCopy(
  { tool, ...params }: { readonly tool: string; readonly source: string; readonly dest: string },
  workspace: Workspace,
  onRead?: OnRead,
): Promise<PlannedChange> {
  const source = await findTarget(workspace, params.source, { onRead });
  const { snapshot } = source;
  if (!snapshot) throw new CountersignError('FILE_NOT_FOUND', { path: source.path });
  const target = await findTarget(workspace, params.dest, { toWrite: true });
  if (target.snapshot && target.snapshot.identity === snapshot.identity) {
    const problem = `source and dest are the same file, "${target.path}"`;
    throw new CountersignError('INVALID_PARAMS', { tool, problem });
  }
  return {
    ...plannedWrite(workspace, target, snapshot.bytes),
    mode: snapshot.mode & PERMISSIONS,
    source: { path: source.path, snapshot },
  };
}
