import { isRefused, readPolicyFile, ToolCallPolicy } from '@countersign/policy';
import { type PolicyRule, parseToolCall } from '@countersign/protocol';
import { freeId, idOf } from '../policy-rules/rule-of-words.ts';
import { type CommandPatterns, commandPatterns, tokenPattern } from './command-pattern.ts';
import type { ForeignRule, ReasonId, Source, Wanted } from './foreign-rule.ts';
import { isLiteralGlob, withContents } from './path-pattern.ts';

export type Fit = 'exact' | 'narrower' | 'impossible';

/** A rule of another program, in our grammar. */
export interface Translation {
  readonly foreign: ForeignRule;
  readonly fit: Fit;
  /** Why the translation is narrower, is impossible, or need not be saved. */
  readonly reason?: ReasonId;
  /** What we would save; empty if the built-in rules do the same, or if it is impossible. */
  readonly rules: readonly PolicyRule[];
}

/**
 * Tools that can change a file. A rule that denies or asks about changes also covers every command that names the file,
 * even one that only reads it.
 */
const CHANGING =
  '{write_file,edit_file,create_directory,copy_file,move_file,delete_file,execute_command,shell_exec,shell_background}';

/** Tools that write a file at a path. Deleting is always HIGH, and an import never allows that. */
const WRITING = '{write_file,edit_file}';

/**
 * Translates the rules of another program, so that none becomes wider than it was. Asks the policy which of them the
 * built-in rules make needless, and which calls it would refuse or ask about anyway.
 */
export function translateRules(
  foreign: readonly ForeignRule[],
  source: Source,
  standing: readonly PolicyRule[],
): Translation[] {
  const taken: { id: string }[] = [...standing];
  return foreign.map((rule) => {
    const translated = translate(rule);
    const rules = translated.rules.map((made): PolicyRule => {
      const named = { ...made, id: freeId(`${source}-${idOf(made)}`.slice(0, 90), taken) };
      taken.push(named);
      return { ...named, why: `imported from ${source}: ${rule.text}`.slice(0, 500) };
    });
    return { ...translated, rules };
  });
}

function translate(foreign: ForeignRule): Translation {
  const { wanted, effect } = foreign;
  const made = (rules: readonly Omit<PolicyRule, 'id'>[], fit: Fit, reason?: ReasonId): Translation => {
    const usable = fit === 'impossible' ? [] : rules.map((rule) => ({ ...rule, id: 'imported' }));
    const invalid = usable.some((rule) => !isUsable(rule));
    return invalid
      ? { foreign, fit: 'impossible', reason: 'not_expressible', rules: [] }
      : { foreign, fit, rules: usable, ...(reason !== undefined && { reason }) };
  };
  switch (wanted.kind) {
    case 'unknown':
      return made([], wanted.reason === 'asks_anyway' ? 'exact' : 'impossible', wanted.reason);
    case 'command':
    case 'words':
      return commandRules(foreign, patternsOf(wanted, effect), made);
    case 'tool':
      return made(
        [{ effect, tool: wanted.tool }],
        'exact',
        wanted.tool.includes('__') ? 'same_server' : undefined,
      );
    case 'read':
      return readRules(foreign, wanted.glob, made);
    case 'edit':
      return editRules(foreign, wanted, made);
  }
}

type Make = (rules: readonly Omit<PolicyRule, 'id'>[], fit: Fit, reason?: ReasonId) => Translation;

const patternsOf = (
  wanted: Extract<Wanted, { kind: 'command' | 'words' }>,
  effect: PolicyRule['effect'],
): CommandPatterns =>
  wanted.kind === 'words' ? tokenPattern(wanted.words) : commandPatterns(wanted.text, effect, wanted);

function commandRules({ effect }: ForeignRule, found: CommandPatterns, made: Make): Translation {
  if ('impossible' in found) return made([], 'impossible', found.impossible);
  const rules = found.patterns.map((command) => ({ effect, tool: '*', command }));
  if (effect !== 'allow') return made(rules, found.loss ? 'narrower' : 'exact', found.loss);
  const isOpen = rules.some(({ command }) => command.endsWith(' *'));
  const [program = '', ...args] = found.sample;
  const decided =
    decide(rules, 'execute_command', { command: program, args }, 'COMMAND_NOT_ALLOWED') ??
    decide(rules, 'shell_exec', { command: found.sample.join(' ') });
  if (decided === 'refused') return made([], 'impossible', 'refused_here');
  if (decided === 'asks' && !isOpen) return made([], 'impossible', 'high_here');
  return isOpen
    ? made(rules, 'narrower', found.loss ?? 'high_asks')
    : made(rules, found.loss ? 'narrower' : 'exact', found.loss);
}

function readRules({ effect }: ForeignRule, glob: string, made: Make): Translation {
  if (effect !== 'allow')
    return made(
      [
        {
          effect,
          tool: glob === '**' ? readingTools : '*',
          ...(glob !== '**' && { path: withContents(glob) }),
        },
      ],
      'exact',
    );
  if (!isLiteralGlob(glob)) return made([], 'narrower', 'reads_not_secrets');
  const path = glob.replace(/^\.\//, '');
  return decide([], 'read_file', { path }) === 'runs'
    ? made([], 'exact', 'reads_anyway')
    : made([], 'impossible', 'secret');
}

function editRules(
  { effect }: ForeignRule,
  { glob, only }: Extract<Wanted, { kind: 'edit' }>,
  made: Make,
): Translation {
  if (effect !== 'allow')
    return made([{ effect, tool: CHANGING, ...(glob !== '**' && { path: withContents(glob) }) }], 'exact');
  const rules = [{ effect, tool: only ?? WRITING, path: glob }];
  if (!isLiteralGlob(glob)) return made(rules, 'narrower', 'high_asks');
  const decided = decide(rules, 'write_file', { path: glob.replace(/^\.\//, ''), content: '' });
  if (decided === 'refused') return made([], 'impossible', 'secret');
  return decided === 'asks' ? made([], 'impossible', 'high_here') : made(rules, 'exact');
}

const readingTools = '{read_file,search_files,list_directory}';

/** What happens to a call under these rules; undefined if it is refused with the code `unless`. */
function decide(
  rules: readonly Omit<PolicyRule, 'id'>[],
  tool: string,
  args: Readonly<Record<string, unknown>>,
  unless?: string,
): 'runs' | 'asks' | 'refused' | undefined {
  if (!parseToolCall(tool, args).ok) return 'refused';
  const named = rules.map((rule, index) => ({ ...rule, id: `r${index}` }));
  const reading = readPolicyFile(JSON.stringify({ version: 1, rules: named }), 'person');
  if (!reading.ok) return 'refused';
  const policy = new ToolCallPolicy({ root: '/workspace', policies: [reading.policy] });
  const { verdict } = policy.decide(tool, args);
  if (isRefused(verdict)) return verdict.code === unless ? undefined : 'refused';
  return verdict.decision === 'LOW' ? 'runs' : 'asks';
}

const isUsable = (rule: PolicyRule): boolean =>
  readPolicyFile(JSON.stringify({ version: 1, rules: [rule] }), 'person').ok;
