import {
  type Effect,
  type ForeignRule,
  objectAt,
  unreadable,
  untranslatable,
  type Wanted,
} from './foreign-rule.ts';
import { parseJsonWithComments } from './json-with-comments.ts';
import { textGlob } from './path-pattern.ts';

/** `opencode.json`: `permission`, by tool, and for some tools by pattern, of which the last that matches counts. */
export function readOpencode(text: string, file: string): ForeignRule[] {
  const config = objectAt(parseJsonWithComments(text, file), file, 'the file');
  const rules: ForeignRule[] = [];
  if (typeof config.permission === 'string') rules.push(...ofTool('*', config.permission, file));
  else
    for (const [tool, value] of Object.entries(objectAt(config.permission, file, 'permission')))
      rules.push(...ofTool(tool, value, file));
  for (const [tool, isOn] of Object.entries(objectAt(config.tools, file, 'tools')))
    if (isOn === false) rules.push(...ofTool(tool, 'deny', file));
  for (const [agent, value] of Object.entries(objectAt(config.agent, file, 'agent')))
    if (objectAt(value, file, `agent.${agent}`).permission !== undefined)
      rules.push({
        file,
        text: `agent.${agent}.permission`,
        effect: 'deny',
        wanted: untranslatable('only_in_mode'),
      });
  return rules;
}

function ofTool(tool: string, value: unknown, file: string): ForeignRule[] {
  if (typeof value === 'string') {
    const effect = effectOf(value, file, tool);
    return [{ file, text: `${tool}: ${value}`, effect, wanted: wholeTool(tool, effect) }];
  }
  const patterns = Object.entries(objectAt(value, file, `permission.${tool}`));
  const matchesAll = (pattern: string): boolean => /^\*+(\/\*+)?$/.test(pattern);
  return patterns.map(([pattern, action], index): ForeignRule => {
    const effect = effectOf(action, file, `${tool}.${pattern}`);
    const text = `${tool}: ${pattern}: ${String(action)}`;
    const isAll = matchesAll(pattern);
    const later = patterns.slice(index + 1);
    const hasAllow = later.some(([, other]) => other === 'allow');
    // In opencode the last matching pattern wins, so a later pattern for everything overrides this one.
    if (effect === 'allow' && later.some(([other, then]) => matchesAll(other) && then !== 'allow'))
      return { file, text, effect, wanted: untranslatable('asks_anyway') };
    // Deny beats allow here, so a denial of everything would take the exceptions with it.
    if (isAll && effect === 'deny' && hasAllow)
      return { file, text, effect, wanted: untranslatable('denial_with_exceptions') };
    if (isAll && effect === 'ask') return { file, text, effect, wanted: untranslatable('asks_anyway') };
    return { file, text, effect, wanted: isAll ? wholeTool(tool, effect) : ofPattern(tool, pattern) };
  });
}

function effectOf(action: unknown, file: string, place: string): Effect {
  if (action === 'allow' || action === 'ask' || action === 'deny') return action;
  throw unreadable(file, `permission.${place}: there is no action ${JSON.stringify(action)}`);
}

function wholeTool(tool: string, effect: Effect): Wanted {
  if (effect === 'ask' && tool === '*') return untranslatable('asks_anyway');
  switch (tool) {
    case 'bash':
      return effect === 'allow'
        ? untranslatable('everything')
        : { kind: 'tool', tool: '{execute_command,shell_exec,shell_background}' };
    case 'edit':
    case 'write':
    case 'patch':
      return { kind: 'edit', glob: '**' };
    case 'read':
    case 'list':
    case 'glob':
    case 'grep':
      return { kind: 'read', glob: '**' };
    case 'webfetch':
    case 'websearch':
      return untranslatable('no_web');
    case 'external_directory':
      return untranslatable('outside');
    case '*':
      return untranslatable('everything');
    default:
      // opencode names a tool of an MCP server `server_tool`, so we cannot tell where the server's name ends.
      return untranslatable('no_such_tool');
  }
}

function ofPattern(tool: string, pattern: string): Wanted {
  if (tool === 'bash')
    return pattern.includes('?')
      ? untranslatable('shell_syntax')
      : { kind: 'command', text: pattern, wildcards: true };
  if (tool === 'edit' || tool === 'read') {
    const glob = textGlob(pattern);
    return glob === undefined ? untranslatable('outside') : { kind: tool, glob };
  }
  return tool === 'webfetch' || tool === 'websearch'
    ? untranslatable('no_web')
    : untranslatable('parameters');
}
