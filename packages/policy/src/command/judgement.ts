import { higherRisk, type Reason, type RiskLevel, riskLevels } from '@countersign/protocol';
import type { CommandCheck, CommandOperand } from '../call-assessment.ts';
import { executingPlaces } from '../executing-places.ts';
import type { CheckedPath, DiskEntry, PathCheck, PathValidator } from '../path-validator.ts';
import { runsInstalled } from '../program/build/rules.ts';
import { readsRepository, usesGit } from '../program/git/rules.ts';
import { gitHookFiles } from '../program/implied-scripts.ts';
import type { Doubt, Note, PathUse } from '../program/notes.ts';
import {
  type CommandRule,
  handsSecret,
  hardLinkedFile,
  hiddenCertificate,
  hugeList,
  makesSecret,
  outsideArgument,
  sensitiveGlob,
  sensitiveLifted,
  tooManyDirectories,
  unclearGlob,
  unpacksOverExecutingPlaces,
  writesToExecutingPlace,
} from '../program/rules.ts';
import { shorten } from '../text.ts';
import { allow, type Refused, refuse } from '../verdict.ts';
import { refuseBinary, writeRuleFor } from '../write-rules.ts';
import { judgeGlob } from './sensitive-glob.ts';

/** A card cannot list more paths than this one by one, so a command with more is not LOW. */
const MAX_OPERANDS = 1_000;
/** Devices that a command of a shell line may read or write. */
const HARMLESS_DEVICE = /^\/dev\/(null|urandom|stdin|stdout|stderr)$/;
/** Each change of directory can make all later paths longer, and no command needs many. */
const MAX_DIRECTORIES = 50;

/** Names of places of VA-3, relative to the directory that contains them: `.git`, `.github/workflows`. */
const executingNames: readonly string[] = executingPlaces.places.flatMap(
  ({ names = [], directories = [], subpaths = [] }) => [...names, ...directories, ...subpaths],
);

/** Decides about one command from its notes. Findings only add risk; the first refusal is final. */
export class Judgement {
  readonly #program: string;
  readonly #inLine: boolean;
  readonly #start: string;
  /** Workspace-relative directory that relative paths start in. */
  #directory: string;
  readonly #paths: PathValidator;
  readonly #reasons: (Reason & { readonly risk: RiskLevel })[] = [];
  readonly #seen = new Set<string>();
  readonly #looked = new Map<string, PathCheck>();
  readonly #operands = new Map<string, CommandOperand>();
  #directories = 0;
  #level: RiskLevel = 'LOW';
  #network = false;
  #needsPerson = false;
  #refused: Refused | undefined;

  /**
   * `start` is the workspace-relative directory that the program is started in. `inLine`: the program is a part of a shell
   * line, which a person may approve where execute_command refuses, and where git reads are harmless.
   */
  constructor(program: string, paths: PathValidator, start = '', { inLine = false } = {}) {
    this.#program = program;
    this.#inLine = inLine;
    this.#start = start;
    this.#directory = start;
    this.#paths = paths;
  }

