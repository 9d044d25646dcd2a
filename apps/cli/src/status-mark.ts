import type { ExecutionStatus } from '@countersign/protocol';
import { paints } from './terminal.ts';

/** A symbol for the state of a call. A command with a non-zero exit code has its own (TL-2). */
export function statusMark(status: ExecutionStatus, color: boolean, exitCode = 0): string {
  const paint = paints(color);
  if (status === 'completed' && exitCode !== 0) return paint.yellow('≠');
  switch (status) {
    case 'completed':
      return paint.green('✓');
    case 'failed':
    case 'rejected':
      return paint.red('✗');
    case 'timeout':
    case 'cancelled':
      return paint.yellow('–');
    default:
      return paint.cyan('…');
  }
}
