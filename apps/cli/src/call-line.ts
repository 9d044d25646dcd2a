import { type ExecutionStatus, type JsonValue, visibleLine } from '@countersign/protocol';
import { paints } from './terminal.ts';

/** A tool call in one line, without control characters: `execute_command npm test`, `write_file src/app.ts`. */
export function callWords(tool: string, params: Readonly<Record<string, JsonValue>>): string {
  const { command, args, path, source, dest, ...others } = params;
  const parts = [
    ...(typeof command === 'string' ? [command] : []),
    ...(Array.isArray(args) ? args.map(asText) : []),
    ...[path, source, dest].flatMap((value) => (value === undefined ? [] : [asText(value)])),
  ];
  const rest = Object.entries(others)
    .filter(([name]) => parts.length === 0 || !unimportant.includes(name))
    .map(([name, value]) => `${name}=${asText(value)}`);
  const line = visibleLine([tool, ...parts, ...rest].join(' '));
  return line.length <= 300 ? line : `${line.slice(0, 299)}…`;
}

/** Parameters that a line leaves out: contents, and settings that rarely differ. */
const unimportant = ['content', 'old', 'new', 'mode', 'timeout', 'replace_all', 'encoding'];

const asText = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));

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
