import { CountersignError } from '@countersign/protocol';
import type { Workspace } from '../workspace.ts';
import { changingFiles } from './change-files.ts';
import { findTarget, type PlannedChange } from './file-plan.ts';
import { decodeText } from './text-encoding.ts';

export const deleteFile = changingFiles<'delete_file'>(async ({ path }, workspace) => [
  await planDeletion(path, workspace),
]);

export async function planDeletion(asked: string, workspace: Workspace): Promise<PlannedChange> {
  // Text that is only in an editor's buffer stays there.
  const { path, snapshot, throughLink } = await findTarget(workspace, asked, { ofDisk: true });
  // The card could not say whether the link is meant or the file.
  if (throughLink) throw new CountersignError('NOT_A_REGULAR_FILE', { path: asked, kind: 'link' });
  if (!snapshot) throw new CountersignError('FILE_NOT_FOUND', { path });
  const encoding = decodeText(snapshot.bytes)?.encoding ?? 'binary';
  return { path, operation: 'deleted', before: snapshot, after: null, mode: snapshot.mode, encoding };
}
