import { findTool } from '@countersign/protocol';
import { changedFilesOf } from '../record/call-events.ts';
import type { ExecutionRow, Json } from '../rows.ts';

/**
 * What a row keeps of a result, for lists and for events that are too small for the result. Only file tools keep undo
 * copies (RN-3): a command or a commit that changed files cannot be undone.
 */
export function resultFacts(toolName: string, result: Json): Pick<ExecutionRow, 'undoable' | 'exit_code'> {
  const isFileTool = findTool(toolName)?.category === 'filesystem';
  return {
    undoable: isFileTool && changedFilesOf(result).length > 0,
    exit_code: exitCodeOf(toolName, result),
  };
}

const foreground: readonly string[] = ['execute_command', 'shell_exec'];

/** How a command ended. What `shell_output` says of a background job is not about the call itself. */
function exitCodeOf(toolName: string, result: Json): number | null {
  if (!foreground.includes(toolName) || result === null || typeof result !== 'object') return null;
  const { exit_code } = result as { readonly exit_code?: unknown };
  return Number.isInteger(exit_code) && Math.abs(exit_code as number) < 2 ** 31
    ? (exit_code as number)
    : null;
}
