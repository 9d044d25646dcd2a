import {
  defaultLimits,
  higherRisk,
  type Limits,
  type Reason,
  type RiskLevel,
  riskLevels,
} from '@countersign/protocol';
import type { CommandOperand, ShellCheck } from '../call-assessment.ts';
import { Judgement } from '../command/judgement.ts';
import type { PathValidator } from '../path-validator.ts';
import { lineManual, startsReader } from '../program/line-manuals.ts';
import { Notes } from '../program/notes.ts';
import { addedProgram, type CommandRule, sensitiveGlob } from '../program/rules.ts';
import { ShellValidator } from '../shell/shell-validator.ts';
import { informingWarnings } from '../shell/warnings.ts';
import { allow, isRefused, type Refused } from '../verdict.ts';
import { type PlainCommand, type PlainLine, readPlainLine } from './plain-line.ts';
import * as rules from './rules.ts';

export interface LineAssessorOptions {
  readonly paths: PathValidator;
  readonly limits?: Limits;
  readonly home?: string | undefined;
  /** Programs that the person's own policy file adds (RK-5), with their risk; LOW counts as MEDIUM. */
  readonly addedPrograms?: ReadonlyMap<string, RiskLevel> | undefined;
}

/** The rule of ShellValidator that every line raises; only a line that stays HIGH has it as a reason. */
const ANY_LINE = 'SHELL';

/**
 * Decides about a shell line (RK-2, VA-6). ShellValidator refuses catastrophes and warns. If every command of the line is
 * known before it runs (plain-line.ts), each is judged by its manual as execute_command would judge it, and the line has
 * the highest risk of its parts. Any other line stays HIGH. docs/decisions/0026 says why.
 */
export class LineAssessor {
  readonly #paths: PathValidator;
  readonly #shell: ShellValidator;
  readonly #addedPrograms: ReadonlyMap<string, RiskLevel>;

  constructor({ paths, limits = defaultLimits, home, addedPrograms = new Map() }: LineAssessorOptions) {
    this.#paths = paths;
    this.#addedPrograms = addedPrograms;
    this.#shell = new ShellValidator({ paths, limits, ...(home !== undefined && { home }) });
  }

