import { higherRisk, type Reason, type RiskLevel } from '@countersign/protocol';
import type { CheckedPath, PathValidator } from '../path-validator.ts';
import { allow, type Refused, refuse } from '../verdict.ts';
import type { CommandCheck, CommandOperand } from './command-check.ts';
import type { CommandRule } from './command-rule.ts';
import {
  hardLinkedFile,
  hugeList,
  sensitiveGlob,
  unclearGlob,
  writesToExecutingPlace,
} from './general-rules.ts';
import { judgeGlob } from './sensitive-glob.ts';

export type PathUse = CommandOperand['use'];

/** More paths than this in one command are not listed for the person one by one, so the command is not LOW. */
const MOST_OPERANDS = 1_000;

/** Collects what is found out about one command. Findings only ever add risk; the first refusal stands. */
export class Judgement {
  readonly program: string;
  readonly #start: string;
  /** Workspace-relative directory that relative paths start in. */
  #directory: string;
  readonly #paths: PathValidator;
  readonly #reasons: (Reason & { readonly risk: RiskLevel })[] = [];
  readonly #seen = new Set<string>();
  readonly #operands: CommandOperand[] = [];
  #level: RiskLevel = 'LOW';
  #network = false;
  #refused: Refused | undefined;

  /** `start` is the workspace-relative directory that the program is started in. */
  constructor(program: string, paths: PathValidator, start = '') {
    this.program = program;
    this.#start = start;
    this.#directory = start;
    this.#paths = paths;
  }

  /** Records that `rule` applies because of `operand`, the part of the command that triggered it. */
  raise(rule: CommandRule, operand?: string): void {
    if (this.#refused) return;
    const shown = operand === undefined ? undefined : shorten(operand);
    const reason = { rule: rule.id, why: rule.why, ...(shown === undefined ? {} : { operand: shown }) };
    if (rule.risk === 'REJECT') {
      const values = { program: this.program, argument: shown ?? 'these arguments', problem: rule.why };
      this.#refused = refuse('ARGUMENT_REFUSED', values, reason);
      return;
    }
    this.#level = higherRisk(this.#level, rule.risk);
    if (rule.network) this.#network = true;
    const key = `${rule.id} ${shown ?? ''}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#reasons.push({ ...reason, risk: rule.risk });
  }

  refuse(refused: Refused): void {
    this.#refused ??= refused;
  }

  needNetwork(): void {
    this.#network = true;
  }

  /** Checks a path that the command uses. `-` is standard input or output for all our programs. */
  path(text: string, use: PathUse): CheckedPath | undefined {
    if (this.#refused || text === '-') return undefined;
    const checked = this.#paths.check(text, this.#directory);
    if (!checked.ok) {
      this.#refused = checked.refused;
      return undefined;
    }
    if (checked.entry?.type === 'file' && checked.entry.hardLinks > 1) this.raise(hardLinkedFile, text);
    if (use === 'write' && checked.executesLater) this.raise(writesToExecutingPlace, text);
    if (checked.liftedSensitive) this.raise(sensitiveLifted, text);
    if (this.#operands.length < MOST_OPERANDS) this.#operands.push({ path: checked.relative, use });
    else this.raise(hugeList);
    return checked;
  }

  /** Changes where relative paths start, as `git -C` and `tar -C` do. */
  enter(text: string, use: PathUse): void {
    const checked = this.path(text, use);
    if (!checked) return;
    this.#directory = checked.relative;
    // A directory deeper than any path may be long names nothing; checking it whole says so.
    if (checked.relative.length > text.length && checked.relative.length > 4096)
      this.path(`./${checked.relative}`, use);
  }

  /** Does `work` with relative paths starting where the program did, wherever `enter` went. */
  fromStart(work: () => void): void {
    const directory = this.#directory;
    this.#directory = this.#start;
    work();
    this.#directory = directory;
  }

  /** What the PathValidator would say, without recording it. */
  look(text: string): ReturnType<PathValidator['check']> {
    return this.#paths.check(text, this.#directory);
  }

  /** A pattern that picks files by name: it must not be a way to reach a sensitive one. */
  glob(pattern: string): void {
    const judged = judgeGlob(pattern);
    if (judged === 'sensitive') this.raise(sensitiveGlob, pattern);
    else if (judged === 'unclear') this.raise(unclearGlob, pattern);
  }

  finish(): CommandCheck {
    if (this.#refused) return { verdict: this.#refused, operands: [] };
    const level = this.#level;
    const reasons = this.#reasons
      .filter(({ risk }) => level === 'LOW' || risk !== 'LOW')
      .sort((a, b) => weight[b.risk] - weight[a.risk])
      .map(({ risk: _, ...reason }) => reason);
    return { verdict: allow(level, reasons, this.#network), operands: this.#operands };
  }
}

const weight: Readonly<Record<RiskLevel, number>> = { LOW: 0, MEDIUM: 1, HIGH: 2 };

/** Only reachable when the person's own policy file lifted exactly this path (RK-5), so it has no example line. */
const sensitiveLifted: CommandRule = {
  id: 'CMD-LIFTED',
  risk: 'HIGH',
  why: 'uses a sensitive file that your own policy file allows',
  matches: [],
  doesNotMatch: ['cat README.md'],
};

const shorten = (text: string): string => (text.length <= 200 ? text : `${text.slice(0, 200)}…`);
