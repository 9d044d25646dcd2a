import {
  type Approval,
  findTool,
  gitCommandsPattern,
  intentOf,
  type JsonValue,
  type OfferedScope,
  visibleLine,
} from '@countersign/protocol';
import { type ApprovalWords, fill, type Values } from '@countersign/words';

type Titled = Pick<Approval, 'agent' | 'tool_name' | 'tool_params' | 'description' | 'preview'>;

/** The same limit as in the server's own sentence, for each value: a long one must not hide the next. */
const maxLength = 160;
/** A name only: a longer one could pretend to be text of ours. */
const maxAgentName = 40;

/** One sentence about the request: the server's, or our own where the language has one for this tool. */
export function titleOf(
  { agent, tool_name, tool_params, description, preview }: Titled,
  words: Pick<ApprovalWords, 'title' | 'callers'>,
): string {
  const intent = intentOf(tool_name, tool_params, preview);
  const own = Object.hasOwn(words.title, intent) ? words.title[intent] : undefined;
  if (own === undefined) return description;
  const values: Values = { who: callerIn(agent, words), ...titleValues(tool_params) };
  const places = [...own.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  return places.every((name) => values[name]) ? fill(own, values) : description;
}

function callerIn(agent: string, { callers }: Pick<ApprovalWords, 'callers'>): string {
  if (Object.hasOwn(callers, agent)) return callers[agent as keyof typeof callers];
  return visibleLine(agent).slice(0, maxAgentName).trim();
}

/** What may stand in a title; empty where the call does not have it. Emacs does the same (countersign-title-values). */
function titleValues({ command, args, remote, branch, files, ...params }: Titled['tool_params']): Values {
  const { path, source, dest, message, name } = params;
  const commandLine = typeof command === 'string' ? [command, ...commandWords(args)].join(' ') : '';
  return {
    path: shown(path),
    source: shown(source),
    dest: shown(dest),
    message: shown(message),
    name: shown(name),
    command: shown(commandLine),
    files: String(Array.isArray(files) ? files.length : 0),
    target: `${shown(remote) || 'origin'} ${shown(branch)}`.trim(),
  };
}

function shown(value: JsonValue | undefined): string {
  const line = typeof value === 'string' ? visibleLine(value) : '';
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1)}…`;
}

/** The parameter that identifies a call best: its path, command or message. */
export function callSummary(params: Readonly<Record<string, JsonValue>>): string {
  const { command, args, path, source, dest, message, pattern, content, name, remote, branch, job_id } =
    params;
  if (typeof command === 'string') return [command, ...commandWords(args)].join(' ');
  if (typeof source === 'string' && typeof dest === 'string') return `${source} → ${dest}`;
  if (typeof path === 'string') return path;
  // For a push, the target says more than its other parameters.
  const pushed = [remote, branch].filter((part) => typeof part === 'string').join(' ');
  for (const value of [message, pattern, content, name, pushed, job_id])
    if (typeof value === 'string' && value !== '') return value;
  return '';
}

const commandWords = (args: JsonValue | undefined): string[] =>
  Array.isArray(args)
    ? args.map((word) => (typeof word === 'string' ? quoted(word) : JSON.stringify(word)))
    : [];

/** Quotes a word that the shell would split. */
const quoted = (word: string): string => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word));

/** What a wider approval covers and for how long, said once. */
export function scopeLabel(
  { scope, rule }: { readonly scope: OfferedScope['scope']; readonly rule: Covered },
  words: Pick<ApprovalWords, 'scope' | 'covers'>,
): string {
  if (scope === 'session') return words.scope.session;
  const label = words.scope[scope](whatOf(rule, words));
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

type Covered = Pick<OfferedScope['rule'], 'tool' | 'path' | 'command'>;

function whatOf({ tool, path, command }: Covered, { covers }: Pick<ApprovalWords, 'covers'>): string {
  if (tool === gitCommandsPattern) return covers.git;
  if (command !== undefined)
    return command.endsWith(' *') ? covers.commands(command.slice(0, -2)) : covers.command(command);
  if (path === undefined) return covers.tool(tool);
  const deletes = findTool(tool)?.kind === 'delete';
  if (!path.endsWith('/**')) return deletes ? covers.deletedFile(path) : covers.file(path);
  const folder = path.slice(0, -2);
  return deletes ? covers.deletedFolder(folder) : covers.folder(folder);
}

/**
 * A reason as the person's language has it (`said`), with what triggered it where the sentence does not quote that (RK-3).
 * A word of the sentence may be the same by chance: only in quotation marks is it a value.
 */
export const reasonText = (
  { why, operand }: Pick<Approval['reasons'][number], 'why' | 'operand'>,
  said: string,
): string =>
  operand === undefined || why.includes(`"${operand}"`) ? said : `${said}: ${visibleLine(operand)}`;