  /** `cwd` is the directory in which the line starts; the workspace root if left out. */
  check(command: unknown, cwd?: unknown): ShellCheck {
    const shell = this.#shell.check(command, cwd);
    if (isRefused(shell.verdict)) return shell;
    const from = cwd === undefined ? undefined : this.#paths.check(cwd);
    const directory = from?.ok ? from.relative : '';
    const plain = readPlainLine(command as string, { paths: this.#paths, directory });
    return plain ? this.#judge(plain, shell) : shell;
  }

  /** A background job outlives the call, so it is HIGH whatever it runs. */
  checkBackground(command: unknown, cwd?: unknown): ShellCheck {
    return this.#shell.check(command, cwd);
  }

  #judge(plain: PlainLine, shell: ShellCheck): ShellCheck {
    const parts = new Parts();
    for (const command of plain.commands)
      for (const directory of command.directories) {
        parts.add(this.#judgeCommand(command, directory));
        parts.readsFolders ||= readsFolders(command);
      }
    for (const { path, use, directories } of plain.redirections)
      for (const directory of directories) {
        const judgement = this.#judgement('bash', directory);
        const notes = new Notes();
        if (use === 'write') notes.changes(path.text);
        else notes.path(path.text, 'read');
        judgement.judge(notes.list);
        parts.add(judgement);
      }
    const line = this.#judgement('bash', '');
    if (plain.writesOwnText && parts.runsCode) line.raise(rules.runsOwnText);
    if (parts.level !== 'LOW' && parts.readsFolders) line.raise(rules.readsUnmasked);
    parts.add(line);
    return parts.joinedWith(shell);
  }

  #judgement = (program: string, directory: string): Judgement =>
    new Judgement(program, this.#paths, directory, { inLine: true });

  #judgeCommand(command: PlainCommand, directory: string): Judgement {
    const words = command.words.map(({ text }) => text);
    const [program = ''] = words;
    const judgement = this.#judgement(program, directory);
    const inner = withoutWrapper(words);
    const skipped = words.length - inner.length;
    const args = command.words.slice(skipped + 1);
    const manual = lineManual(inner);
    const [name = '', ...texts] = inner;
    const added = manual ? undefined : this.#addedPrograms.get(name);
    if (manual) {
      const notes = new Notes(manual);
      manual.read(texts, notes);
      if (manual.countsOperands && args.some(({ mayBeSeveral }) => mayBeSeveral))
        manual.read(asSeveral(args), notes);
      judgement.judge(notes.list);
      if (manual.scriptFirst && takesScriptFromPattern(args)) judgement.raise(rules.patternAsScript, name);
    } else if (added !== undefined) {
      judgement.raise(added === 'HIGH' ? { ...addedProgram, risk: 'HIGH' } : addedProgram, name);
      const notes = new Notes();
      notes.unknownWords(texts);
      judgement.judge(notes.list);
    } else judgement.raise(rules.unknownProgram, name);
    for (const variable of command.otherVariables) judgement.raise(rules.givenVariable, variable);
    // For rules on paths (RK-5): a pattern may pick any file of its folder.
    for (const { text, isPattern } of args)
      if (isPattern) {
        judgement.noteFolder(text.slice(0, text.search(/[*?[]/)).replace(/[^/]*$/, '') || '.');
        if (this.#paths.mayMatchOutside(text, directory)) judgement.raise(rules.patternLeadsOutside, text);
      }
    if (/^(echo|printf)$/.test(name) && DECISION_PHRASE.test(texts.join(' ')))
      judgement.raise(rules.imitatesDecision);
    const dashes = manual?.ignoresDashes ? -1 : args.findIndex(({ text }) => text === '--');
    for (const { text, isPattern } of dashes < 0 ? args : args.slice(0, dashes))
      if (isPattern && this.#paths.mayMatchOption(text, directory))
        judgement.raise(rules.patternMayBeOption, text);
    return judgement;
  }
}

/** The words of a call if each file pattern matches three names: enough for a value, an input and an output. */
const asSeveral = (args: PlainCommand['words']): readonly string[] =>
  args.flatMap(({ text, mayBeSeveral }) => (mayBeSeveral ? [text, text, text] : [text]));

/** Whether a pattern stands where a program takes its script: before the first operand, or after an option. */
function takesScriptFromPattern(args: PlainCommand['words']): boolean {
  let hasScript = false;
  for (const [index, { text, isPattern }] of args.entries()) {
    const isAfterOption = args[index - 1]?.text.startsWith('-') ?? false;
    if (isPattern && (!hasScript || isAfterOption)) return true;
    if (!text.startsWith('-')) hasScript = true;
  }
  return false;
}

/** Phrases with which our cards and logs state a decision. */
const DECISION_PHRASE = /\b(auto[- ]?approved|risk\s*:\s*(low|medium|high))\b/i;

const DURATION = /^\d+(\.\d+)?[smh]?$/;

/** The words of the program that a harmless wrapper starts: `timeout 60 npm test`, `nice -n 5 make`. */
function withoutWrapper(words: readonly string[]): readonly string[] {
  const [name, ...args] = words;
  if (name === 'timeout') {
    let at = 0;
    while (
      /^(-v|--verbose|--foreground|--preserve-status|--(signal|kill-after)=\w+|-[sk]\w+)$/.test(
        args[at] ?? '',
      )
    )
      at++;
    if (/^-[sk]$/.test(args[at] ?? '')) at += 2;
    return DURATION.test(args[at] ?? '') && args.length > at + 1 ? withoutWrapper(args.slice(at + 1)) : words;
  }
  if (name === 'nice') {
    const rest = args[0] === '-n' ? args.slice(2) : /^-(n)?\d+$/.test(args[0] ?? '') ? args.slice(1) : args;
    return rest.length > 0 && !rest[0]?.startsWith('-') ? withoutWrapper(rest) : words;
  }
  if (name === 'stdbuf') {
    const at = args.findIndex((word) => !/^-[ioe]([L0]|\d+)$/.test(word));
    return at > 0 ? withoutWrapper(args.slice(at)) : words;
  }
  return words;
}

/** Rules of commands that run code of the workspace. */
const RUNS_CODE = /^(BUILD|CMD-(NODE|NPM|PYTHON))-/;

/** Whether a reader prints the content of files that the line does not name one by one. */
function readsFolders({ words }: PlainCommand): boolean {
  const [program, ...args] = words;
  const name = program?.text ?? '';
  if (/^(rg|xargs)$/.test(name)) return true;
  // Two folders, as far as their names tell.
  if (name === 'diff') return args.some(({ text }) => !text.startsWith('-') && !/\.\w+$/.test(text));
  if (
    /^[ef]?grep$/.test(name) &&
    args.some(({ text }) => /^(-[a-zA-Z]*[rR]|--(dereference-)?recursive)/.test(text))
  )
    return true;
  return (
    /^(cat|head|tail|tac|nl|sed|awk|sort|cut|[ef]?grep|strings|od|xxd)$/.test(name) &&
    args.some(({ isPattern }) => isPattern)
  );
}

/** Joins what was judged of the parts of a line. */
class Parts {
  level: RiskLevel = 'LOW';
  runsCode = false;
  readsFolders = false;
  readonly #reasons: (Reason & { readonly risk: RiskLevel })[] = [];
  readonly #operands = new Map<string, CommandOperand>();
  #refused: Refused | undefined;
  #network = false;
  #needsPerson = false;

  add(judgement: Judgement): void {
    const { verdict, operands, needsPerson } = judgement.finish();
    if (isRefused(verdict)) {
      // VA-2 holds for every command. What else execute_command refuses, a person may approve in a line.
      if (verdict.code === 'PATH_SENSITIVE' || verdict.reasons[0]?.rule === sensitiveGlob.id)
        this.#refused ??= verdict;
      this.level = 'HIGH';
      if (verdict.code === 'PATH_OUTSIDE_WORKSPACE') this.#needsPerson = true;
      this.#reasons.push(...verdict.reasons.map((reason) => ({ ...reason, risk: 'HIGH' as const })));
      return;
    }
    this.level = higherRisk(this.level, verdict.decision);
    this.#reasons.push(...verdict.reasons.map((reason) => ({ ...reason, risk: verdict.decision })));
    for (const operand of operands) this.#operands.set(`${operand.use} ${operand.path}`, operand);
    this.#network ||= verdict.network;
    this.#needsPerson ||= needsPerson;
    this.readsFolders ||= verdict.reasons.some(({ rule }) => rule === startsReader.id);
    this.runsCode ||= verdict.reasons.some(({ rule }) => RUNS_CODE.test(rule));
  }

  joinedWith(shell: ShellCheck): ShellCheck {
    if (isRefused(shell.verdict)) return shell;
    if (this.#refused)
      return { ...shell, verdict: this.#refused, operands: [], environment: [], needsPerson: false };
    const warned = shell.verdict.reasons.filter(({ rule }) => rule !== ANY_LINE);
    const isDangerous = shell.needsPerson || warned.some(({ rule }) => !informingWarnings.has(rule));
    const level = isDangerous ? 'HIGH' : this.level;
    const own = this.#reasons
      .filter(({ risk }) => level === 'LOW' || risk !== 'LOW')
      .sort((a, b) => riskLevels.indexOf(b.risk) - riskLevels.indexOf(a.risk))
      .map(({ risk: _, ...reason }) => reason);
    const base = shell.verdict.reasons.filter(({ rule }) => rule === ANY_LINE && level === 'HIGH');
    const reasons = unique([...base, ...(level === 'LOW' ? [] : warned), ...own]);
    const operands = new Map(shell.operands.map((operand) => [`${operand.use} ${operand.path}`, operand]));
    for (const [key, operand] of this.#operands) if (!operands.has(key)) operands.set(key, operand);
    return {
      ...shell,
      // If no table knows a command, ShellValidator guesses whether it needs network.
      verdict: allow(level, reasons, this.#network || (level === 'HIGH' && shell.verdict.network)),
      operands: [...operands.values()],
      needsPerson: shell.needsPerson || this.#needsPerson,
    };
  }
}

/** A person reads no more reasons than this. */
const MAX_REASONS = 50;

function unique(reasons: readonly Reason[]): readonly Reason[] {
  const seen = new Map(reasons.map((reason) => [`${reason.rule}\0${reason.operand ?? ''}`, reason]));
  return [...seen.values()].slice(0, MAX_REASONS);
}

export const lineRules: readonly CommandRule[] = Object.values(rules);
