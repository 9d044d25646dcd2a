import type { Function as ShellFunction } from 'unbash';
import { HOME_NAME, inQuotes, NUMBER, TOO_MANY, UNKNOWN, USER_NAME } from '../program/marks.ts';
import { wordList } from '../text.ts';
import { matchesPattern } from './word-paths.ts';

/** More values of one variable, or readings of one word, than this are not followed one by one. */
export const MAX_VALUES = 64;
/** More places than this where the shell may be are not followed. */
const MAX_DIRECTORIES = 8;

/** What a variable may hold: one of `values`; `elements` are those of an array, in order. */
interface Variable {
  readonly values: readonly string[];
  readonly elements?: readonly string[];
  /** The order or number of elements is not certain, so that an index may name any of them. */
  readonly inexact?: boolean;
}

/** Variables of bash whose value is arithmetic when it is set. */
const COMPUTED_WHEN_SET = ['RANDOM', 'SRANDOM', 'SECONDS', 'OPTIND', 'HISTCMD', 'LINENO'];

/**
 * What a shell remembers between commands. Where a command may or may not run (`weak`), what it sets is added to
 * what was there; where it surely runs, it replaces it.
 */
export class ShellState {
  readonly variables = new Map<string, Variable>();
  readonly functions = new Map<string, ShellFunction>();
  /** Links that this line itself made, by absolute path. */
  readonly links = new Map<string, string>();
  /** Names that this line made stand for other words: `alias`, `hash -p`. */
  readonly aliases = new Map<string, readonly string[]>();
  /** What `declare` said of a variable, as the letters of its options: `i`, `n`, `a`, `A`. */
  readonly attributes = new Map(COMPUTED_WHEN_SET.map((name) => [name, 'i']));
  /** The variables that a reference (`declare -n`) may stand for. */
  readonly references = new Map<string, readonly string[]>();
  /** Code that runs later in the line: of `trap` and `alias`, and of files that a shell executes when it starts. */
  readonly later = new Set<string>();
  /** Files that `exec > file` sends everything to from then on. */
  standardOutputs: readonly string[] = [];
  /** Where descriptors above 2 write to. */
  readonly outputs = new Map<string, string>();
  private readonly files = new Map<string, string>();
  /** Where the shell may be: absolute paths; UNKNOWN for anywhere. */
  directories: readonly string[];
  previousDirectories: readonly string[] = [`/${UNKNOWN}`];
  /** `$1`…; undefined when a function is looked at without a call. */
  positional: readonly string[] | undefined = [];
  /** What `$1`… may be instead. */
  otherPositionals: readonly (readonly string[])[] = [];
  scriptName = 'bash';
  lastArgument: readonly string[] = [UNKNOWN];
  /** Where the shell would still be if the last `cd` had failed. */
  mayHaveStayed: readonly string[] | undefined;
  weak = 0;
  /** Counts new values: a loop is walked until this stops growing. */
  changes = 0;

  constructor(directories: readonly string[], home: string) {
    this.directories = directories;
    for (const name of ['BASH_CMDS', 'BASH_ALIASES']) this.attributes.set(name, 'A');
    for (const [name, value] of environment(home)) this.variables.set(name, { values: [value] });
  }

  /** A copy, for a subshell: what it sets is gone when it ends. Files stay. */
  fork(): ShellState {
    const copy = Object.create(ShellState.prototype) as ShellState;
    return Object.assign(copy, this, {
      variables: new Map(this.variables),
      functions: new Map(this.functions),
      attributes: new Map(this.attributes),
      references: new Map(this.references),
    });
  }

  set(name: string, given: Variable): void {
    const variable = recased(given, this.attributes.get(name) ?? '');
    const before = this.weak > 0 ? this.variables.get(name) : undefined;
    if (!before) {
      if (this.weak > 0) this.changes++;
      this.variables.set(name, { ...variable, values: bounded(variable.values) });
      return;
    }
    const values = union(before.values, variable.values);
    const elements = [...new Set([...(before.elements ?? []), ...(variable.elements ?? [])])].slice(
      0,
      MAX_VALUES,
    );
    if (values.length > before.values.length || elements.length > (before.elements?.length ?? 0))
      this.changes++;
    this.variables.set(name, elements.length > 0 ? { values, elements, inexact: true } : { values });
  }

  /** A variable that programs get from the environment of the shell: to set it is to export it. */
  isInherited(name: string): boolean {
    return /^(HOME|PATH|USER|LOGNAME|SHELL|LANG|TERM|TMPDIR|TZ|LC_\w+)$/.test(name);
  }

  has(name: string, attribute: 'i' | 'n' | 'a' | 'A'): boolean {
    return this.attributes.get(name)?.includes(attribute) ?? false;
  }

