import type { JsonValue } from '@countersign/protocol';

/** The one thing that tells a call from others of its tool: its path, its command, its message. */
export function callSummary(params: Readonly<Record<string, JsonValue>>): string {
  const { command, args, path, source, dest, message, pattern, content, name, remote, branch, job_id } =
    params;
  if (typeof command === 'string') return [command, ...words(args)].join(' ');
  if (typeof source === 'string' && typeof dest === 'string') return `${source} → ${dest}`;
  if (typeof path === 'string') return path;
  // Where it goes says more than what goes there.
  const pushed = [remote, branch].filter((part) => typeof part === 'string').join(' ');
  for (const value of [message, pattern, content, name, pushed, job_id])
    if (typeof value === 'string' && value !== '') return value;
  return '';
}

const words = (args: JsonValue | undefined): string[] =>
  Array.isArray(args)
    ? args.map((word) => (typeof word === 'string' ? quoted(word) : JSON.stringify(word)))
    : [];

/** As one would have to type it, where a word has spaces. */
const quoted = (word: string): string => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word));
