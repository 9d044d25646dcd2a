import type { Command, CommandNode, CompoundList, Script } from 'unbash';
import type { PathValidator } from '../path-validator.ts';
import { refuse } from '../verdict.ts';
import type { Findings } from './findings.ts';
import { ShellState } from './shell-state.ts';

/** The deepest nesting of shells, substitutions and function calls; a line that goes deeper is refused. */
const MAX_DEPTH = 40;
/** The most commands, words and readings in one line. An ordinary line needs a few dozen. */
const MAX_STEPS = 40_000;
/** The most characters of variables and nested shells that one line makes us split and parse, in total. */
const MAX_CHARACTERS = 2_000_000;

/** Breaks the import cycle between the parts of the walk: words contain scripts, and commands contain code. */
export interface Walker {
  /** Walks a parsed script in the current state. Returns what it may print. */
  script(run: ShellRun, script: Script): readonly string[];
  /** Walks one command, such as the body of a function. Returns what it may print. */
  node(run: ShellRun, node: CommandNode | CompoundList): readonly string[];
  /** Parses and walks text that a shell would execute. Returns what it may print. */
  code(run: ShellRun, text: string, options: CodeOptions): readonly string[];
  /** Walks the commands that bash executes when it expands a text, such as `$(…)`. See evaluated-text.ts. */
  expansion(run: ShellRun, text: string): void;
  /** Judges one program call after expansion. Returns what it may print. */
  call(run: ShellRun, words: readonly string[]): readonly string[];
}

export interface CodeOptions {
  /** Refuses the line if the text does not parse; otherwise such text is ignored. */
  readonly mustParse: boolean;
  /** The code runs in a subshell: variables that it sets are gone afterwards. */
  readonly subshell: boolean;
  /** `$1`… for the code. The current shell's are used if left out. */
  readonly positional?: readonly string[];
  /** `$0` for the code. */
  readonly scriptName?: string;
}

export interface LineContext {
  readonly findings: Findings;
  readonly paths: PathValidator;
  /** The directory in which the line starts. */
  readonly directory: string;
  /** The person's home directory, or `/` and the mark HOME_NAME if it is not known. */
  readonly home: string;
}

/** One walk over one line: its findings, the shell's state, and the work done so far. */
export class ShellRun {
  readonly findings: Findings;
  readonly paths: PathValidator;
  readonly walker: Walker;
  readonly home: string;
  state: ShellState;
  /** Possible contents of the current command's standard input; undefined if it is not redirected or piped. */
  stdin: readonly string[] | undefined;
  /** Functions, aliases and scripts being walked, the innermost last. Stops recursion. */
  readonly calling: string[] = [];
  /** How many pipelines, `&` and process substitutions around the current command run it beside others. */
  concurrent = 0;
  /** How many loops around the current command surely repeat it: endless loops, and `for` over fixed words. */
  repeatingLoops = 0;
  /** The line makes a named pipe, so a command may read what a later command writes. */
  makesPipe = false;
  /** Absolute paths of directories that this line creates. */
  readonly madeDirectories = new Set<string>();
  /** True once a redirection of this line has opened a network connection. */
  opensNetwork = false;
  /** Texts being evaluated (evaluated-text.ts). Stops at a text that refers to itself. */
  readonly evaluating = new Set<string>();
  /** Source text of each `x=(…)` in a `declare x=(…)` whose values are already assigned. */
  readonly compounds = new Set<string>();
  /** True where `*`, `?` and `[` are plain characters, because bash expects a name or a number: `y[i]`, `i*2`. */
  plainPatterns = false;
  readonly recursion: RecursiveCall[] = [];
  /** Commands already recorded in `recursion`: a command that is walked twice counts once. */
  readonly recordedCalls = new WeakSet<Command>();
  /** Walks a `>(…)` or coprocess again when something is written to it, by its `/dev/fd` path. */
  readonly sinks = new Map<string, () => unknown>();
  #depth = 0;
  #steps = 0;
  #characters = 0;

  constructor({ findings, paths, directory, home }: LineContext, walker: Walker) {
    this.findings = findings;
    this.paths = paths;
    this.walker = walker;
    this.home = home;
    this.state = new ShellState([directory], home);
  }

  /** The work done so far, counted instead of timed: tests of the limits do not depend on the machine. */
  get work(): { readonly steps: number; readonly characters: number } {
    return { steps: this.#steps, characters: this.#characters };
  }

  /** Counts one unit of work. Returns false after MAX_STEPS: the line is refused, and the caller must stop. */
  step(): boolean {
    if (++this.#steps <= MAX_STEPS) return true;
    this.tooComplex('it takes too many steps to follow');
    return false;
  }

  /** Calls `follow` one level deeper. Refuses the line and returns `otherwise` beyond MAX_DEPTH. */
  deeper<T>(otherwise: T, follow: () => T): T {
    if (this.#depth >= MAX_DEPTH) {
      this.tooComplex('it is nested too deeply');
      return otherwise;
    }
    this.#depth++;
    try {
      return follow();
    } finally {
      this.#depth--;
    }
  }

  /** Counts text that is about to be split or parsed. Returns false and refuses the line beyond MAX_CHARACTERS. */
  countText(texts: readonly string[]): boolean {
    for (const text of texts) this.#characters += text.length;
    if (this.#characters <= MAX_CHARACTERS) return true;
    this.tooComplex('its variables and nested shells hold too much text');
    return false;
  }

  /** Calls `follow` with a copy of the state, as a subshell has it, and drops the copy. */
  inSubshell<T>(follow: () => T): T {
    const { state, stdin } = this;
    this.state = state.fork();
    try {
      return follow();
    } finally {
      this.state = state;
      this.stdin = stdin;
    }
  }

  withPlainPatterns<T>(isPlain: boolean, follow: () => T): T {
    const before = this.plainPatterns;
    this.plainPatterns = isPlain;
    try {
      return follow();
    } finally {
      this.plainPatterns = before;
    }
  }

  /** Calls `follow` for code that may or may not run, so it adds possible values instead of replacing them. */
  perhaps<T>(follow: () => T): T {
    const { state } = this;
    const before = state.directories;
    state.uncertain++;
    try {
      return follow();
    } finally {
      state.uncertain--;
      state.addDirectories(before);
    }
  }

  /** Walks text that a shell may execute, in a subshell. Ignores text that does not parse. */
  perhapsCode(text: string): readonly string[] {
    return this.perhaps(() => this.walker.code(this, text, { mustParse: false, subshell: true }));
  }

  /** Refuses the line. */
  tooComplex(problem: string): void {
    const why = `cannot be checked: ${problem}`;
    this.findings.refuseAs(refuse('SHELL_TOO_COMPLEX', { problem }, { rule: 'SH-0', why }));
  }
}

/** A call between functions or scripts, recorded to find fork bombs. */
export interface RecursiveCall {
  readonly from: string;
  readonly to: string;
  readonly concurrent: boolean;
  readonly repeated: boolean;
}

/** One program call after expansion. `name` has no directory. */
export interface ProgramCall {
  readonly run: ShellRun;
  readonly name: string;
  readonly args: readonly string[];
}
