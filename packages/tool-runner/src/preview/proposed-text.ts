import type { PolicyDecision } from '@countersign/policy';
import type { ToolCall } from '@countersign/protocol';
import { planFileChange } from '../files/plan-file-change.ts';
import { decodeText } from '../files/text-encoding.ts';
import type { Workspace } from '../workspace.ts';
import { confirmJudged } from './preview-call.ts';

/** A file before and after a call, whole, for an editor's own diff. */
export interface ProposedText {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  /** Null where there is no file yet. */
  readonly before: string | null;
  readonly after: string;
}

/** What a call would make of one text file; undefined for calls that do something else. Throws as the preview does. */
export async function proposedText(
  call: ToolCall,
  decision: PolicyDecision,
  workspace: Workspace,
): Promise<ProposedText | undefined> {
  if (call.tool !== 'write_file' && call.tool !== 'edit_file' && call.tool !== 'copy_file') return undefined;
  const { path, before, after, source } = await planFileChange(workspace, call);
  confirmJudged(decision, source ? [source.path, path] : [path]);
  const now = before ? decodeText(before.bytes) : { text: null };
  const then = after && decodeText(after);
  return now && then ? { path, before: now.text, after: then.text } : undefined;
}
