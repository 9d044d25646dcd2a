import type { Reason } from '@countersign/protocol';
import type { CommandOperand, ShellCheck, SimpleCommand } from '../call-assessment.ts';
import { readable } from '../program/marks.ts';
import { type Refused, refuse, type Verdict } from '../verdict.ts';

/** The parts of a rule that a finding needs. */
interface FiredRule {
  readonly id: string;
  readonly why: string;
  /** No grant and no allow rule may answer for a line that this applies to (see `CallAssessment`). */
  readonly needsPerson?: true;
  /** See `runWhatIsRead`. */
  readonly runsWhatIsRead?: true;
}

/** Collects what a walk over a shell line finds. The first refusal stands; reasons are kept once each. */
export class Findings {
  #refused: Refused | undefined;
  readonly #reasons = new Map<string, Reason>();
  readonly #commands: SimpleCommand[] = [];
  readonly #operands = new Map<string, CommandOperand>();
  readonly #environment = new Set<string>();
  #network = false;
  #needsPerson = false;
  #runsWhatIsRead = false;
  #quiet = 0;

  get refused(): boolean {
    return this.#refused !== undefined;
  }

  /**
   * Judges something that is only one possible reading of the line: a refusal and the need for a person count, anything
   * else is not reported.
   */
  quietly<T>(look: () => T): T {
    this.#quiet++;
    try {
      return look();
    } finally {
      this.#quiet--;
    }
  }

  /** Refuses a catastrophe: the person is never asked. */
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
    if (rule.runsWhatIsRead) this.runWhatIsRead();
    const shown = readable(operand);
    const key = `${rule.id}\u0000${shown}`;
    if (this.#quiet > 0 || this.#reasons.has(key) || this.#reasons.size >= 50) return;
    const reason = { rule: rule.id, why: rule.why };
    this.#reasons.set(key, shown === '' ? reason : { ...reason, operand: shown });
  }

  /** The line may execute what it reads, so every file that it reads counts as executed (AP-8). */
  runWhatIsRead(): void {
    if (this.#quiet === 0) this.#runsWhatIsRead = true;
  }

  get writesFiles(): boolean {
    return [...this.#operands.values()].some(({ use }) => use === 'write');
  }

  needNetwork(): void {
    if (this.#quiet === 0) this.#network = true;
  }

  command(words: readonly (string | undefined)[]): void {
    if (this.#quiet === 0 && this.#commands.length < 1_000) this.#commands.push({ words });
  }

  /** A variable that the line passes to its programs; `*` if its name is only known at run time. */
  environment(name: string): void {
    this.#environment.add(this.#environment.size < 100 ? name : '*');
  }

  operand(path: string, use: CommandOperand['use']): void {
    if (this.#quiet === 0 && this.#operands.size < 1_000) this.#operands.set(`${use} ${path}`, { path, use });
  }

  /** A file that is executed though no word says so. */
  impliedRun(path: string): void {
    if (this.#quiet > 0 || this.#operands.has(`run ${path}`) || this.#operands.size >= 1_000) return;
    this.#operands.set(`run ${path}`, { path, use: 'run', implied: true });
  }

  #allOperands(): CommandOperand[] {
    if (this.#runsWhatIsRead)
      for (const { path, use } of [...this.#operands.values()]) if (use === 'read') this.impliedRun(path);
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
      commands: uniqueInARow(this.#commands),
      operands: this.#refused ? [] : this.#allOperands(),
      environment: this.#refused ? [] : [...this.#environment],
      needsPerson: this.#refused === undefined && this.#needsPerson,
    };
  }
}

const BASE: Reason = { rule: 'SHELL', why: 'runs a shell line, which can do anything your account can do' };

/** A command that was looked at twice in a row (a loop, a second reading) is listed once. */
function uniqueInARow(commands: readonly SimpleCommand[]): SimpleCommand[] {
  const seen = new Set<string>();
  return commands.filter(({ words }) => {
    const key = words.map((word) => (word === undefined ? '\u0000' : word.slice(0, 200))).join('\u0001');
    return !seen.has(key) && seen.add(key);
  });
}
