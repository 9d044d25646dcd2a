import type { Reason } from '@countersign/protocol';
import type { CommandOperand, ShellCheck, SimpleCommand } from '../call-assessment.ts';
import { readable } from '../program/marks.ts';
import { type Refused, refuse, type Verdict } from '../verdict.ts';

/** The most commands, and the most files, of one line. */
const MAX_NAMED = 1_000;

interface FiredRule {
  readonly id: string;
  readonly why: string;
  /** A person must decide: no grant or allow rule covers such a line (see `CallAssessment`). */
  readonly needsPerson?: true;
  /** The line may execute the files that it reads (see `countReadsAsRuns`). */
  readonly mayExecuteReads?: true;
}

/** Collects what a walk over a shell line finds. Keeps only the first refusal, and each reason once. */
export class Findings {
  #refused: Refused | undefined;
  readonly #reasons = new Map<string, Reason>();
  /** By their words, so that a command that is judged several times, as in a loop, is listed once. */
  readonly #commands = new Map<string, SimpleCommand>();
  readonly #operands = new Map<string, CommandOperand>();
  readonly #environment = new Set<string>();
  #network = false;
  #needsPerson = false;
  #mayExecuteReads = false;
  #quiet = 0;

  get refused(): boolean {
    return this.#refused !== undefined;
  }

  /**
   * Judges an unlikely reading of the line: keeps a refusal and the need for a person, and drops warnings, commands and
   * files.
   */
  quietly<T>(look: () => T): T {
    this.#quiet++;
    try {
      return look();
    } finally {
      this.#quiet--;
    }
  }

  /** Refuses the line as a catastrophe: the person is not asked. */
  refuse(rule: FiredRule, operand: string): void {
    const shown = readable(operand);
    const problem = shown === '' ? rule.why : `${rule.why} (${shown})`;
    this.#refused ??= refuse(
      'SHELL_CATASTROPHE',
      { problem },
      { rule: rule.id, why: rule.why, operand: shown },
    );
  }

  refuseAs(refused: Refused): void {
    this.#refused ??= refused;
  }

  warn(rule: FiredRule, operand = ''): void {
    if (rule.needsPerson) this.#needsPerson = true;
    if (rule.mayExecuteReads) this.countReadsAsRuns();
    const shown = readable(operand);
    const key = `${rule.id}\u0000${shown}`;
    if (this.#quiet > 0 || this.#reasons.has(key) || this.#reasons.size >= 50) return;
    const reason = { rule: rule.id, why: rule.why };
    this.#reasons.set(key, shown === '' ? reason : { ...reason, operand: shown });
  }

  /** Counts every file that the line reads as executed too, because the line may execute what it reads (AP-8). */
  countReadsAsRuns(): void {
    if (this.#quiet === 0) this.#mayExecuteReads = true;
  }

  get writesFiles(): boolean {
    return [...this.#operands.values()].some(({ use }) => use === 'write');
  }

  needNetwork(): void {
    if (this.#quiet === 0) this.#network = true;
  }

  /** If one occurrence of these words has input, all of them count as having input. */
  addCommand(words: readonly (string | undefined)[], { hasInput }: { readonly hasInput: boolean }): void {
    if (this.#quiet > 0 || this.refused) return;
    const key = words.map((word) => word ?? '\u0000').join('\u0001');
    const known = this.#commands.get(key);
    const input = (hasInput || known?.hasInput) && { hasInput: true as const };
    if (this.#commands.size < MAX_NAMED || known) this.#commands.set(key, { words, ...input });
    else this.#refuseAsTooLong('commands');
  }

  /** Adds a variable that the line passes to its programs; `*` if its name is only known at run time. */
  addEnvironment(name: string): void {
    this.#environment.add(this.#environment.size < 100 ? name : '*');
  }

  addOperand(path: string, use: CommandOperand['use']): void {
    if (this.#quiet > 0 || this.refused) return;
    const key = `${use} ${path}`;
    if (this.#operands.size < MAX_NAMED || this.#operands.has(key)) this.#operands.set(key, { path, use });
    else this.#refuseAsTooLong('files');
  }

  /** Adds a file that is executed although no word of the line names it. */
  addImpliedRun(path: string): void {
    if (this.#quiet > 0 || this.#operands.has(`run ${path}`) || this.#operands.size >= MAX_NAMED) return;
    this.#operands.set(`run ${path}`, { path, use: 'run', implied: true });
  }

  /** A rule must see all of a line: one that is denied could hide behind those that were listed. */
  #refuseAsTooLong(what: 'commands' | 'files'): void {
    const problem = `it has more than ${MAX_NAMED} ${what}`;
    const why = `cannot be checked: ${problem}`;
    this.#refused = refuse('SHELL_TOO_COMPLEX', { problem }, { rule: 'SH-0', why });
  }

  #allOperands(): CommandOperand[] {
    if (this.#mayExecuteReads)
      for (const { path, use } of [...this.#operands.values()]) if (use === 'read') this.addImpliedRun(path);
    return [...this.#operands.values()];
  }

  toCheck(): ShellCheck {
    const verdict: Verdict = this.#refused ?? {
      decision: 'HIGH',
      reasons: [BASE, ...this.#reasons.values()],
      network: this.#network,
    };
    return {
      verdict,
      commands: [...this.#commands.values()],
      operands: this.#refused ? [] : this.#allOperands(),
      environment: this.#refused ? [] : [...this.#environment],
      needsPerson: this.#refused === undefined && this.#needsPerson,
    };
  }
}

const BASE: Reason = { rule: 'SHELL', why: 'runs a shell line, which can do anything your account can do' };
