import {
  type Approval,
  findTool,
  gitCommandsPattern,
  intentOf,
  type JsonValue,
  type OfferedScope,
  visibleLine,
} from '@countersign/protocol';

type Titled = Pick<Approval, 'agent' | 'tool_name' | 'tool_params' | 'description' | 'preview'>;

/** Titles in one language. A tool without one gets the server's sentence. */
interface TitleWords {
  readonly approval: {
    readonly title: Readonly<Record<string, ((who: string, what: string) => string) | undefined>>;
    agent(name: string): string;
  };
}

/** The same limit as the server's own sentence. */
const maxLength = 160;
/** A name only: a longer one could pretend to be text of ours. */
const maxAgentName = 40;

/** One sentence about the request: the server's, or our own where the language has one for this tool. */
export function titleOf(
  { agent, tool_name, tool_params, description, preview }: Titled,
  { approval }: TitleWords,
): string {
  const intent = intentOf(tool_name, tool_params, preview);
  const own = Object.hasOwn(approval.title, intent) ? approval.title[intent] : undefined;
  const what = visibleLine(callSummary(tool_params));
  if (!own || what === '') return description;
  const who = approval.agent(agent.slice(0, maxAgentName).trim());
  return own(who, what.length <= maxLength ? what : `${what.slice(0, maxLength - 1)}…`);
}

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

/** How a language says it. */
interface ScopeWords {
  readonly approval: {
    readonly scope: { readonly session: string; class(what: string): string; always(what: string): string };
    readonly covers: Readonly<
      Record<
        'tool' | 'commands' | 'command' | 'folder' | 'file' | 'deletedFolder' | 'deletedFile',
        (name: string) => string
      >
    > & { readonly git: string };
  };
}

/** What a wider approval covers and for how long, said once. */
export function scopeLabel(
  { scope, rule }: { readonly scope: OfferedScope['scope']; readonly rule: Covered },
  { approval }: ScopeWords,
): string {
  if (scope === 'session') return approval.scope.session;
  const label = approval.scope[scope](whatOf(rule, approval));
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

type Covered = Pick<OfferedScope['rule'], 'tool' | 'path' | 'command'>;

function whatOf({ tool, path, command }: Covered, { covers }: ScopeWords['approval']): string {
  if (tool === gitCommandsPattern) return covers.git;
  if (command !== undefined)
    return command.endsWith(' *') ? covers.commands(command.slice(0, -2)) : covers.command(command);
  if (path === undefined) return covers.tool(tool);
  const deletes = findTool(tool)?.kind === 'delete';
  if (!path.endsWith('/**')) return deletes ? covers.deletedFile(path) : covers.file(path);
  const folder = path.slice(0, -2);
  return deletes ? covers.deletedFolder(folder) : covers.folder(folder);
}

/** A reason as the person's language has it (`said`), with what triggered it where the sentence does not name that (RK-3). */
export const reasonText = (
  { why, operand }: Pick<Approval['reasons'][number], 'why' | 'operand'>,
  said: string,
): string => (operand === undefined || why.includes(operand) ? said : `${said}: ${visibleLine(operand)}`);
