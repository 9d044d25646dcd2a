import type { Command, CommandNode, CompoundList, Script } from 'unbash';
import type { PathValidator } from '../path-validator.ts';
import { refuse } from '../verdict.ts';
import type { Findings } from './findings.ts';
import type { ShellState } from './shell-state.ts';

/** Nesting of shells, substitutions and function calls that we follow. */
const MAX_DEPTH = 40;
/** Commands, words and readings that we look at in one line. An ordinary line needs a few dozen. */
const MAX_STEPS = 40_000;
/** Characters that variables and nested shells may hand us to split and parse, all together. */
const MAX_CHARACTERS = 2_000_000;

/** How the parts of the walk reach each other: words contain scripts, and commands contain code. */
export interface Walker {
  /** Walks a parsed script in the current state. Returns what it may print. */
  script(run: ShellRun, script: Script): readonly string[];
  /** Walks one command, such as the body of a function that is called. */
  node(run: ShellRun, node: CommandNode | CompoundList): readonly string[];
  /** Parses and walks text that a shell would execute. Text that does not parse is refused if `mustParse`. */
  code(run: ShellRun, text: string, options: CodeOptions): readonly string[];
  /** Walks what bash executes when it expands a text: `$(…)` and the like. See evaluated-text.ts. */
  expansion(run: ShellRun, text: string): void;
  /** Decides about one program call whose words are known. Returns what it may print. */
  call(run: ShellRun, words: readonly string[]): readonly string[];
}

export interface CodeOptions {
  readonly mustParse: boolean;
  /** A shell of its own: what it sets is gone afterwards. */
  readonly subshell: boolean;
  /** `$1`… of that shell; those of the current one when left out. */
  readonly positional?: readonly string[];
  /** `$0` of that shell. */
  readonly scriptName?: string;
}

/** One walk over one line: its findings, the shell's state, and how much work is left. */
export class ShellRun {
  readonly findings: Findings;
  readonly paths: PathValidator;
  readonly walker: Walker;
  /** The person's home, or a stand-in that compares like it. */
  readonly home: string;
  state: ShellState;
  /** What the current command reads on its standard input; undefined when nothing was given. */
  stdin: readonly string[] | undefined;
  /** Functions being called, to stop at recursion; the last is the current one. */
  readonly calling: string[] = [];
  /** Whether the current command runs beside others: in a pipeline, in the background. */
  concurrent = 0;
  /** Loops around the current command that run it several times: without end, or for each of several fixed words. */
  repeatingLoops = 0;
  /** The line makes a named pipe, so that what is written later may be read before. */
  makesPipe = false;
  /** Directories that this line makes, by absolute path. */
  readonly madeDirectories = new Set<string>();
  /** Some redirection of this line opened a network connection. */
  opensNetwork = false;
  /** Texts being read once more (evaluated-text.ts), to stop where one leads to itself. */
  readonly evaluating = new Set<string>();
  /** Words of `declare x=(…)` that were already assigned, as they are written. */
  readonly compounds = new Set<string>();
  /** Patterns are plain characters where bash wants a name or a number: `y[i]`, `i*2`. */
  plainPatterns = false;
  readonly recursion: RecursiveCall[] = [];
  /** Calls that are in `recursion`, so that walking one twice counts once. */
  readonly noted = new WeakSet<Command>();
  /** What `>(…)` and coprocesses do with what they are given, by the path that stands for them. */
  readonly sinks = new Map<string, () => unknown>();
  #depth = 0;
  #steps = 0;
  #characters = 0;

  constructor(options: {
    findings: Findings;
    paths: PathValidator;
    walker: Walker;
    home: string;
    state: ShellState;
  }) {
    this.findings = options.findings;
    this.paths = options.paths;
    this.walker = options.walker;
    this.home = options.home;
    this.state = options.state;
  }

  /** The work done so far, in units that do not depend on the machine. */
  get work(): { readonly steps: number; readonly characters: number } {
    return { steps: this.#steps, characters: this.#characters };
  }

  /** Counts one piece of work. False when the line is too much: it is refused then, and the walk should end. */
  step(): boolean {
    if (++this.#steps <= MAX_STEPS) return true;
    this.tooComplex('it takes too many steps to follow');
    return false;
  }

  /** Follows something nested, unless it is nested too deeply. */
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

  mayParse(text: string): boolean {
    return this.mayHandle([text]);
  }

  /** Counts text that is split or parsed again. */
  mayHandle(texts: readonly string[]): boolean {
    for (const text of texts) this.#characters += text.length;
    if (this.#characters <= MAX_CHARACTERS) return true;
    this.tooComplex('its variables and nested shells hold too much text');
    return false;
  }

  /** Runs `follow` as a subshell would: what it sets is forgotten. */
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

  /** Runs `follow` where it may or may not happen: what it sets is added, not replaced. */
  perhaps<T>(follow: () => T): T {
    const { state } = this;
    const before = state.directories;
    state.weak++;
    try {
      return follow();
    } finally {
      state.weak--;
      state.allowDirectories(before);
    }
  }

  tooComplex(problem: string): void {
    const why = `cannot be checked: ${problem}`;
    this.findings.refuseAs(refuse('SHELL_TOO_COMPLEX', { problem }, { rule: 'SH-0', why }));
  }
}

/** A call of a function that may be part of a fork bomb. */
export interface RecursiveCall {
  readonly from: string;
  readonly to: string;
  readonly concurrent: boolean;
  readonly repeated: boolean;
}

/** One program call whose words are known as far as they can be. `name` has no directory. */
export interface ProgramCall {
  readonly run: ShellRun;
  readonly name: string;
  readonly args: readonly string[];
}
