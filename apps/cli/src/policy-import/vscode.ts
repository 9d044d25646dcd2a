import { type ForeignRule, objectAt, unreadable, type Wanted } from './foreign-rule.ts';
import { parseJsonWithComments } from './json-with-comments.ts';
import { gitignoreGlob } from './path-pattern.ts';

const TERMINAL = 'chat.tools.terminal.autoApprove';
const EDITS = 'chat.tools.edits.autoApprove';
const ALL = ['chat.tools.autoApprove', 'chat.tools.global.autoApprove'] as const;

/** Settings of VS Code: what runs in the terminal and which files are edited without asking. `false` asks. */
export function readVscode(text: string, file: string): ForeignRule[] {
  const settings = objectAt(parseJsonWithComments(text, file), file, 'the file');
  const rules: ForeignRule[] = [];
  for (const [pattern, value] of Object.entries(objectAt(settings[TERMINAL], file, TERMINAL))) {
    if (value === null) continue; // removes a default of VS Code
    const { isApproved, isWholeLine } = approval(value, file, `${TERMINAL}.${pattern}`);
    const effect = isApproved ? 'allow' : 'ask';
    for (const wanted of commandsOf(pattern, isWholeLine))
      rules.push({ file, text: `terminal: ${pattern}: ${isApproved}`, effect, wanted });
  }
  for (const [pattern, value] of Object.entries(objectAt(settings[EDITS], file, EDITS))) {
    if (typeof value !== 'boolean') throw unreadable(file, `${EDITS}.${pattern} is neither true nor false`);
    const glob = gitignoreGlob(pattern, { rooted: false });
    const wanted: Wanted =
      glob === undefined ? { kind: 'unknown', reason: 'outside' } : { kind: 'edit', glob };
    rules.push({ file, text: `edits: ${pattern}: ${value}`, effect: value ? 'allow' : 'ask', wanted });
  }
  for (const name of ALL)
    if (settings[name] === true)
      rules.push({
        file,
        text: `${name}: true`,
        effect: 'allow',
        wanted: { kind: 'unknown', reason: 'everything' },
      });
  return rules;
}

function approval(
  value: unknown,
  file: string,
  place: string,
): { isApproved: boolean; isWholeLine: boolean } {
  if (typeof value === 'boolean') return { isApproved: value, isWholeLine: false };
  const { approve, matchCommandLine = false } = objectAt(value, file, place);
  if (typeof approve !== 'boolean') throw unreadable(file, `${place}.approve is neither true nor false`);
  return { isApproved: approve, isWholeLine: matchCommandLine === true };
}

function commandsOf(pattern: string, isWholeLine: boolean): Wanted[] {
  if (isWholeLine) return [{ kind: 'unknown', reason: 'whole_line' }];
  const expression = /^\/(.*)\/[a-z]*$/s.exec(pattern)?.[1];
  if (expression === undefined) return [{ kind: 'command', text: pattern, wildcards: false, open: true }];
  if (/\/[a-z]*i[a-z]*$/.test(pattern)) return [{ kind: 'unknown', reason: 'regular_expression' }];
  const commands = simpleExpression(expression);
  return (
    commands?.map((command): Wanted => ({ kind: 'command', wildcards: false, ...command })) ?? [
      { kind: 'unknown', reason: 'regular_expression' },
    ]
  );
}

/**
 * `^git (status|show)\b` means the commands that begin with `git status` or `git show`. Undefined for expressions that
 * say more.
 */
function simpleExpression(expression: string): { text: string; open: boolean }[] | undefined {
  const found = /^\^((?:[\w ./:@-]|\\[./:-]|\\s\+?|\((?:\?:)?[\w |:-]+\))+?)(\\b|\$|(?:\(\\s\|\$\)))$/.exec(
    expression,
  );
  if (!found) return undefined;
  const [, body = '', end] = found;
  let texts = [''];
  for (const [part] of body.matchAll(/\((?:\?:)?([\w |:-]+)\)|\\s\+?|\\[./:-]|[\s\S]/g)) {
    const choices = part.startsWith('(')
      ? part.slice(part.startsWith('(?:') ? 3 : 1, -1).split('|')
      : [part.startsWith('\\s') ? ' ' : part.replace('\\', '')];
    // A dot that is not escaped matches any character.
    if (part === '.') return undefined;
    texts = texts.flatMap((text) => choices.map((choice) => text + choice));
    if (texts.length > 64) return undefined;
  }
  return texts.map((text) => ({ text, open: end !== '$' }));
}
