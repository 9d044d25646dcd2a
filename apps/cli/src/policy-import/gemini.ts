import {
  type Effect,
  type ForeignRule,
  objectAt,
  textsAt,
  unreadable,
  untranslatable,
  type Wanted,
} from './foreign-rule.ts';
import { parseJsonWithComments } from './json-with-comments.ts';
import { parseToml } from './toml.ts';

/** `settings.json` of Gemini CLI: `tools.allowed`, `tools.exclude` and `tools.core`, and their older names. */
export function readGeminiSettings(text: string, file: string): ForeignRule[] {
  const settings = objectAt(parseJsonWithComments(text, file), file, 'the file');
  const tools = objectAt(settings.tools, file, 'tools');
  const of = (name: string, older: string) => [
    ...textsAt(tools[name], file, `tools.${name}`),
    ...textsAt(settings[older], file, older),
  ];
  const rule =
    (effect: Effect) =>
    (entry: string): ForeignRule => ({ file, text: entry, effect, wanted: entryOf(entry, effect) });
  // `core` lists the tools that exist at all. A tool that it leaves out was missing there, not asked about.
  const core = of('core', 'coreTools').map(
    (entry): ForeignRule => ({
      file,
      text: `core: ${entry}`,
      effect: 'deny',
      wanted: untranslatable('tool_list'),
    }),
  );
  const mode = objectAt(settings.general, file, 'general').defaultApprovalMode;
  const modes: ForeignRule[] =
    typeof mode === 'string' && mode !== 'default'
      ? [{ file, text: `defaultApprovalMode: ${mode}`, effect: 'allow', wanted: untranslatable('mode') }]
      : [];
  return [
    ...of('exclude', 'excludeTools').map(rule('deny')),
    ...of('allowed', 'allowedTools').map(rule('allow')),
    ...core,
    ...modes,
  ];
}

/** `run_shell_command(git status)`, `write_file`, `server__tool`. */
function entryOf(entry: string, effect: Effect): Wanted {
  const [, tool = '', inner] = /^([\w.-]+)(?:\(([\s\S]*)\))?$/.exec(entry.trim()) ?? [];
  if (tool === 'run_shell_command' || tool === 'ShellTool') return shell(inner, effect);
  return inner === undefined ? toolOf(tool, effect) : untranslatable('parameters');
}

/** A prefix of the command's text. A denial also covers a word that only begins with the prefix. */
function shell(prefix: string | undefined, effect: Effect): Wanted {
  const text = prefix?.trim() ?? '';
  if (text === '')
    return effect === 'allow'
      ? untranslatable('everything')
      : { kind: 'tool', tool: '{execute_command,shell_exec,shell_background}' };
  if (text.includes('*')) return untranslatable('shell_syntax');
  return effect === 'allow' || prefix?.endsWith(' ')
    ? { kind: 'command', text, wildcards: false, open: true }
    : { kind: 'command', text: `${text}*`, wildcards: true };
}

function toolOf(tool: string, effect: Effect): Wanted {
  switch (tool) {
    case 'write_file':
    case 'WriteFileTool':
      return { kind: 'edit', glob: '**', only: 'write_file' };
    case 'replace':
    case 'EditTool':
      return { kind: 'edit', glob: '**', only: 'edit_file' };
    case 'read_file':
    case 'read_many_files':
    case 'list_directory':
    case 'glob':
    case 'grep_search':
    case 'search_file_content':
    case 'ReadFileTool':
      return { kind: 'read', glob: '**' };
    case 'web_fetch':
    case 'google_web_search':
      return untranslatable('no_web');
    case '*':
    case '':
      return untranslatable('everything');
    default:
      if (!tool.includes('__')) return untranslatable('no_such_tool');
      return /^\*/.test(tool) && effect === 'allow'
        ? untranslatable('everything')
        : { kind: 'tool', tool: tool.replace(/^mcp_(?!_)/, '') };
  }
}

const effects: Readonly<Record<string, Effect>> = { allow: 'allow', ask_user: 'ask', deny: 'deny' };

/** A file of Gemini's policies: `[[rule]]` with toolName, commandPrefix, decision. */
export function readGeminiPolicy(text: string, file: string): ForeignRule[] {
  const rules = parseToml(text, file).rule ?? [];
  if (!Array.isArray(rules)) throw unreadable(file, 'rule is not a list of tables');
  return rules.flatMap((value: unknown, index): ForeignRule[] => {
    const rule = objectAt(value, file, `rule ${index + 1}`);
    const effect = effects[String(rule.decision)];
    if (!effect)
      throw unreadable(file, `rule ${index + 1}: there is no decision ${JSON.stringify(rule.decision)}`);
    const names = listOf(rule.toolName ?? '*');
    const prefixes = rule.commandPrefix === undefined ? [undefined] : listOf(rule.commandPrefix);
    const server = rule.mcpName === undefined ? undefined : String(rule.mcpName);
    return names.flatMap((name) =>
      prefixes.map((prefix): ForeignRule => {
        const parts = [server, name, prefix && `commandPrefix "${prefix}"`].filter(
          (part) => part !== undefined,
        );
        return {
          file,
          text: parts.join(' '),
          effect,
          wanted: wantedBy(rule, { name, prefix, server }, effect),
        };
      }),
    );
  });
}

function wantedBy(
  rule: Readonly<Record<string, unknown>>,
  { name, prefix, server }: { name: string; prefix: string | undefined; server: string | undefined },
  effect: Effect,
): Wanted {
  const isPartial =
    rule.argsPattern !== undefined || rule.commandRegex !== undefined || rule.toolAnnotations !== undefined;
  if (isPartial) return untranslatable('regular_expression');
  if (rule.modes !== undefined && effect === 'allow') return untranslatable('only_in_mode');
  if (server !== undefined)
    return server.includes('*') ? untranslatable('everything') : { kind: 'tool', tool: `${server}__${name}` };
  if (name === 'run_shell_command') return shell(prefix, effect);
  return prefix === undefined ? toolOf(name, effect) : untranslatable('parameters');
}

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : [String(value)];
