import { type Execution, type JsonValue, visibleLine } from '@countersign/protocol';

/** The parameter that identifies a call best, on one line. */
export function callLabel(tool: string, params: Readonly<Record<string, JsonValue>>): string {
  const { command, args, path, source, dest, message, pattern, content, name } = params;
  const words = Array.isArray(args) ? args.map(String) : [];
  const what =
    typeof command === 'string'
      ? [command, ...words].join(' ')
      : typeof source === 'string' && typeof dest === 'string'
        ? `${source} → ${dest}`
        : [path, message, pattern, content, name].find((value) => typeof value === 'string');
  return what === undefined ? tool : `${tool} ${visibleLine(what).slice(0, 120)}`;
}

/** Whether a call can still be cancelled. */
export const isRunning = ({ status }: Pick<Execution, 'status'>): boolean =>
  ['pending', 'awaiting_approval', 'approved', 'executing'].includes(status);

export const isUndoable = ({ undoable, undone_at }: Pick<Execution, 'undoable' | 'undone_at'>): boolean =>
  undoable && undone_at === null;
