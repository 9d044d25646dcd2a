import { defaultLimits, type Limits } from '@countersign/protocol';
import { parse } from 'unbash';
import type { ShellCheck } from '../call-assessment.ts';
import type { DiskEntry, PathValidator } from '../path-validator.ts';
import { HOME_NAME, hasMark, readable } from '../program/marks.ts';
import { type Refused, refuse } from '../verdict.ts';
import { catastrophes } from './catastrophes.ts';
import { Findings } from './findings.ts';
import { findForkBomb } from './fork-bomb.ts';
import { type LineContext, ShellRun } from './shell-run.ts';
import { walker } from './walk.ts';

export interface ShellValidatorOptions {
  readonly paths: PathValidator;
  readonly limits?: Limits;
  /** The person's home, absolute. If left out, `~` is a home directory with an unknown path. */
  readonly home?: string;
}

/**
 * Decides about lines for bash (VA-6): refuses catastrophes and lines that do not parse; any other line is HIGH, with
 * reasons. It never executes anything. It follows quoting, variables, substitutions and nested shells as far as the text
 * determines them, and treats values that are only known at run time as a risk.
 */
export class ShellValidator {
  readonly #paths: PathValidator;
  readonly #limits: Limits;
  readonly #home: string;

  constructor(options: ShellValidatorOptions) {
    this.#paths = options.paths;
    this.#limits = options.limits ?? defaultLimits;
    this.#home = options.home ?? `/${HOME_NAME}`;
  }

  /** `cwd` is the directory in which the line starts; the workspace root if left out. */
  check(command: unknown, cwd?: unknown): ShellCheck {
    const findings = new Findings();
    const directory = this.#directory(cwd, findings);
    if (directory !== undefined && this.#isText(command, findings))
      walkLine(command, { directory, findings, paths: this.#paths, home: this.#home });
    return findings.toCheck();
  }

  #directory(cwd: unknown, findings: Findings): string | undefined {
    if (cwd === undefined) return this.#paths.root;
    const check = this.#paths.check(cwd);
    if (!check.ok) {
      findings.refuseAs(check.refused);
      return undefined;
    }
    const missing = check.entry?.type === 'directory' ? undefined : this.#notThere(String(cwd), check.entry);
    if (missing) {
      findings.refuseAs(missing);
      return undefined;
    }
    return check.relative === '' ? this.#paths.root : `${this.#paths.root}/${check.relative}`;
  }

  /** Refuses a missing directory as list_directory does, unless there is no disk to look at (the root is missing too). */
  #notThere(cwd: string, entry: DiskEntry | undefined): Refused | undefined {
    const operand = readable(cwd);
    if (entry)
      return refuse(
        'NOT_A_DIRECTORY',
        { path: operand },
        { rule: 'PATH-8', why: 'is not a directory', operand },
      );
    const root = this.#paths.check('.');
    if (!root.ok || !root.entry) return undefined;
    return refuse(
      'FILE_NOT_FOUND',
      { path: operand },
      { rule: 'PATH-7', why: 'there is nothing there', operand },
    );
  }

  #isText(command: unknown, findings: Findings): command is string {
    const problem = problemWith(command);
    if (problem !== undefined) {
      const why = `the command is not usable: ${problem}`;
      findings.refuseAs(refuse('INVALID_PARAMS', { tool: 'shell_exec', problem }, { rule: 'SH-0', why }));
      return false;
    }
    const size = (command as string).length;
    const limit = this.#limits.commandCharacters;
    if (size <= limit) return true;
    findings.refuseAs(
      refuse(
        'COMMAND_TOO_LONG',
        { size, limit },
        { rule: 'SH-0', why: 'the command is too long to be checked' },
      ),
    );
    return false;
  }
}

/** Walks one whole line. Returns the work done. */
export function walkLine(line: string, context: LineContext): ShellRun['work'] {
  const run = new ShellRun(context, walker);
  const { findings, state } = run;
  const script = parse(line);
  walker.script(run, script);
  // A command may read the pipe before another one writes it: walk again, now that the content is known.
  if (run.makesPipe && !findings.refused) walker.script(run, script);
  // Deferred code is walked last, with the final values of variables and files.
  for (const code of state.deferredCode) run.perhapsCode(code);
  const bomb = findForkBomb(run);
  if (bomb !== undefined) findings.refuse(catastrophes.forkBomb, bomb);
  return run.work;
}

function problemWith(command: unknown): string | undefined {
  if (typeof command !== 'string')
    return `the command is ${command === null ? 'null' : typeof command}, not text`;
  if (command.trim() === '') return 'the command is empty';
  if (command.includes('\u0000')) return 'the command contains a NUL character';
  if (!command.isWellFormed() || hasMark(command)) return 'the command is not valid Unicode text';
  return undefined;
}
