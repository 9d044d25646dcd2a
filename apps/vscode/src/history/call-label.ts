import { callSummary } from '@countersign/approvals';
import { type Execution, type JsonValue, visibleLine } from '@countersign/protocol';

/** The tool and the parameter that identifies a call best, on one line. */
export function callLabel(tool: string, params: Readonly<Record<string, JsonValue>>): string {
  const what = visibleLine(callSummary(params)).slice(0, 120);
  return what === '' ? tool : `${tool} ${what}`;
}

/** Whether a call can still be cancelled. */
export const isRunning = ({ status }: Pick<Execution, 'status'>): boolean =>
  ['pending', 'awaiting_approval', 'approved', 'executing'].includes(status);

export const isUndoable = ({ undoable, undone_at }: Pick<Execution, 'undoable' | 'undone_at'>): boolean =>
  undoable && undone_at === null;
