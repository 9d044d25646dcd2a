import {
  type BuiltInToolCall,
  describeIssues,
  type PolicyFile,
  type PolicyRule,
  parseToolCall,
  policyFileSchema,
} from '@countersign/protocol';
import { type Glob, parseGlob } from './glob.ts';
import { type CallAssessment, RiskAssessor } from './risk-assessor.ts';

/** Whose policy a rule stands in. A workspace's file can only tighten (RK-5). */
export type PolicyOwner = 'person' | 'workspace';

/** A rule that has been read, with its patterns ready. */
export interface CompiledRule {
  readonly rule: PolicyRule;
  readonly owner: PolicyOwner;
  matches(call: BuiltInToolCall, assessment: CallAssessment): boolean;
}

/** A policy file that has been read and whose examples hold. */
export interface LoadedPolicy {
  readonly owner: PolicyOwner;
  readonly file: PolicyFile;
  readonly rules: readonly CompiledRule[];
  /** What was ignored and why: a workspace's attempts to loosen. For `doctor` and the log. */
  readonly ignored: readonly string[];
}

export type PolicyReading =
  | { readonly ok: true; readonly policy: LoadedPolicy }
  | { readonly ok: false; readonly problem: string };

/** Reads a policy file's text. Nothing of an invalid file is used: a broken rule must not silently allow. */
export function readPolicyFile(text: string, owner: PolicyOwner): PolicyReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return invalid(`it is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const parsed = policyFileSchema.safeParse(value);
  if (!parsed.success) return invalid(describeIssues(parsed.error));
  const ignored: string[] = [];
  const rules: CompiledRule[] = [];
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

/** The compiled rule, or what is wrong with it. */
export function compileRule(rule: PolicyRule, owner: PolicyOwner): CompiledRule | string {
  const tool = parseGlob(rule.tool);
  if (!tool.ok) return `tool: ${tool.problem}`;
  const path = rule.path === undefined ? undefined : parseGlob(rule.path);
  if (path && !path.ok) return `path: ${path.problem}`;
  const words = rule.command === undefined ? undefined : parseCommandPattern(rule.command);
  if (typeof words === 'string') return `command: ${words}`;
  return {
    rule,
    owner,
    matches(call, assessment) {
      if (!tool.glob.matches(call.tool)) return false;
      if (path && !matchesPaths(path.glob, assessment, rule.effect)) return false;
      return !words || matchesCommands(words, assessment, rule.effect);
    },
  };
}

/** Allowing needs every path to match; asking or denying needs one. */
function matchesPaths(glob: Glob, { operands }: CallAssessment, effect: PolicyRule['effect']): boolean {
  if (effect !== 'allow') return operands.some(({ path }) => glob.matches(path));
  return operands.length > 0 && operands.every(({ path }) => glob.matches(path));
}

/** Likewise for the programs a call starts. A word only known at run time never helps to allow. */
function matchesCommands(
  pattern: CommandPattern,
  { commands }: CallAssessment,
  effect: PolicyRule['effect'],
): boolean {
  if (effect !== 'allow')
    return commands.some(({ words }) => matchesWords(pattern, words, { unknownMatches: true }));
  return (
    commands.length > 0 &&
    commands.every(({ words }) => matchesWords(pattern, words, { unknownMatches: false }))
  );
}

interface CommandPattern {
  readonly words: readonly Glob[];
  /** The pattern ends in `*`: any further words, or none. */
  readonly openEnd: boolean;
}

/** `git commit *` → the words `git`, `commit`, and then anything. A `*` elsewhere stands for exactly one word. */
function parseCommandPattern(text: string): CommandPattern | string {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const openEnd = words.at(-1) === '*';
  if (openEnd) words.pop();
  const globs: Glob[] = [];
  for (const word of words) {
    // A word is matched whole, also when it contains a slash; `\u0001` keeps the glob from splitting there.
    const parsed = parseGlob(word.replaceAll('/', '\u0001'));
    if (!parsed.ok) return parsed.problem;
    globs.push({ matches: (subject) => parsed.glob.matches(subject.replaceAll('/', '\u0001')) });
  }
  if (globs.length === 0 && !openEnd) return 'it is empty';
  return { words: globs, openEnd };
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

/** Rules carry their own proof: an example that does not hold makes the file invalid. */
function findBrokenExample(compiled: CompiledRule): string | undefined {
  const assessor = new RiskAssessor({ root: '/workspace' });
  const decide = (example: { tool: string; args: Record<string, unknown> }): boolean | string => {
    const parsed = parseToolCall(example.tool, example.args);
    return parsed.ok ? compiled.matches(parsed.call, assessor.assess(parsed.call)) : parsed.error.message;
  };
  const examples = [
    ...(compiled.rule.matches ?? []).map((example) => ({ example, expected: true })),
    ...(compiled.rule.does_not_match ?? []).map((example) => ({ example, expected: false })),
  ];
  for (const { example, expected } of examples) {
    const outcome = decide(example);
    const shown = JSON.stringify(example).slice(0, 200);
    if (typeof outcome === 'string') return `the example ${shown} is not a valid call: ${outcome}`;
    if (outcome !== expected) return `the example ${shown} ${expected ? 'does not match' : 'matches'}`;
  }
  return undefined;
}

const invalid = (problem: string): PolicyReading => ({ ok: false, problem });
