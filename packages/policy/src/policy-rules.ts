import {
  builtInToolNames,
  type CustomToolCall,
  describeIssues,
  findTool,
  isCustomToolName,
  messageOf,
  type PolicyFile,
  type PolicyRule,
  parseToolCall,
  policyFileSchema,
  policyRuleSchema,
  type ToolCall,
} from '@countersign/protocol';
import type { CallAssessment, SimpleCommand } from './call-assessment.ts';
import { isHarmlessCommand, isHarmlessVariable, isStartedByHarmless } from './command/harmless-commands.ts';
import { executingPlaces } from './executing-places.ts';
import { expandedLength, type Glob, parseGlob } from './glob.ts';
import { lineManual } from './program/line-manuals.ts';
import { plainCommandWords } from './program/plain-words.ts';
import { RiskAssessor } from './risk-assessor.ts';
import { utf8Length } from './size-limiter.ts';
import { wordList } from './text.ts';
import { allow } from './verdict.ts';

/** The owner of a policy file. A workspace's file can only make decisions stricter (RK-5). */
export type PolicyOwner = 'person' | 'workspace';

/** A rule with its patterns parsed. */
export interface CompiledRule {
  readonly rule: PolicyRule;
  readonly owner: PolicyOwner;
  matches(call: ToolCall, assessment: CallAssessment): boolean;
  /** For an allow rule: which commands of a line it covers. None if anything else about the line is not covered. */
  coveredCommands(call: ToolCall, assessment: CallAssessment): ReadonlySet<SimpleCommand>;
  /** Whether a call may show a file that this deny or ask rule protects, by reading a folder above the file. */
  mayReach(call: ToolCall, assessment: CallAssessment): boolean;
}

/** A parsed policy file whose examples hold. */
export interface LoadedPolicy {
  readonly owner: PolicyOwner;
  readonly file: PolicyFile;
  readonly rules: readonly CompiledRule[];
  /** For `doctor` and the log: which entries were ignored and why, such as allow rules of a workspace. */
  readonly ignored: readonly string[];
}

export type PolicyReading =
  | { readonly ok: true; readonly policy: LoadedPolicy }
  | { readonly ok: false; readonly problem: string };

/** Parses a policy file. One broken rule makes the whole file invalid, so that no rule is lost silently. */
export function readPolicyFile(text: string, owner: PolicyOwner): PolicyReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return invalid(`it is not JSON: ${messageOf(cause)}`);
  }
  const parsed = policyFileSchema.safeParse(value);
  if (!parsed.success) return invalid(describeIssues(parsed.error));
  const ignored: string[] = [];
  const rules: CompiledRule[] = [];
  const impossible = findImpossible(parsed.data);
  if (impossible !== undefined) return invalid(impossible);
  for (const rule of parsed.data.rules) {
    const compiled = compileRule(rule, owner);
    if (typeof compiled === 'string') return invalid(`rule ${rule.id}: ${compiled}`);
    const broken = findBrokenExample(compiled);
    if (broken !== undefined) return invalid(`rule ${rule.id}: ${broken}`);
    if (owner === 'workspace' && rule.effect === 'allow')
      ignored.push(`rule ${rule.id}: a workspace cannot allow`);
    else rules.push(compiled);
  }
  if (owner === 'workspace' && parsed.data.programs)
    ignored.push('programs: a workspace cannot add programs');
  if (owner === 'workspace' && parsed.data.sensitive_paths)
    ignored.push('sensitive_paths: a workspace cannot lift them');
  return { ok: true, policy: { owner, file: parsed.data, rules, ignored } };
}

/** The most characters of all patterns in a file, with `{a,b}` expanded. More would slow the server for everyone. */
const MAX_EXPANDED_CHARACTERS = 200_000;

