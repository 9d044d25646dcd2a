import { CountersignError } from '@countersign/protocol';
import type { Workspace } from '../workspace.ts';
import { changingFiles } from './change-files.ts';
import { findTarget, type PlannedChange } from './file-plan.ts';

export const deleteFile = changingFiles<'delete_file'>(async ({ path }, workspace) => [
  await planDeletion(path, workspace),
]);

export async function planDeletion(asked: string, workspace: Workspace): Promise<PlannedChange> {
  // Plan with the disk's content: the editor keeps its unsaved buffer.
  const { path, snapshot, throughLink } = await findTarget(workspace, asked, { ignoreBuffers: true });
  // Refuse a link, because the approval card cannot show whether the link or its target is deleted.
  if (throughLink) throw new CountersignError('NOT_A_REGULAR_FILE', { path: asked, kind: 'link' });
  if (!snapshot) throw new CountersignError('FILE_NOT_FOUND', { path });
  return { path, operation: 'deleted', before: snapshot, after: null, mode: snapshot.mode };
}
