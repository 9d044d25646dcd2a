import { findTool, type SessionMode } from '@countersign/protocol';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow } from '../rows.ts';
import type { Reading, Unit } from '../store.ts';

/** The error of a call that may change something in a conversation that is read only (AP-11). */
export const readOnlyRefusal = (tool: string): Refusal => new Refusal('SESSION_READ_ONLY', { tool });

/** Whether a person may be asked again about a call that was to run. Its parameters are not judged again here. */
export function* mayAskAgain(tx: Reading, { session_id, tool_name }: ExecutionRow): Unit<boolean> {
  return findTool(tool_name)?.changes === 'nothing' || (yield* tx.modeOf(session_id)) !== 'read_only';
}

/** Whether a mode offers a tool to the model (AG-4). A tool that changes something in some calls stays: those are refused. */
export function isOfferedIn(mode: SessionMode, tool: string): boolean {
  if (mode !== 'read_only') return true;
  const row = findTool(tool);
  return row?.changes === 'nothing' || row?.mayRunUnasked === true;
}
