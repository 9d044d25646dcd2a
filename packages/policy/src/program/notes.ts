import { type Operand, type OptionTable, type OptionWord, parseOptions } from './options.ts';
import { type CommandRule, unknownOption, unknownOptionOfPowerful } from './rules.ts';

/** What is done with a file. `run`: its content is executed. `name`: it is looked at, but its content is not read. */
export type PathUse = 'read' | 'write' | 'run' | 'name';

/** Reads the words of one program that execute_command may start. */
export interface Manual {
  readonly names: readonly string[];
  /** The program cannot run code, so an unknown option is less risky. */
  readonly onlyReads?: true;
  /** The first operand is a script: in a shell line it must be known, not a pattern. */
  readonly scriptFirst?: true;
  /** The number of operands decides what each one is for. A file pattern, which may stand for several, is read in both ways. */
  readonly countsOperands?: true;
  /** A word with a dash is an operator even after `--`. */
  readonly ignoresDashes?: true;
  /** In shell lines, too, the files of a call come from this manual instead of a guess. */
  readonly inShell?: true;
  /** Every rule that `read` can raise, except the general ones in rules.ts. A test runs their examples. */
  readonly rules: readonly CommandRule[];
  read(args: readonly string[], notes: Notes): void;
}

/**
 * How strictly a word that may be a path is judged.
 *
 * - `outside`: refused if it can only be a path outside the workspace.
 * - `unsafe`: also refused if it names a sensitive file, or a link out of the workspace.
 * - `sensitive`: refused only if it names a sensitive file.
 * - `file`: listed if it names a file.
 * - `argument`: an argument of a script. A sensitive file is refused, and a path outside needs a person.
 * - `later`: needs a person if it names a place whose content executes later.
 */
export type Doubt = 'outside' | 'unsafe' | 'sensitive' | 'file' | 'argument' | 'later';

/**
 * One fact that the words of a call state. command/judgement.ts decides whether it is allowed.
 *
 * - `rule if there`: the rule is raised for `text` if that file exists, else for `otherwise` unless it is undefined.
 * - `rule unless there`: the rule is raised if a disk is known, and `text` is neither there nor in a folder above.
 * - `path`: `lookups` are names that the program tries if `text` is not a file.
 * - `installed program`: it is executed. An interpreter may be a link to that of the system, as `.venv/bin/python` is.
 * - `tree path`: a path in a commit of git; links on the disk say nothing about it.
 * - `pattern`: picks files by name. `made name`: a file called `name` is written.
 * - `implied run`: this file is executed if it exists, though no word names it.
 * - `changed file`: its content is written, as by write_file: the extension decides about the risk.
 * - `changed unless folder`: a changed file, if a disk is known and no folder of that name is there.
 * - `secret`: not refused, even if it is a sensitive file.
 * - `git read`: harmless in a shell line if git finds the workspace's own repository. `entersSubmodules`: and if that has
 *   none, because git would read them by their own configuration.
 * - `directory`: later relative paths start there. In a note with `fromStart`, they start where the program started.
 * - `unpack`: an archive decides which files are written below `text`. `onlyInShell`: only shell lines count this note; the
 *   manual knows that nothing is written there.
 */
export type Note = Readonly<
  (
    | { kind: 'rule'; rule: CommandRule; operand: string | undefined }
    | { kind: 'rule if there'; rule: CommandRule; text: string; otherwise: string | undefined }
    | { kind: 'rule unless there'; rule: CommandRule; text: string }
    | { kind: 'path'; text: string; use: PathUse; makes: boolean; lookups?: readonly string[] }
    | { kind: 'maybe path'; text: string; doubt: Doubt; word: string }
    | { kind: 'made name'; text: string; name: string }
    | { kind: 'directory'; text: string; use: PathUse }
    | { kind: 'unpack'; text: string; onlyInShell: boolean }
    | { kind: 'installed program'; text: string }
    | {
        kind: 'tree path' | 'pattern' | 'implied run' | 'changed file' | 'changed unless folder';
        text: string;
      }
    | { kind: 'git read'; entersSubmodules: boolean }
    | { kind: 'secret'; text: string; use: 'made' | 'handed' }
    | { kind: 'git hooks' | 'network' }
  ) & { fromStart?: true }
>;

/** Collects the notes on one call, in order, without looking at a disk. */
export class Notes {
  readonly list: Note[] = [];
  readonly #unknownOption: CommandRule;
  #isFromStart = false;

  constructor({ onlyReads = false } = {}) {
    this.#unknownOption = onlyReads ? unknownOption : unknownOptionOfPowerful;
  }

  #add(note: Note): void {
    this.list.push(this.#isFromStart ? { ...note, fromStart: true } : note);
  }

  /** `rule` applies because of `operand`, the part of the command that triggered it. */
  raise(rule: CommandRule, operand?: string): void {
    this.#add({ kind: 'rule', rule, operand });
  }

  raiseIfThere(rule: CommandRule, text: string, otherwise?: string): void {
    this.#add({ kind: 'rule if there', rule, text, otherwise });
  }

  /** `rule` applies if a disk is known, and no such file is in the current directory or in one above it. */
  raiseUnlessThere(rule: CommandRule, text: string): void {
    this.#add({ kind: 'rule unless there', rule, text });
  }

  installed(text: string): void {
    this.#add({ kind: 'installed program', text });
  }

