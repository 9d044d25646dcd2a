import { CountersignError, type ToolParams } from '@countersign/protocol';
import type { Workspace } from '../workspace.ts';
import { changingFiles } from './change-files.ts';
import { applyEdit } from './exact-edit.ts';
import { encode, findTarget, type PlannedChange, plannedWrite } from './file-plan.ts';
import { decodeText } from './text-encoding.ts';

export const editFile = changingFiles<'edit_file'>(async (params, workspace) => [
  await planEdit(params, workspace),
]);

export async function planEdit(
  params: ToolParams<'edit_file'>,
  workspace: Workspace,
): Promise<PlannedChange> {
  const target = await findTarget(workspace, params.path, { toWrite: true });
  const { path } = target;
  if (!target.snapshot) throw new CountersignError('FILE_NOT_FOUND', { path });
  const existing = decodeText(target.snapshot.bytes);
  if (!existing) throw new CountersignError('BINARY_FILE', { path });
  const { old, new: replacement, replace_all: all } = params;
  const outcome = applyEdit(existing.text, { old, new: replacement, all });
  if ('occurrences' in outcome) {
    const { occurrences: count } = outcome;
    if (count === 0) throw new CountersignError('EDIT_NO_MATCH', { path });
    if (!all) throw new CountersignError('EDIT_AMBIGUOUS', { path, count });
    const problem = `old occurs ${count} times or more, which is too often to replace`;
    throw new CountersignError('INVALID_PARAMS', { tool: 'edit_file', problem });
  }
  const after = encode(outcome.text, existing, { tool: 'edit_file', path });
  return plannedWrite(workspace, target, after);
}
