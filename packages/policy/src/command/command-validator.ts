import {
  catalogue,
  defaultLimits,
  type Limits,
  type RiskLevel,
  type ToolDefinition,
} from '@countersign/protocol';
import type { CommandCheck, SimpleCommand } from '../call-assessment.ts';
import type { PathValidator } from '../path-validator.ts';
import { isInterpreter, isShell } from '../program/executed-code.ts';
import { manuals } from '../program/manuals.ts';
import { readProgram } from '../program/read-program.ts';
import { addedProgram, onlyPrints } from '../program/rules.ts';
import { asksVersion } from '../program/version-question.ts';
import { ShellValidator } from '../shell/shell-validator.ts';
import { shorten } from '../text.ts';
import { isRefused, type Refused, refuse } from '../verdict.ts';
import { Judgement } from './judgement.ts';

export interface CommandValidatorOptions {
  readonly paths: PathValidator;
  readonly limits?: Limits;
  /** Programs that the person's own policy file adds (RK-5), with their risk; LOW counts as MEDIUM. */
  readonly addedPrograms?: ReadonlyMap<string, RiskLevel> | undefined;
  /** The person's home, absolute, so that an added program's `~` is understood. */
  readonly home?: string | undefined;
}

/** Bounds the time of a decision. A person would not read more words either. */
const MAX_WORDS = 5_000;

/**
 * Decides about one execute_command call (VA-4, VA-5). The manual of the program, in `program/`, reads its words into
 * notes, and `Judgement` decides about the notes.
 */
export class CommandValidator {
  readonly #options: CommandValidatorOptions;
  readonly #maxCharacters: number;
  readonly #shell: ShellValidator;

  constructor(options: CommandValidatorOptions) {
    const { paths, limits = defaultLimits, home } = options;
    this.#options = options;
    this.#maxCharacters = limits.commandCharacters;
    // Quoting makes the line longer than its words.
    const commandCharacters = limits.commandCharacters * 8;
    this.#shell = new ShellValidator({
      paths,
      limits: { ...limits, commandCharacters },
      ...(home !== undefined && { home }),
    });
  }

  /** `from` is the workspace-relative directory that the program starts in; execute_command starts in the root. */
  check(command: unknown, args: unknown, from = ''): CommandCheck {
    if (typeof command !== 'string') return refused(invalidParams('command must be text'));
    const added = manuals.has(command) ? undefined : this.#options.addedPrograms?.get(command);
    if (!manuals.has(command) && added === undefined) return refused(notAllowed(command));

    const words = args ?? [];
    const problem = this.#findProblem(command, words);
    if (problem) return refused(problem);

    const judgement = new Judgement(command, this.#options.paths, from);
    const argv = [command, ...(words as string[])];
    if (added !== undefined) {
      judgement.raise(added === 'HIGH' ? { ...addedProgram, risk: 'HIGH' } : addedProgram);
      this.#judgeAsShellLine(argv, from, judgement);
    }
    if (asksVersion(argv)) judgement.raise(onlyPrints);
    else judgement.judge(readProgram(argv).notes);
    return judgement.finish();
  }

  /**
   * Refuses for a program that the person added what is refused in a shell line (RK-5): `bash -c 'rm -rf /'`, `sudo id`.
   * We have no manual for it, so every word that can be a path is judged as one.
   */
  #judgeAsShellLine(words: readonly string[], from: string, judgement: Judgement): void {
    const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    const { verdict, needsPerson, commands, operands } = this.#shell.check(line, from || undefined);
    if (isRefused(verdict)) judgement.refuse(verdict);
    else if (verdict.network) judgement.needNetwork();
    if (needsPerson || commands.some(runsInlineCode)) judgement.needPerson();
    for (const { path, use } of operands) judgement.note(path, use);
  }

  #findProblem(command: string, args: unknown): Refused | undefined {
    if (!Array.isArray(args)) return invalidParams('args must be a list of texts');
    if (args.length > MAX_WORDS)
      return malformed(command, `more than ${MAX_WORDS} arguments`, 'name a directory, or split the command');
    let size = command.length;
    for (const arg of args as unknown[]) {
      if (typeof arg !== 'string') return invalidParams('args must be a list of texts');
      size += arg.length + 1;
      if (size > this.#maxCharacters) {
        const reason = { rule: 'CMD-ARGS-3', why: 'is longer than any command needs to be' };
        return refuse('COMMAND_TOO_LONG', { size, limit: this.#maxCharacters }, reason);
      }
      if (arg.includes('\u0000'))
        return malformed(command, 'an argument that contains a NUL character', 'no program can receive it');
      if (!arg.isWellFormed())
        return malformed(
          command,
          'an argument that is not valid Unicode',
          'it cannot be displayed to the person',
        );
    }
    return undefined;
  }
}

/** `bash -c …`, `perl -e …`, or code from standard input. A script as the first word is not inline code. */
function runsInlineCode({ words: [program, first] }: SimpleCommand): boolean {
  const name = program?.slice(program.lastIndexOf('/') + 1) ?? '';
  return (isShell(name) || isInterpreter(name)) && (first === undefined || first.startsWith('-'));
}

const refused = (verdict: Refused): CommandCheck => ({ verdict, operands: [], needsPerson: false });

function notAllowed(command: string): Refused {
  const shown = shorten(command);
  const why = `"${shown}" is not one of the programs that may run without a shell`;
  const reason = { rule: 'CMD-PROGRAM', why, operand: shown };
  return refuse('COMMAND_NOT_ALLOWED', { command: shown, advice: adviseInstead(shown) }, reason);
}

const invalidParams = (problem: string): Refused =>
  refuse('INVALID_PARAMS', { tool: 'execute_command', problem }, { rule: 'CMD-ARGS-1', why: problem });

const malformed = (program: string, argument: string, problem: string): Refused =>
  refuse(
    'ARGUMENT_REFUSED',
    { program, argument, problem },
    { rule: 'CMD-ARGS-2', why: `has ${argument}: ${problem}` },
  );

const adviceFor: ReadonlyMap<string, string> = new Map(
  catalogue.flatMap(({ name, insteadOf }: ToolDefinition) =>
    (insteadOf?.split(' ') ?? []).map((program) => [program, `Use the tool ${name} instead.`] as const),
  ),
);

/** Tells the model what to do instead of a command that is not allowed. */
function adviseInstead(command: string): string {
  const known = adviceFor.get(command);
  if (known) return known;
  const lastPart = command.slice(command.lastIndexOf('/') + 1);
  if (manuals.has(lastPart)) return `Name the program without a path: ${lastPart}.`;
  if (/[\s;&|<>$`()=]/.test(command)) {
    return 'Give the program alone as command and each argument as an entry of args; for a shell line use shell_exec.';
  }
  return `Allowed are ${[...manuals.keys()].join(', ')}; if it must be another program, use shell_exec, which asks the person.`;
}
