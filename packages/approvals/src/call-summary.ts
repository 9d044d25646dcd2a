import type { JsonValue } from '@countersign/protocol';

/** The parameter that identifies a call best: its path, command or message. */
export function callSummary(params: Readonly<Record<string, JsonValue>>): string {
  const { command, args, path, source, dest, message, pattern, content, name, remote, branch, job_id } =
    params;
  if (typeof command === 'string') return [command, ...words(args)].join(' ');
  if (typeof source === 'string' && typeof dest === 'string') return `${source} → ${dest}`;
  if (typeof path === 'string') return path;
  // For a push, the target says more than its other parameters.
  const pushed = [remote, branch].filter((part) => typeof part === 'string').join(' ');
  for (const value of [message, pattern, content, name, pushed, job_id])
    if (typeof value === 'string' && value !== '') return value;
  return '';
}

const words = (args: JsonValue | undefined): string[] =>
  Array.isArray(args)
    ? args.map((word) => (typeof word === 'string' ? quoted(word) : JSON.stringify(word)))
    : [];

/** Quotes a word that the shell would split. */
const quoted = (word: string): string => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word));