  judge(notes: readonly Note[]): void {
    for (const note of notes) {
      if (this.#refused) return;
      const here = this.#directory;
      if (note.fromStart) this.#directory = this.#start;
      this.#judgeNote(note);
      if (note.fromStart) this.#directory = here;
    }
  }

  #judgeNote(note: Note): void {
    switch (note.kind) {
      case 'rule':
        this.raise(note.rule, note.operand);
        break;
      case 'rule if there': {
        const operand = this.#exists(note.text) ? note.text : note.otherwise;
        if (operand !== undefined) this.raise(note.rule, operand);
        break;
      }
      case 'rule unless there':
        if (this.#exists(this.#paths.root) && !this.#isThereOrAbove(note.text))
          this.raise(note.rule, note.text);
        break;
      case 'path':
        this.#path(note.text, note.use, note.makes);
        if (note.lookups && this.#entryOf(note.text) !== 'file')
          for (const file of note.lookups) this.#noteRun(file);
        break;
      case 'installed program':
        if (this.#paths.isSystemPython(note.text, this.#directory)) this.raise(runsInstalled, note.text);
        else this.#path(note.text, 'run', false);
        break;
      case 'tree path': {
        const checked = this.#look(note.text);
        if (checked.ok) this.note(checked.named, 'read');
        else this.refuse(checked.refused);
        break;
      }
      case 'maybe path':
        this.#judgeDoubt(note.text, note.doubt, note.word);
        break;
      case 'pattern': {
        const judged = judgeGlob(note.text);
        if (judged === 'sensitive') this.raise(sensitiveGlob, note.text);
        else if (judged === 'unclear') this.raise(unclearGlob, note.text);
        break;
      }
      case 'made name':
        this.#refuseBinary(note.text, note.name);
        break;
      case 'implied run':
        this.#noteRun(note.text);
        break;
      case 'directory':
        this.#enter(note.text, note.use);
        break;
      case 'unpack':
        if (!note.onlyInShell) this.#judgeUnpacking(note.text);
        break;
      case 'git hooks':
        this.#noteHooks();
        break;
      case 'git read':
        this.#judgeGitRead({ entersSubmodules: note.entersSubmodules });
        break;
      case 'changed unless folder':
        if (this.#exists(this.#paths.root) && this.#entryOf(note.text) !== 'directory')
          this.#judgeChange(note.text);
        break;
      case 'changed file':
        this.#judgeChange(note.text);
        break;
      case 'secret':
        this.#judgeSecret(note.text, note.use);
        break;
      case 'network':
        this.needNetwork();
    }
  }

  /** Records that `rule` applies because of `operand`, the part of the command that triggered it. */
  raise(rule: CommandRule, operand?: string): void {
    if (this.#refused) return;
    const shown = operand === undefined ? undefined : shorten(operand);
    const reason = { rule: rule.id, why: rule.why, ...(shown === undefined ? {} : { operand: shown }) };
    // A pattern that picks sensitive files is refused everywhere (VA-2).
    const isRefused = rule.risk === 'REJECT' && !(this.#inLine && rule !== sensitiveGlob);
    const risk = rule.risk === 'REJECT' && !isRefused ? 'HIGH' : rule.risk;
    if (risk === 'REJECT') {
      const values = { program: this.#program, argument: shown ?? 'these arguments', problem: rule.why };
      this.#refused = refuse('ARGUMENT_REFUSED', values, reason);
      return;
    }
    this.#level = higherRisk(this.#level, risk);
    if (rule.network) this.#network = true;
    if (rule.needsPerson) this.#needsPerson = true;
    const key = `${rule.id} ${shown ?? ''}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#reasons.push({ ...reason, risk });
  }

  /** Only the first refusal counts. */
  refuse(refused: Refused | undefined): void {
    this.#refused ??= refused;
  }

  needNetwork(): void {
    this.#network = true;
  }

  needPerson(): void {
    this.#needsPerson = true;
  }

  #path(text: string, use: PathUse, makes: boolean): CheckedPath | undefined {
    if (this.#inLine && HARMLESS_DEVICE.test(text)) return undefined;
    const checked = use === 'name' ? this.#paths.checkName(text, this.#directory) : this.#look(text);
    if (!checked.ok) {
      this.refuse(checked.refused);
      return undefined;
    }
    if (makes && checked.entry?.type !== 'directory') {
      this.#refuseBinary(text, checked.named);
      this.#refuseBinary(text, checked.relative);
    }
    if (checked.entry?.type === 'file' && checked.entry.hardLinks > 1) this.raise(hardLinkedFile, text);
    if (checked.isCertificate && use !== 'name') this.raise(hiddenCertificate, text);
    if (use === 'write' && checked.executesLater) this.raise(writesToExecutingPlace, text);
    if (checked.liftedSensitive && use !== 'name') this.raise(sensitiveLifted, text);
    this.note(checked.relative, use === 'name' ? 'read' : use);
    return checked;
  }

  #refuseBinary(text: string, name: string): void {
    this.refuse(refuseBinary(name, shorten(text)));
  }

  /** Records a workspace-relative path for the rules of policy files, the card and the digest. */
  note(path: string, use: CommandOperand['use']): void {
    this.#operands.set(`${use} ${path}`, { path, use });
    if (this.#operands.size > MAX_OPERANDS) this.raise(hugeList);
  }

  /** Records a folder in which a pattern picks files. It adds no reason. */
  noteFolder(text: string): void {
    const checked = this.#look(text);
    if (checked.ok) this.note(checked.relative, 'read');
  }

  /** Lists a file that is executed if it exists, for card and digest (AP-8). It adds no reason. */
  #noteRun(text: string): void {
    const checked = this.#look(text);
    if (!checked.ok || checked.entry === undefined) return;
    const key = `run ${checked.relative}`;
    if (!this.#operands.has(key))
      this.#operands.set(key, { path: checked.relative, use: 'run', implied: true });
  }

  /** Lists the hooks of the repository that git finds, in the current directory or above it. */
  #noteHooks(): void {
    const depth = this.#directory === '' ? 0 : this.#directory.split('/').length;
    for (let up = 0; up <= depth; up++) {
      const top = '../'.repeat(up);
      if (!this.#exists(`${top}.git`)) continue;
      for (const file of gitHookFiles) this.#noteRun(`${top}${file}`);
      return;
    }
  }

  #judgeSecret(text: string, use: 'made' | 'handed'): void {
    const checked = this.#paths.checkName(text, this.#directory);
    if (!checked.ok) {
      this.refuse(checked.refused);
      return;
    }
    if (this.#look(text).ok) {
      if (use === 'made') this.#judgeChange(text);
      else this.#path(text, 'read', false);
      return;
    }
    this.raise(use === 'made' ? makesSecret : handsSecret, text);
    this.note(checked.relative, use === 'made' ? 'write' : 'read');
  }

  /** A file whose content changes: as risky as write_file would be. */
  #judgeChange(text: string): void {
    const checked = this.#path(text, 'write', true);
    if (!checked) return;
    for (const name of new Set([checked.named, checked.relative])) {
      const { id, why, effect } = writeRuleFor(name);
      this.raise({ id, why, risk: effect, matches: [], doesNotMatch: [] }, text);
    }
  }

  /**
   * The runner reads the workspace's own repository without its configuration (RN-6). Any other repository that git would
   * find may have a configuration that starts programs.
   */
  #judgeGitRead({ entersSubmodules }: { entersSubmodules: boolean }): void {
    const isOther = this.#exists(this.#paths.root) && this.#repository() !== '';
    const hasSubmodules = entersSubmodules && this.#exists(`${this.#paths.root}/.gitmodules`);
    this.raise(this.#inLine && !isOther && !hasSubmodules ? readsRepository : usesGit);
  }

  /** The workspace-relative top of the repository that git finds from the current directory; undefined if there is none. */
  #repository(): string | undefined {
    const parts = this.#directory === '' ? [] : this.#directory.split('/');
    for (let depth = parts.length; depth >= 0; depth--) {
      const top = parts.slice(0, depth).join('/');
      if (this.#exists(top === '' ? `${this.#paths.root}/.git` : `${this.#paths.root}/${top}/.git`))
        return top;
    }
    return undefined;
  }

  #enter(text: string, use: PathUse): void {
    if (++this.#directories > MAX_DIRECTORIES) this.raise(tooManyDirectories);
    const checked = this.#path(text, use, false);
    if (!checked) return;
    this.#directory = checked.relative;
    // Several changes of directory can add up to a path that is too long. Checking the whole path refuses it.
    if (checked.relative.length > text.length && checked.relative.length > 4096)
      this.#path(`./${checked.relative}`, use, use === 'write');
  }

  /**
   * An archive decides which files it writes below `target`. In the root of the workspace, and where places of VA-3 exist,
   * it may overwrite those, so no grant covers the call.
   */
  #judgeUnpacking(target: string): void {
    const checked = this.#path(target, 'write', false);
    if (!checked) return;
    if (checked.relative === '' || executingNames.some((name) => this.#exists(`${target}/${name}`)))
      this.raise(unpacksOverExecutingPlaces, target);
  }

  /** Judges a word that may be a path, as strictly as `doubt` says. */
  #judgeDoubt(text: string, doubt: Doubt, word: string): void {
    if (text === '' || (text.length > 4096 && doubt !== 'outside')) return;
    const checked = this.#look(doubt === 'sensitive' ? text.replace(/^@/, '') || '.' : text);
    if (checked.ok) {
      if (doubt === 'later' && checked.executesLater) this.raise(writesToExecutingPlace, text);
      if (doubt === 'argument' || doubt === 'file') this.#noteArgument(text, checked);
      return;
    }
    const { code } = checked.refused;
    const isOutside = code === 'PATH_OUTSIDE_WORKSPACE' || looksLikeOutsidePath(text);
    if (doubt === 'outside' ? looksLikeOutsidePath(text) : doubt === 'unsafe' && isOutside)
      this.refuse(checked.refused);
    // VA-2: a sensitive file is refused, whatever a script would do with it.
    else if (code === 'PATH_SENSITIVE' && /^(unsafe|sensitive|argument)$/.test(doubt))
      this.refuse(checked.refused);
    // `/api/users` may be something else than a path, so the person decides.
    else if (doubt === 'argument' && isOutside) this.raise(outsideArgument, word);
  }

  /**
   * Lists a file that is an argument of a script, so that policy rules see it. With a disk the file must exist; without one,
   * a word with a slash and without blanks counts as a file.
   */
  #noteArgument(text: string, checked: CheckedPath): void {
    if (checked.liftedSensitive) this.raise(sensitiveLifted, text);
    const mayBeFile =
      text.includes('/') && !/\s|^[\w+.-]+:\/\//.test(text) && !this.#exists(this.#paths.root);
    if (checked.entry !== undefined || mayBeFile) this.note(checked.relative, 'read');
  }

  /** Always false without a disk. */
  #exists(text: string): boolean {
    return this.#entryOf(text) !== undefined;
  }

  #isThereOrAbove(text: string): boolean {
    const depth = this.#directory === '' ? 0 : this.#directory.split('/').length;
    for (let up = 0; up <= depth; up++) if (this.#exists(`${'../'.repeat(up)}${text}`)) return true;
    return false;
  }

  #entryOf(text: string): DiskEntry['type'] | undefined {
    const checked = this.#look(text);
    return checked.ok ? checked.entry?.type : undefined;
  }

  /** The PathValidator's check, cached: a word is judged in several ways, but the disk is asked once. */
  #look(text: string): PathCheck {
    const key = `${this.#directory}\u0000${text}`;
    const checked = this.#looked.get(key) ?? this.#paths.check(text, this.#directory);
    this.#looked.set(key, checked);
    return checked;
  }

  finish(): CommandCheck {
    if (this.#refused) return { verdict: this.#refused, operands: [], needsPerson: false };
    const level = this.#level;
    const reasons = this.#reasons
      .filter(({ risk }) => level === 'LOW' || risk !== 'LOW')
      .sort((a, b) => riskLevels.indexOf(b.risk) - riskLevels.indexOf(a.risk))
      .map(({ risk: _, ...reason }) => reason);
    return {
      verdict: allow(level, reasons, this.#network),
      operands: [...this.#operands.values()],
      needsPerson: this.#needsPerson,
    };
  }
}

const looksLikeOutsidePath = (text: string): boolean => /^(~?\/|\.\.(\/|$))|\/\.\.\//.test(text);
