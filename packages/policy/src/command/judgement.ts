import { higherRisk, type Reason, type RiskLevel } from '@countersign/protocol';
import type { CheckedPath, PathCheck, PathValidator } from '../path-validator.ts';
import { shorten } from '../shown-text.ts';
import { allow, type Refused, refuse } from '../verdict.ts';
import { writeRuleFor } from '../write-rules.ts';
import type { CommandCheck, CommandOperand } from './command-check.ts';
import type { CommandRule } from './command-rule.ts';
import {
  hardLinkedFile,
  hugeList,
  sensitiveGlob,
  sensitiveLifted,
  tooManyDirectories,
  unclearGlob,
  writesToExecutingPlace,
} from './general-rules.ts';
import { judgeGlob } from './sensitive-glob.ts';

export type PathUse = CommandOperand['use'];

/** More paths than this in one command are not listed for the person one by one, so the command is not LOW. */
const MOST_OPERANDS = 1_000;
/** Each change of directory can make all later paths longer, and no command needs many. */
const MOST_DIRECTORIES = 50;

/** Collects what is found out about one command. Findings only ever add risk; the first refusal stands. */
export class Judgement {
  readonly program: string;
  readonly #start: string;
  /** Workspace-relative directory that relative paths start in. */
  #directory: string;
  readonly #paths: PathValidator;
  readonly #reasons: (Reason & { readonly risk: RiskLevel })[] = [];
  readonly #seen = new Set<string>();
  /** A word is looked at in several ways; the disk is asked once. */
  readonly #looked = new Map<string, PathCheck>();
  readonly #operands = new Map<string, CommandOperand>();
  #directories = 0;
  #level: RiskLevel = 'LOW';
  #network = false;
  #needsPerson = false;
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
    if (rule.needsPerson) this.#needsPerson = true;
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

  /** What another validator found: only a person may answer for this command. */
  needPerson(): void {
    this.#needsPerson = true;
  }

  /**
   * Checks a path that the command uses. A file that is made or replaced must not be an executable binary by its
   * name (TL-4); `makes: false` is for what is only removed, and for directories.
   */
  path(text: string, use: PathUse, { makes = use === 'write' } = {}): CheckedPath | undefined {
    if (this.#refused) return undefined;
    const checked = this.look(text);
    if (!checked.ok) {
      this.#refused = checked.refused;
      return undefined;
    }
    if (makes && checked.entry?.type !== 'directory') {
      this.refuseBinary(text, checked.named);
      this.refuseBinary(text, checked.relative);
    }
    if (checked.entry?.type === 'file' && checked.entry.hardLinks > 1) this.raise(hardLinkedFile, text);
    if (use === 'write' && checked.executesLater) this.raise(writesToExecutingPlace, text);
    if (checked.liftedSensitive) this.raise(sensitiveLifted, text);
    this.note(checked.relative, use);
    return checked;
  }

  /** As `path`, where the program reads `-` as standard input or output. Elsewhere `-` is a file, or a link. */
  pathOrStream(text: string, use: PathUse): void {
    if (text !== '-') this.path(text, use);
  }

  /** TL-4: no tool writes a file whose name `name` makes it an executable binary; `text` is how it was spelled. */
  refuseBinary(text: string, name = text): void {
    const rule = writeRuleFor(name);
    if (rule.effect !== 'REJECT') return;
    const extension = name.slice(name.lastIndexOf('.'));
    const reason = { rule: rule.id, why: `"${shorten(text)}" ${rule.why}`, operand: shorten(text) };
    this.refuse(refuse('EXTENSION_REFUSED', { path: shorten(text), extension }, reason));
  }

  /** Records a workspace-relative path for the rules of policy files, the card and the digest. */
  note(path: string, use: PathUse): void {
    this.#operands.set(`${use} ${path}`, { path, use });
    if (this.#operands.size > MOST_OPERANDS) this.raise(hugeList);
  }

  /** A file that is executed if it is there: noted for card and digest (AP-8), and no reason for anything else. */
  noteRun(text: string): void {
    const checked = this.look(text);
    if (!checked.ok || checked.entry === undefined) return;
    const key = `run ${checked.relative}`;
    if (!this.#operands.has(key))
      this.#operands.set(key, { path: checked.relative, use: 'run', implied: true });
  }

  /** Workspace-relative directory that relative paths start in now. */
  get directory(): string {
    return this.#directory;
  }

  /** Changes where relative paths start, as `git -C` and `tar -C` do. */
  enter(text: string, use: PathUse): void {
    if (++this.#directories > MOST_DIRECTORIES) this.raise(tooManyDirectories);
    const checked = this.path(text, use, { makes: false });
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

  /** Whether there is a disk to look at: then the root is there. */
  get seesDisk(): boolean {
    const root = this.look(this.#paths.root);
    return root.ok && root.entry !== undefined;
  }

  /** What the PathValidator would say, without recording it. */
  look(text: string): PathCheck {
    const key = `${this.#directory}\u0000${text}`;
    let checked = this.#looked.get(key);
    if (!checked) {
      checked = this.#paths.check(text, this.#directory);
      this.#looked.set(key, checked);
    }
    return checked;
  }

  /** A pattern that picks files by name: it must not be a way to reach a sensitive one. */
  glob(pattern: string): void {
    const judged = judgeGlob(pattern);
    if (judged === 'sensitive') this.raise(sensitiveGlob, pattern);
    else if (judged === 'unclear') this.raise(unclearGlob, pattern);
  }

  finish(): CommandCheck {
    if (this.#refused) return { verdict: this.#refused, operands: [], needsPerson: false };
    const level = this.#level;
    const reasons = this.#reasons
      .filter(({ risk }) => level === 'LOW' || risk !== 'LOW')
      .sort((a, b) => weight[b.risk] - weight[a.risk])
      .map(({ risk: _, ...reason }) => reason);
    return {
      verdict: allow(level, reasons, this.#network),
      operands: [...this.#operands.values()],
      needsPerson: this.#needsPerson,
    };
  }
}

const weight: Readonly<Record<RiskLevel, number>> = { LOW: 0, MEDIUM: 1, HIGH: 2 };
