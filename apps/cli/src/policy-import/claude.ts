import {
  type Effect,
  type ForeignRule,
  objectAt,
  textsAt,
  untranslatable,
  type Wanted,
} from './foreign-rule.ts';
import { parseJsonWithComments } from './json-with-comments.ts';
import { gitignoreGlob } from './path-pattern.ts';

/** The rules of a `settings.json` of Claude Code: `permissions` with `allow`, `ask` and `deny`. */
export function readClaude(text: string, file: string): ForeignRule[] {
  const settings = objectAt(parseJsonWithComments(text, file), file, 'the file');
  const permissions = objectAt(settings.permissions, file, 'permissions');
  const rules = (['deny', 'ask', 'allow'] as const).flatMap((effect) =>
    textsAt(permissions[effect], file, `permissions.${effect}`).map(
      (rule): ForeignRule => ({ file, text: rule, effect, wanted: wantedBy(rule, effect) }),
    ),
  );
  const mode = permissions.defaultMode;
  if (typeof mode === 'string' && mode !== 'default')
    rules.push({ file, text: `defaultMode: ${mode}`, effect: 'allow', wanted: untranslatable('mode') });
  for (const folder of textsAt(permissions.additionalDirectories, file, 'permissions.additionalDirectories'))
    rules.push({
      file,
      text: `additionalDirectories: ${folder}`,
      effect: 'allow',
      wanted: untranslatable('outside'),
    });
  return rules;
}

function wantedBy(rule: string, effect: Effect): Wanted {
  const [, tool = '', inner] = /^([A-Za-z_][\w*-]*)(?:\(([\s\S]*)\))?$/.exec(rule.trim()) ?? [];
  const about = inner === undefined || inner === '*' || inner === '' ? undefined : inner;
  if (tool.startsWith('mcp__')) return about === undefined ? customTool(tool) : untranslatable('parameters');
  switch (tool) {
    case 'Bash':
      return about === undefined ? wholeShell(effect) : command(about);
    case 'Edit':
    case 'Write':
    case 'MultiEdit':
    case 'NotebookEdit':
      // Claude Code checks only the paths of Edit rules: importing a path of another tool would allow more than it
      // does.
      if (about !== undefined && tool !== 'Edit' && effect === 'allow')
        return untranslatable('not_consulted');
      return about === undefined
        ? { kind: 'edit', glob: '**', only: tool === 'Write' ? 'write_file' : 'edit_file' }
        : file('edit', about, effect);
    case 'Read':
    case 'Glob':
    case 'Grep':
    case 'LS':
      if (about !== undefined && tool !== 'Read' && effect === 'allow')
        return untranslatable('not_consulted');
      return about === undefined ? { kind: 'read', glob: '**' } : file('read', about, effect);
    case 'WebFetch':
    case 'WebSearch':
      return untranslatable('no_web');
    default:
      return untranslatable('no_such_tool');
  }
}

/** `npm run test:*` is `npm run test *`. */
function command(text: string): Wanted {
  if (text.endsWith(':*')) return { kind: 'command', text: text.slice(0, -2), wildcards: true, open: true };
  return { kind: 'command', text, wildcards: true };
}

/**
 * In Claude's patterns braces are literal; in ours they list alternatives. A rule that denies may cover both meanings.
 */
function file(kind: 'edit' | 'read', pattern: string, effect: Effect): Wanted {
  const literal = effect === 'allow' ? pattern.replace(/[{}]/g, '\\$&') : pattern;
  const glob = gitignoreGlob(literal, { rooted: true });
  return glob === undefined ? untranslatable('outside') : { kind, glob };
}

const wholeShell = (effect: Effect): Wanted =>
  effect === 'allow'
    ? untranslatable('everything')
    : { kind: 'tool', tool: '{execute_command,shell_exec,shell_background}' };

/** `mcp__server__tool` is our `server__tool`, if the server has the same name here. */
function customTool(name: string): Wanted {
  const [server = '', ...rest] = name.slice('mcp__'.length).split('__');
  const tool = rest.join('__');
  if (server === '' || server.includes('*')) return untranslatable('everything');
  return { kind: 'tool', tool: `${server}__${tool === '' ? '*' : tool}` };
}
