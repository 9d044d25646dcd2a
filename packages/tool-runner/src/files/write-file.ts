import { CountersignError, type ToolParams } from '@countersign/protocol';
import type { Workspace } from '../workspace.ts';
import { changingFiles } from './change-files.ts';
import { encode, findTarget, type PlannedChange, plannedWrite } from './file-plan.ts';
import { type DecodedText, decodeText, inLineEndingOf, type TextForm } from './text-encoding.ts';

export const writeFile = changingFiles<'write_file'>(async (params, workspace) => [
  await planWrite(params, workspace),
]);

export async function planWrite(
  params: ToolParams<'write_file'>,
  workspace: Workspace,
): Promise<PlannedChange> {
  const target = await findTarget(workspace, params.path, { toWrite: true });
  const existing = target.snapshot && decodeText(target.snapshot.bytes);
  const appends = params.mode === 'append' && target.snapshot !== undefined;
  if (appends && !existing) throw new CountersignError('BINARY_FILE', { path: target.path });
  const form: TextForm = existing ?? { encoding: 'utf-8', bom: false };
  // encodeText adds the file's byte order mark, so remove one from the content.
  const given = form.bom ? params.content.replace(/^\ufeff/, '') : params.content;
  const content = existing ? inLineEndingOf(existing.text, given) : given;
  const text = appends ? (existing as DecodedText).text + content : content;
  const after = encode(text, form, { tool: 'write_file', path: target.path });
  return plannedWrite(workspace, target, after);
}
