import { changingFiles } from './change-files.ts';
import { planCopy } from './copy-file.ts';
import { planDeletion } from './delete-file.ts';

/** Copies and then deletes, instead of renaming: so moving works between file systems and for unsaved buffers (RN-9). */
export const moveFile = changingFiles<'move_file'>(async (params, workspace, onRead) => [
  await planCopy({ tool: 'move_file', ...params }, workspace, onRead),
  await planDeletion(params.source, workspace),
]);