  /** `A` (the index is not a number) counts only if it is certain; attributes that make values code always count. */
  declare(name: string, attributes: string): void {
    const added = this.weak > 0 ? attributes.replaceAll('A', '') : attributes;
    this.attributes.set(name, (this.attributes.get(name) ?? '') + added);
  }

  /** Arrays that a function, or the shell around this one, declared are not associative here. */
  forgetAssociative(names: Iterable<string> = this.attributes.keys()): void {
    for (const name of names)
      this.attributes.set(name, (this.attributes.get(name) ?? '').replaceAll('A', ''));
  }

  /** Every way `$1`… may be set; none when a function is looked at without a call. */
  positionals(): readonly (readonly string[])[] {
    return this.positional ? [this.positional, ...this.otherPositionals] : [];
  }

  setPositional(words: readonly string[]): void {
    if (this.weak > 0 && words.length !== this.positional?.length) this.changes++;
    this.otherPositionals = this.weak > 0 ? this.positionals().slice(0, 16) : [];
    this.positional = words;
  }

  enter(directories: readonly string[]): void {
    this.previousDirectories = this.directories;
    this.directories = directories;
  }

  /** `OLDPWD=x`: where `cd -` leads from now on. */
  allowPrevious(directories: readonly string[]): void {
    this.previousDirectories = this.weak > 0 ? union(this.previousDirectories, directories) : directories;
  }

  /** Keeps the old directories beside the new ones, because the change may not have happened. */
  allowDirectories(directories: readonly string[]): void {
    const all = union(this.directories, directories);
    this.directories =
      all.length <= MAX_DIRECTORIES ? all : [...all.slice(0, MAX_DIRECTORIES - 1), `/${TOO_MANY}`];
  }

  /** How many files this line has written, descriptors included. */
  get fileCount(): number {
    return this.files.size;
  }

  /** Content that this line itself put into a file or a descriptor (`/dev/fd/3`), by absolute path. */
  readFile(path: string): string | undefined {
    return this.files.size === 0 ? undefined : this.files.get(inQuotes(path));
  }

  /** What the files hold that a path with active patterns may name. */
  filesMatching(pattern: string): readonly string[] {
    const depth = pattern.split('/').length;
    return [...this.files]
      .filter(([path]) => path.split('/').length === depth && matchesPattern(pattern, path))
      .map(([, content]) => content);
  }

  /** All that a pattern over the files of this line could read. */
  readAllFiles(): string {
    return [...this.files.values()].join('\n');
  }

  writeFile(path: string, content: string): void {
    this.files.set(inQuotes(path), content);
  }
}

const union = (a: readonly string[], b: readonly string[]): readonly string[] =>
  b.every((value) => a.includes(value)) ? a : bounded([...new Set([...a, ...b])]);

export const bounded = (values: readonly string[]): readonly string[] =>
  values.length <= MAX_VALUES ? values : [...values.slice(0, MAX_VALUES - 1), TOO_MANY];

/** `declare -l`, `-u` and `-c` change the case of values. Whether they ran is not certain, so both texts are kept. */
function recased(variable: Variable, attributes: string): Variable {
  const change = recasings.find(([attribute]) => attributes.includes(attribute))?.[1];
  if (!change) return variable;
  return {
    ...variable,
    values: [...new Set([...variable.values.map(change), ...variable.values])],
    ...(variable.elements && { elements: variable.elements.map(change) }),
  };
}

const recasings: readonly [string, (text: string) => string][] = [
  ['l', (text) => text.toLowerCase()],
  ['u', (text) => text.toUpperCase()],
  ['c', (text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase()],
];

/** Variables every run has. Of PATH it is only known that it is a path, which is enough to see `${PATH:0:1}` as `/`. */
function environment(home: string): [string, string][] {
  return [
    ['HOME', home],
    ['IFS', ' \t\n'],
    ['PATH', `/${UNKNOWN}`],
    ['SHELL', '/bin/bash'],
    ['BASH', '/bin/bash'],
    ['USER', USER_NAME],
    ['LOGNAME', USER_NAME],
    ...UNKNOWN_TEXTS.map((name): [string, string] => [name, UNKNOWN]),
    ...UNKNOWN_NUMBERS.map((name): [string, string] => [name, NUMBER]),
  ];
}

const UNKNOWN_TEXTS = wordList('LANG TERM HOSTNAME HOSTTYPE OSTYPE MACHTYPE EPOCHREALTIME BASH_VERSION');
const UNKNOWN_NUMBERS = wordList(
  'RANDOM SRANDOM SECONDS EPOCHSECONDS LINENO UID EUID PPID BASHPID PIPESTATUS SHLVL OPTIND',
);

export const homeOf = (home: string | undefined): string => home ?? `/${HOME_NAME}`;
