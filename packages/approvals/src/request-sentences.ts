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

type TitledCall = Pick<Approval, 'agent' | 'tool_name' | 'tool_params' | 'description' | 'preview'>;

/** Limit for each value in a title, as in the server's description: a long value must not hide the next one. */
const maxValueLength = 160;
/** A longer agent name could imitate the card's own text. */
const maxAgentName = 40;

/**
 * One sentence about the request in the person's language. Returns the server's description if the language has no
 * sentence for this tool, or if the call lacks a value of that sentence.
 */
export function titleOf(
  { agent, tool_name, tool_params, description, preview }: TitledCall,
  words: Pick<ApprovalWords, 'title' | 'callers'>,
): string {
  const intent = intentOf(tool_name, tool_params, preview);
  const own = Object.hasOwn(words.title, intent) ? words.title[intent] : undefined;
  if (own === undefined) return description;
  const values: Values = { who: callerName(agent, words), ...titleValues(tool_params) };
  const places = [...own.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  return places.every((name) => values[name]) ? fill(own, values) : description;
}

function callerName(agent: string, { callers }: Pick<ApprovalWords, 'callers'>): string {
  if (Object.hasOwn(callers, agent)) return callers[agent as keyof typeof callers];
  return visibleLine(agent).slice(0, maxAgentName).trim();
}

/** The values for a title; empty if the call lacks them. Emacs has the same function, `countersign-title-values`. */
function titleValues({ command, args, remote, branch, files, ...params }: TitledCall['tool_params']): Values {
  const { path, source, dest, message, name, host } = params;
  const commandLine = typeof command === 'string' ? [command, ...commandWords(args)].join(' ') : '';
  return {
    path: titleValue(path),
    source: titleValue(source),
    dest: titleValue(dest),
    message: titleValue(message),
    name: titleValue(name),
    host: titleValue(host),
    command: titleValue(commandLine),
    files: String(Array.isArray(files) ? files.length : 0),
    target: `${titleValue(remote) || 'origin'} ${titleValue(branch)}`.trim(),
  };
}

function titleValue(value: JsonValue | undefined): string {
  const line = typeof value === 'string' ? visibleLine(value) : '';
  return line.length <= maxValueLength ? line : `${line.slice(0, maxValueLength - 1)}…`;
}

/** The parameter that identifies a call best: its path, command or message. */
export function callSummary(params: Readonly<Record<string, JsonValue>>): string {
  const { command, args, path, source, dest, message, pattern, content, name, remote, branch, job_id, host } =
    params;
  if (typeof command === 'string') return [command, ...commandWords(args)].join(' ');
  if (typeof source === 'string' && typeof dest === 'string') return `${source} → ${dest}`;
  if (typeof path === 'string') return path;
  const pushTarget = [remote, branch].filter((part) => typeof part === 'string').join(' ');
  for (const value of [message, pattern, content, name, pushTarget, host, job_id])
    if (typeof value === 'string' && value !== '') return value;
  return '';
}

const commandWords = (args: JsonValue | undefined): string[] =>
  Array.isArray(args)
    ? args.map((word) => (typeof word === 'string' ? quoted(word) : JSON.stringify(word)))
    : [];

/** Quotes a word that the shell would split. */
const quoted = (word: string): string => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word));

/** What a wider approval covers, and for how long. */
export function scopeLabel(
  {
    offer: { scope, rules },
    onlyHere,
  }: {
    readonly offer: { readonly scope: OfferedScope['scope']; readonly rules: readonly CoveringRule[] };
    readonly onlyHere?: boolean | undefined;
  },
  words: Pick<ApprovalWords, 'scope' | 'covers'>,
): string {
  if (scope === 'session') return words.scope.session;
  const covered = rules.map((rule) => coveredCalls(rule, words)).reduce(words.covers.both);
  const label = words.scope[onlyHere ? 'project' : scope](covered);
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

type CoveringRule = Pick<OfferedScope['rules'][number], 'tool' | 'path' | 'command'>;

function coveredCalls(
  { tool, path, command }: CoveringRule,
  { covers }: Pick<ApprovalWords, 'covers'>,
): string {
  if (tool === gitCommandsPattern) return covers.git;
  if (command !== undefined && tool === 'reach_host') return covers.host(command.replace(/^reach /, ''));
  if (command !== undefined)
    return command.endsWith(' *') ? covers.commands(command.slice(0, -2)) : covers.command(command);
  if (path === undefined) return covers.tool(tool);
  const deletes = findTool(tool)?.kind === 'delete';
  // The pattern of one file in the root begins with `./`, because without a slash it would match in every folder.
  const file = path.replace(/^\.\//, '');
  if (!path.endsWith('/**')) return deletes ? covers.deletedFile(file) : covers.file(file);
  const folder = path.slice(0, -2);
  return deletes ? covers.deletedFolder(folder) : covers.folder(folder);
}

/**
 * A reason in the person's language (`translated`), followed by the operand that triggered it (RK-3). The operand is
 * left out if the sentence has it in quotation marks. Without them, the same word may be there by chance.
 */
export function reasonText(reason: Reason, translated: string): string {
  const operand = shownOperand(reason);
  return operand === undefined ? translated : `${translated}: ${visibleLine(operand)}`;
}

type Reason = Pick<Approval['reasons'][number], 'why' | 'operand'>;

/** The operand of a reason, unless its sentence has it. */
export const shownOperand = ({ why, operand }: Reason): string | undefined =>
  operand === undefined || why.includes(`"${operand}"`) ? undefined : operand;