/** Finds rules that are too large or can never take effect: a mistyped deny must not fail silently. */
function findImpossible(file: PolicyFile): string | undefined {
  let characters = 0;
  for (const { tool, path = '', command = '' } of file.rules) {
    const words = command.split(/\s+/).reduce((sum, word) => sum + expandedLength(word), 0);
    characters += expandedLength(tool) + expandedLength(path) + words;
    if (characters > MAX_EXPANDED_CHARACTERS)
      return `its patterns have more than ${MAX_EXPANDED_CHARACTERS} characters, counting each alternative of {a,b}`;
  }
  const seen = new Set<string>();
  for (const rule of file.rules) {
    if (seen.has(rule.id)) return `two rules have the id ${rule.id}`;
    seen.add(rule.id);
    const tool = parseGlob(rule.tool);
    const isBuiltIn = tool.ok && builtInToolNames.some((name) => tool.glob.matches(name));
    if (!isBuiltIn && rule.tool.includes('__') && (rule.path ?? rule.command) !== undefined)
      return `rule ${rule.id}: only its own program knows the paths and commands of "${rule.tool}"; name the tool alone`;
    if (!isBuiltIn && !rule.tool.includes('__'))
      return `rule ${rule.id}: tool: there is no tool "${rule.tool}"`;
    if (rule.path !== undefined && /^\/|(^|\/)\.\.(\/|$)/.test(rule.path)) {
      return `rule ${rule.id}: path: it is not a path inside the workspace`;
    }
  }
  const vague = file.sensitive_paths?.find((path) => /[*?[]|^\/|(^|\/)\.\.(\/|$)/.test(path));
  return vague === undefined
    ? undefined
    : `sensitive_paths: "${vague}" is not the exact path of one file in the workspace`;
}

/** Returns the compiled rule, or what is wrong with it. */
export function compileRule(rule: PolicyRule, owner: PolicyOwner): CompiledRule | string {
  const tool = parseGlob(rule.tool);
  if (!tool.ok) return `tool: ${tool.problem}`;
  const path = rule.path === undefined ? undefined : parseGlob(rule.path);
  if (path && !path.ok) return `path: ${path.problem}`;
  const words = rule.command === undefined ? undefined : parseCommandPattern(rule.command);
  if (typeof words === 'string') return `command: ${words}`;
  /** Whether the rule covers everything about the call except its commands. */
  const coversRest = (call: ToolCall, assessment: CallAssessment): boolean => {
    if (!tool.glob.matches(call.tool)) return false;
    if (path && !matchesPaths(path.glob, assessment, rule.effect)) return false;
    if (rule.effect !== 'allow') return true;
    // A rule on everything was not made with this host in mind.
    if (call.tool === 'reach_host' && !words) return false;
    if (!mayAllowTool(rule, call) || !coversShellEffects(rule, call, assessment)) return false;
    // No command pattern covers environment variables.
    if ((words || rule.harmless_only) && !(assessment.environment ?? []).every(isHarmlessVariable))
      return false;
    // A subfolder may be a repository of its own, whose configuration git executes.
    return !rule.harmless_only || !('cwd' in call.params) || (call.params.cwd ?? '.') === '.';
  };
  const coversCommand = (command: SimpleCommand): boolean =>
    (!words || matchesWords(words, command.words, { unknownMatches: false })) &&
    (!rule.harmless_only ||
      (words?.isLiteral === true && isKnownByWords(command)) ||
      (isHarmlessCommand(command.words) && !printsFolders(command.words)));
  return {
    rule,
    owner,
    matches(call, assessment) {
      if (!coversRest(call, assessment)) return false;
      // `harmless_only` never narrows a rule that denies or asks.
      if (rule.effect !== 'allow') return !words || matchesAnyCommand(words, assessment.commands);
      const commands = rule.harmless_only ? commandsOf(call, assessment) : assessment.commands;
      return (
        (!words || commands.length > 0) &&
        commands.every(
          (command) => coversCommand(command) || (words && isStartedByHarmless(command.words, commands)),
        )
      );
    },
    coveredCommands(call, assessment) {
      const isAllowing = rule.effect === 'allow' && coversRest(call, assessment);
      return new Set(isAllowing ? assessment.commands.filter(coversCommand) : []);
    },
    mayReach(call, assessment) {
      if (rule.effect === 'allow' || rule.path === undefined || words || !tool.glob.matches(call.tool))
        return false;
      // A language server can show lines, types and values of any file that is related to the named file.
      const readsProject = findTool(call.tool)?.readsBeyond === 'project';
      if (readsProject || assessment.commands.some(printsAnyFile)) return true;
      if (!readsWholeFolders(call, assessment)) return false;
      const folder = literalFolder(rule.path);
      return assessment.operands.some((operand) => operand.use === 'read' && isAbove(operand.path, folder));
    },
  };
}

/** Limits the size of the event that carries the rules to the runner. */
const MAX_RULES_BYTES = 32 * 1024;

/**
 * The deny and ask rules on paths for one tool. The runner applies them to the real disk, because text alone does not show
 * where a link leads (VA-8). If they are too large to send, a single rule that asks about every path replaces them.
 */
export function rulesOnPaths(rules: readonly PolicyRule[], toolName: string): readonly PolicyRule[] {
  const found = rules.flatMap(({ matches: _, does_not_match: __, ...rule }) => {
    const tool = parseGlob(rule.tool);
    const isForTool = rule.path !== undefined && tool.ok && tool.glob.matches(toolName);
    return rule.effect !== 'allow' && isForTool ? [rule] : [];
  });
  if (utf8Length(JSON.stringify(found)) <= MAX_RULES_BYTES) return found;
  return [
    { id: 'many-rules', effect: 'ask', tool: '*', path: '**', why: 'you have very many rules on paths' },
  ];
}

/** An allow rule for `git_*` covers our own git tools, not `git__push` of a custom server that is called git. */
const mayAllowTool = ({ tool }: PolicyRule, call: ToolCall): boolean =>
  !isCustomToolName(call.tool) || tool === '*' || tool.includes('__');

/**
 * A shell line runs commands and writes files by redirection, so an allow rule must cover both. A rule on paths alone never
 * covers it; a rule on commands alone covers it only if it writes no file.
 */
function coversShellEffects(rule: PolicyRule, call: ToolCall, { operands }: CallAssessment): boolean {
  const { category, changes } = findTool(call.tool) ?? {};
  if (category !== 'shell' || changes !== 'anything') return true;
  if (rule.path !== undefined && rule.command === undefined) return false;
  return rule.path !== undefined || !operands.some(({ use }) => use === 'write');
}

/** Subcommands of git that print the content of files. */
const printingSubcommands: ReadonlySet<string | undefined> = new Set(
  wordList(`annotate archive blame cat-file diff diff-files diff-index diff-tree format-patch grep log range-diff show
    stash whatchanged`),
);

function printsFiles(words: readonly (string | undefined)[]): boolean {
  const [program, subcommand] = plainCommandWords(words);
  return program === 'git' && printingSubcommands.has(subcommand);
}

/** Without `--`, a word of git may be a revision, which contains every file. */
const printsAnyFile = ({ words }: CallAssessment['commands'][number]): boolean =>
  printsFiles(words) && !words.includes('--');

/** Whether a call reads everything below a folder, and not only the files it names. */
function readsWholeFolders({ tool, params }: ToolCall, { commands }: CallAssessment): boolean {
  if (findTool(tool)?.readsBeyond === 'folders') return !('recursive' in params) || params.recursive === true;
  return commands.some(({ words }) => isRecursive(words));
}

/**
 * Whether a command prints the content of files that it does not name. What a person is asked about runs without the masks
 * of a LOW command, so it could print a sensitive file (VA-2).
 */
const printsFolders = (words: readonly (string | undefined)[]): boolean =>
  /^(grep|cat|head|tail)$/.test(words[0] ?? '') && isRecursive(words);

/** `diff -N . docs` prints every file of a folder; its words do not say whether they are folders. */
const readsFolders = new Set(wordList('find rg fd fdfind tree du xargs diff'));

/**
 * Whether a command may read more of a folder than it names. True for programs that look below folders, for file patterns,
 * and for any option that contains an r (`grep -rn`, `ls -R`, `--recursive`) or has a value like `grep -d recurse`,
 * `--directories=rec`.
 */
export function isRecursive(words: readonly (string | undefined)[]): boolean {
  if (readsFolders.has(words[0] ?? '') || printsFiles(words)) return true;
  if (words.slice(1).some((word) => word !== undefined && /[*?[]/.test(word))) return true;
  return words
    .slice(1)
    .some(
      (word) => word !== undefined && (/^-[A-Za-z]*[rR]/.test(word) || /^--(rec|der)|(^|=)rec/.test(word)),
    );
}

/** The folder in front of a glob's first special character: `docs/private/**` → `docs/private`. */
function literalFolder(pattern: string): string {
  const special = pattern.search(/[*?[{\\]/);
  const literal = special < 0 ? pattern : pattern.slice(0, Math.max(0, pattern.lastIndexOf('/', special)));
  return literal.replace(/^\.?\/+|\/+$/g, '');
}

const isAbove = (folder: string, path: string): boolean =>
  folder === '' || path === folder || path.startsWith(`${folder}/`);

/** To allow, every path must match, except those that may be read without approval. To ask or deny, one is enough. */
function matchesPaths(glob: Glob, assessment: CallAssessment, effect: PolicyRule['effect']): boolean {
  const operands = assessment.operands.filter(({ implied }) => !implied);
  if (effect !== 'allow') return operands.some(({ path }) => glob.matches(path));
  const named = operands.filter(({ readsFreely }) => !readsFreely);
  return named.length > 0 && named.every(({ path }) => glob.matches(path));
}

/**
 * The commands of a call, for a rule with `harmless_only`. git_commit and git_branch count as that git command (AP-4),
 * unless the call names a file that executes later.
 */
function commandsOf({ tool }: ToolCall, { commands, operands }: CallAssessment): CallAssessment['commands'] {
  if (
    findTool(tool)?.changes !== 'repository' ||
    operands.some(({ path }) => executingPlaces.find(path) !== undefined)
  )
    return commands;
  return [{ words: ['git', tool.slice('git_'.length)] }];
}

/**
 * Whether a rule that denies or asks matches a command of the call. Unknown words match, and another spelling must not evade
 * the rule: `git -C . push` is `git push`.
 */
function matchesAnyCommand(pattern: CommandPattern, commands: CallAssessment['commands']): boolean {
  return commands.some(
    ({ words }) =>
      matchesWords(pattern, words, { unknownMatches: true }) ||
      matchesWords(pattern, plainCommandWords(words), { unknownMatches: true }),
  );
}

/** A word that makes standard input a list of files or a script. */
const NAMES_INPUT = /^-$|[=fE]-$|\/dev\/(stdin|fd\/)|^\/proc\//;

/**
 * Whether the words of a command say what it does. With input they do so only for programs that read it as text: `psql`,
 * `git apply` or `xargs rm` do what their input says, and a grant for the words would cover any input.
 */
function isKnownByWords({ words, hasInput }: SimpleCommand): boolean {
  if (!hasInput) return true;
  const known = words.filter((word) => word !== undefined);
  if (known.length !== words.length || known.some((word) => NAMES_INPUT.test(word))) return false;
  const manual = lineManual(known);
  return manual?.onlyReads === true || manual?.scriptFirst === true;
}

interface CommandPattern {
  readonly words: readonly Glob[];
  /** The pattern ends in `*`: any further words, or none. */
  readonly openEnd: boolean;
  /** The pattern has no wildcard, so only one command matches it. */
  readonly isLiteral: boolean;
}

/** `git commit *` → the words `git`, `commit`, and then anything. A `*` elsewhere stands for exactly one word. */
function parseCommandPattern(text: string): CommandPattern | string {
  const words = [...wordList(text)];
  const openEnd = words.at(-1) === '*';
  if (openEnd) words.pop();
  const globs: Glob[] = [];
  for (const word of words) {
    // Without this replacement, the glob would split a word with a slash into path components.
    const parsed = parseGlob(word.replaceAll('/', '\u0001'));
    if (!parsed.ok) return parsed.problem;
    globs.push({ matches: (subject) => parsed.glob.matches(subject.replaceAll('/', '\u0001')) });
  }
  if (globs.length === 0 && !openEnd) return 'it is empty';
  const isLiteral = !openEnd && !words.some((word) => /[*?[{]/.test(word.replace(/\\./g, '')));
  return { words: globs, openEnd, isLiteral };
}

function matchesWords(
  pattern: CommandPattern,
  words: readonly (string | undefined)[],
  { unknownMatches }: { unknownMatches: boolean },
): boolean {
  if (pattern.openEnd ? words.length < pattern.words.length : words.length !== pattern.words.length)
    return false;
  if (!unknownMatches && words.includes(undefined)) return false;
  return pattern.words.every((glob, i) => {
    const word = words[i];
    return word === undefined ? unknownMatches : glob.matches(word);
  });
}

/** Returns a message about the first example that does not hold; the policy file is then invalid. */
function findBrokenExample(compiled: CompiledRule): string | undefined {
  const assessor = new RiskAssessor({ root: '/workspace' });
  const decide = (example: { tool: string; args: Record<string, unknown> }): boolean | string => {
    // Only the runner knows the parameters of a custom tool, so the tool's name decides whether the example matches.
    if (isCustomToolName(example.tool)) {
      const call = { tool: example.tool, params: example.args as CustomToolCall['params'] };
      const assessment = { verdict: allow('MEDIUM'), operands: [], commands: [], needsPerson: false };
      return compiled.matches(call, assessment);
    }
    const parsed = parseToolCall(example.tool, example.args);
    return parsed.ok ? compiled.matches(parsed.call, assessor.assess(parsed.call)) : parsed.error.message;
  };
  const { matches = [], does_not_match = [] } = compiled.rule;
  for (const [i, example] of [...matches, ...does_not_match].entries()) {
    const expected = i < matches.length;
    const outcome = decide(example);
    const shown = JSON.stringify(example).slice(0, 200);
    if (typeof outcome === 'string') return `the example ${shown} is not a valid call: ${outcome}`;
    if (outcome !== expected) return `the example ${shown} ${expected ? 'does not match' : 'matches'}`;
  }
  return undefined;
}

const invalid = (problem: string): PolicyReading => ({ ok: false, problem });

/**
 * Keeps the parts of an invalid policy that make decisions stricter (RK-5). Allow rules, programs and lifted paths are
 * dropped. Deny and ask rules stay. A deny or ask rule that cannot be read applies to every call of its tool, or to every
 * call if its tool cannot be read either.
 */
export function readDamagedPolicy(file: unknown, owner: PolicyOwner, problem: string): LoadedPolicy {
  const { rules } = (file ?? {}) as { rules?: unknown };
  const entries: readonly unknown[] = Array.isArray(rules) ? rules : [{ effect: 'deny' }];
  const kept = entries.flatMap((entry, index) => strictestReading(entry, index, owner) ?? []);
  return {
    owner,
    file: { version: 1, rules: kept.map(({ rule }) => rule) },
    rules: kept,
    ignored: [problem],
  };
}

function strictestReading(entry: unknown, index: number, owner: PolicyOwner): CompiledRule | undefined {
  const parsed = policyRuleSchema.safeParse(entry);
  if (parsed.success) {
    if (parsed.data.effect === 'allow') return undefined;
    const compiled = compileRule(parsed.data, owner);
    if (typeof compiled !== 'string') return compiled;
  }
  const { effect, tool } = (entry ?? {}) as { effect?: unknown; tool?: unknown };
  if (effect === 'allow') return undefined;
  const forAll: PolicyRule = {
    id: `unreadable-${index + 1}`,
    effect: effect === 'ask' ? 'ask' : 'deny',
    tool: '*',
    why: `rule ${index + 1} of the policy cannot be read, so it counts for every call; save the policy again`,
  };
  const forTool = typeof tool === 'string' ? compileRule({ ...forAll, tool }, owner) : undefined;
  return typeof forTool === 'object' ? forTool : (compileRule(forAll, owner) as CompiledRule);
}
