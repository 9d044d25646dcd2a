import type { Function as ShellFunction } from 'unbash';
import { inQuotes, NUMBER, TOO_MANY, UNKNOWN, USER_NAME } from '../program/marks.ts';
import { wordList } from '../text.ts';
import { matchesPattern } from './word-paths.ts';

/** The most values of one variable, or readings of one word, that are followed. */
export const MAX_VALUES = 64;
/** The most possible working directories that are followed. */
const MAX_DIRECTORIES = 8;

/** The possible values of a variable; for an array, also its elements in order. */
interface Variable {
  readonly values: readonly string[];
  readonly elements?: readonly string[];
  /** The order or number of elements is not certain, so an index may mean any element. */
  readonly inexact?: boolean;
}

/** Variables of bash that evaluate an assigned value as arithmetic. */
const COMPUTED_WHEN_SET = ['RANDOM', 'SRANDOM', 'SECONDS', 'OPTIND', 'HISTCMD', 'LINENO'];

/**
 * The shell's state between commands. A command that surely runs replaces old values; while `uncertain` is above 0 the
 * command may not run, so it adds possible values.
 */
export class ShellState {
  readonly variables = new Map<string, Variable>();
  readonly functions = new Map<string, ShellFunction>();
  /** Targets of the links that this line makes, by absolute path of the link. */
  readonly links = new Map<string, string>();
  /** Words that this line makes a name stand for: `alias`, `hash -p`. */
  readonly aliases = new Map<string, readonly string[]>();
  /** Attributes that `declare` gave a variable, as option letters: `i`, `n`, `a`, `A`. */
  readonly attributes = new Map(COMPUTED_WHEN_SET.map((name) => [name, 'i']));
  /** The variables that a reference (`declare -n`) may refer to. */
  readonly references = new Map<string, readonly string[]>();
  /** Code that runs after the rest of the line: of `trap`, `alias` and startup files such as BASH_ENV. */
  readonly deferredCode = new Set<string>();
  /** Files that receive all further output after `exec > file`. */
  standardOutputs: readonly string[] = [];
  /** The file that each descriptor other than 1 writes to. */
  readonly outputs = new Map<string, string>();
  private readonly files = new Map<string, string>();
  /** Possible working directories, as absolute paths; `/` and UNKNOWN for any directory. */
  directories: readonly string[];
  previousDirectories: readonly string[] = [`/${UNKNOWN}`];
  /** `$1`…; undefined while a function is judged at its definition, without a call. */
  positional: readonly string[] | undefined = [];
  /** Other possible values of `$1`…, after an uncertain `set` or `shift`. */
  otherPositionals: readonly (readonly string[])[] = [];
  scriptName = 'bash';
  lastArgument: readonly string[] = [UNKNOWN];
  /** The working directories from before the last `cd`, if that `cd` may fail. */
  directoriesIfCdFailed: readonly string[] | undefined;
  /** How many branches, loops and the like around the current command may skip it. */
  uncertain = 0;
  /** Grows with each new possible value. A loop body is walked again until this stops growing. */
  changes = 0;

  constructor(directories: readonly string[], home: string) {
    this.directories = directories;
    for (const name of ['BASH_CMDS', 'BASH_ALIASES']) this.attributes.set(name, 'A');
    for (const [name, value] of environment(home)) this.variables.set(name, { values: [value] });
  }

  /** A copy for a subshell, whose variables are dropped when it ends. Files are shared, as on disk. */
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
    const before = this.uncertain > 0 ? this.variables.get(name) : undefined;
    if (!before) {
      if (this.uncertain > 0) this.changes++;
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

  has(name: string, attribute: 'i' | 'n' | 'a' | 'A'): boolean {
    return this.attributes.get(name)?.includes(attribute) ?? false;
  }

  /**
   * Adds attributes. `A` (associative array) is added only if the declaration surely runs: otherwise bash evaluates the
   * index as arithmetic, which can execute code.
   */
  declare(name: string, attributes: string): void {
    const added = this.uncertain > 0 ? attributes.replaceAll('A', '') : attributes;
    this.attributes.set(name, (this.attributes.get(name) ?? '') + added);
  }

  /** Forgets that arrays are associative: where a function returned or a new shell started, they no longer are. */
  forgetAssociative(names: Iterable<string> = this.attributes.keys()): void {
    for (const name of names)
      this.attributes.set(name, (this.attributes.get(name) ?? '').replaceAll('A', ''));
  }

  /** Every possible `$1`…; empty while a function is judged at its definition. */
  positionals(): readonly (readonly string[])[] {
    return this.positional ? [this.positional, ...this.otherPositionals] : [];
  }

  setPositional(words: readonly string[]): void {
    if (this.uncertain > 0 && words.length !== this.positional?.length) this.changes++;
    this.otherPositionals = this.uncertain > 0 ? this.positionals().slice(0, 16) : [];
    this.positional = words;
  }

  enter(directories: readonly string[]): void {
    this.previousDirectories = this.directories;
    this.directories = directories;
  }

  /** Sets where `cd -` leads, for `OLDPWD=x`. */
  setPreviousDirectories(directories: readonly string[]): void {
    this.previousDirectories =
      this.uncertain > 0 ? union(this.previousDirectories, directories) : directories;
  }

  /** Adds possible working directories, because a `cd` may not have happened. */
  addDirectories(directories: readonly string[]): void {
    const all = union(this.directories, directories);
    this.directories =
      all.length <= MAX_DIRECTORIES ? all : [...all.slice(0, MAX_DIRECTORIES - 1), `/${TOO_MANY}`];
  }

  /** How many files this line has written, descriptors included. */
  get fileCount(): number {
    return this.files.size;
  }

  /** The content that this line wrote to a file or a descriptor (`/dev/fd/3`), by absolute path. */
  readFile(path: string): string | undefined {
    return this.files.size === 0 ? undefined : this.files.get(inQuotes(path));
  }

  /** Contents of the files that a path with active patterns may match. */
  filesMatching(pattern: string): readonly string[] {
    const depth = pattern.split('/').length;
    return [...this.files]
      .filter(([path]) => path.split('/').length === depth && matchesPattern(pattern, path))
      .map(([, content]) => content);
  }

  /** Contents of all files that this line wrote. */
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

/** `declare -l`, `-u` and `-c` change the case of values. Both texts are kept, because `declare` may not have run. */
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

/** Variables that every shell has. PATH surely starts with `/`, so `${PATH:0:1}` is `/`. */
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
