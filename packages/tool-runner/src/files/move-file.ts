import { changingFiles } from './change-files.ts';
import { planCopy } from './copy-file.ts';
import { planDeletion } from './delete-file.ts';

/** A copy and then a deletion, both or none: moving is possible between file systems, and from an unsaved buffer (RN-9). */
export const moveFile = changingFiles<'move_file'>(async (params, workspace, onRead) => [
  await planCopy({ tool: 'move_file', ...params }, workspace, onRead),
  await planDeletion(params.source, workspace),
]);