  unknownOption(spelled: string): void {
    this.raise(this.#unknownOption, spelled);
  }

  needNetwork(): void {
    this.#add({ kind: 'network' });
  }

  /**
   * A path that the command uses. A file that is made or replaced must not be an executable binary by its name (TL-4);
   * `makes: false` is for what is only removed, and for directories.
   */
  path(
    text: string,
    use: PathUse,
    { makes = use === 'write', lookups }: { makes?: boolean; lookups?: readonly string[] } = {},
  ): void {
    this.#add({ kind: 'path', text, use, makes, ...(lookups && { lookups }) });
  }

  /** A file whose content changes as by write_file: judged by its extension and place. */
  changes(text: string): void {
    this.#add({ kind: 'changed file', text });
  }

  /** A target without an extension: a folder to copy into, or the file itself, such as `Makefile`. */
  changesUnlessFolder(text: string): void {
    this.#add({ kind: 'changed unless folder', text });
  }

  /** A file that may hold secrets: it is made from its template, or handed to a program that is started (VA-2). */
  secret(text: string, use: 'made' | 'handed'): void {
    this.#add({ kind: 'secret', text, use });
  }

  gitRead({ entersSubmodules = false } = {}): void {
    this.#add({ kind: 'git read', entersSubmodules });
  }

  /** Like `path`, for a program that reads `-` as standard input or output. For other programs `-` is a file. */
  pathOrStream(text: string, use: PathUse): void {
    if (text !== '-') this.path(text, use);
  }

  /** In `HEAD:docs/x` the path starts at the top of the repository: the workspace, or the directory of `git -C`. */
  treePath(text: string): void {
    this.#add({ kind: 'tree path', text });
    this.#add({ kind: 'tree path', text, fromStart: true });
  }

  mayBePath(text: string, doubt: Doubt, word = text): void {
    this.#add({ kind: 'maybe path', text, doubt, word });
  }

  glob(text: string): void {
    this.#add({ kind: 'pattern', text });
  }

  makesName(text: string, name = text): void {
    this.#add({ kind: 'made name', text, name });
  }

  impliedRun(text: string): void {
    this.#add({ kind: 'implied run', text });
  }

  /** Changes the directory, as `git -C` and `tar -C` do. */
  enter(text: string, use: PathUse): void {
    this.#add({ kind: 'directory', text, use });
  }

  unpackInto(text: string, { onlyInShell = false } = {}): void {
    this.#add({ kind: 'unpack', text, onlyInShell });
  }

  gitHooks(): void {
    this.#add({ kind: 'git hooks' });
  }

  fromStart(work: () => void): void {
    this.#isFromStart = true;
    work();
    this.#isFromStart = false;
  }

  /** Parses the arguments, notes what each option means, and returns the operands. */
  options(args: readonly string[], table: OptionTable): readonly Operand[] {
    const words = parseOptions(args, table);
    for (const word of words) if (word.kind !== 'operand') this.option(word);
    return words.filter((word) => word.kind === 'operand');
  }

  option(word: OptionWord): void {
    if (word.kind === 'unknown') this.unknownOption(word.spelled);
    // A negation has no effect of its own: `OptionState` knows what stays in force.
    if (word.kind === 'unknown' || word.kind === 'negation') {
      if (word.value !== undefined) this.mayBePath(word.value, 'unsafe');
      return;
    }
    const { rule, value: meaning, stream } = word.row;
    if (rule) this.raise(rule, word.spelled);
    if (word.value === undefined || meaning === 'text') return;
    // A value glued to an option that takes none: the program will complain, but a path in it is still a path.
    if (meaning === undefined) this.mayBePath(word.value, 'unsafe');
    else if (typeof meaning === 'function') meaning(word.value, this);
    else if (stream) this.pathOrStream(word.value, meaning);
    else this.path(word.value, meaning);
  }

  /** Notes the arguments of a script. Only the script knows what they mean. */
  scriptArguments(args: readonly string[]): void {
    for (const arg of args) for (const text of possiblePaths(arg)) this.mayBePath(text, 'argument', arg);
  }

  /**
   * Words of a program or subcommand whose options we do not know: everything in them that can be a path must be inside
   * and not sensitive, also if it is glued to an option (`-C/etc`, `--data=@.env`).
   */
  unknownWords(words: readonly string[]): void {
    for (const word of words) {
      for (const text of possiblePaths(word)) this.mayBePath(text, 'file');
      for (const text of gluedPaths(word)) this.mayBePath(text, 'unsafe');
      // Each part of a list or mount is checked on its own: `HEAD:.env`, `a,.env`, `.env:/app/.env`.
      for (const text of word.split(/[:,;=]/, MAX_PARTS)) this.mayBePath(text, 'sensitive');
    }
  }
}

/** The argument itself, unless it is an option, and the text after its first `=` (`--config=x`). */
function possiblePaths(arg: string): readonly string[] {
  const equals = arg.indexOf('=');
  const value = equals < 0 ? '' : arg.slice(equals + 1);
  const whole = arg.startsWith('-') ? '' : arg;
  return [whole, value].filter((text) => text !== '' && text.length <= 4096);
}

/** Letters that may be bundled before a glued value: `-xvfC/etc`. */
const MAX_BUNDLED = 6;
/** Parts of one word that are checked; more `=`, `:` or `,` than this are ignored. */
const MAX_PARTS = 30;

function gluedPaths(word: string): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (text: string): void => {
    const plain = text.replace(/^@/, '').replace(/^file:(\/\/)?/i, '');
    for (const path of [text, plain])
      if (path !== '' && (path === '-' || !path.startsWith('-'))) found.add(path);
  };
  add(word);
  let from = word.indexOf('=');
  for (let i = 0; from >= 0 && i < MAX_PARTS; i++) {
    add(word.slice(from + 1));
    from = word.indexOf('=', from + 1);
  }
  if (/^-[^-]/.test(word))
    for (let at = 2; at < Math.min(word.length, 2 + MAX_BUNDLED); at++) add(word.slice(at));
  return found;
}
