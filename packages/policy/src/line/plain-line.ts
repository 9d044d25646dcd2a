import {
  type AndOr,
  type Command,
  type CommandNode,
  type CompoundList,
  type ParsedScript,
  type PipelineNode,
  parse,
  type Redirection,
  type Statement,
  type TestExpression,
  type Word,
} from 'unbash';
import { isHarmlessVariable } from '../command/harmless-commands.ts';
import type { PathValidator } from '../path-validator.ts';
import { hasKnownValue } from '../shell/known-values.ts';
import { type PlainVariables, type PlainWord, readPlainWord } from './plain-word.ts';

/** One program call of a plain line. All its words are known, except for the file names that a pattern matches. */
export interface PlainCommand {
  readonly words: readonly PlainWord[];
  /** Workspace-relative directories that it may start in: more than one after a `cd` that may have failed. */
  readonly directories: readonly string[];
  /** Variables set in front of the program's name: `A=b program`. */
  readonly variables: readonly string[];
  /** Variables that are in no table, so they may change what the program does. */
  readonly otherVariables: readonly string[];
  /** Where its standard input comes from. */
  readonly input: 'nothing' | 'pipe' | 'text' | 'file';
}

/** A file that a redirection reads or writes. */
export interface PlainRedirection {
  readonly path: PlainWord;
  readonly use: 'read' | 'write';
  readonly directories: readonly string[];
}

export interface PlainLine {
  readonly commands: readonly PlainCommand[];
  readonly redirections: readonly PlainRedirection[];
  /** Whether the line writes text that it contains itself to a file, as `echo text > file` does. */
  readonly writesOwnText: boolean;
}

/** An ordinary line has a few commands. A longer line is not plain, which bounds the time of a decision. */
const MAX_COMMANDS = 100;
const MAX_CHARACTERS = 20_000;
const MAX_DIRECTORIES = 6;

/**
 * Reads a line whose every command is known before it runs (RK-2), or returns undefined. This is an allow-list: programs
 * with words that are literal, quoted or patterns, joined by `|`, `&&`, `||`, `;`, newlines, `( )`, `{ }`, `!`, `if` and
 * `for` over such words; `cd` to a directory of the workspace; redirections to files and between 1 and 2; here-documents
 * without expansions. Anything else that bash can do makes a line not plain, so it stays HIGH.
 */
export function readPlainLine(
  line: string,
  { paths, directory }: { readonly paths: PathValidator; readonly directory: string },
): PlainLine | undefined {
  if (line.length > MAX_CHARACTERS) return undefined;
  const script: ParsedScript = parse(line);
  if (script.errors) return undefined;
  const reader = new PlainReader(paths);
  try {
    reader.statements(script.commands, { directories: [directory], variables: new Map() });
  } catch (error) {
    if (error instanceof NotPlain) return undefined;
    throw error;
  }
  return reader.line;
}

class NotPlain extends Error {}

/** The state of the current shell; copied for a subshell or a part of a pipeline. */
interface Scope {
  directories: readonly string[];
  variables: PlainVariables;
}

type Input = PlainCommand['input'];

/** Builtins that change the shell itself, or read something that is only known at run time. */
const CHANGES_SHELL = new Set(
  `alias unalias bind builtin caller compgen complete compopt coproc declare dirs disown enable eval exec export fc fg bg
  function getopts hash history jobs kill let local logout mapfile popd pushd read readarray readonly return shift shopt
  source . suspend times trap typeset ulimit umask unset wait break continue`.split(/\s+/),
);

/** `source .venv/bin/activate` is the usual way to use the packages of a project. */
const ACTIVATE_SCRIPT = /^(\.\/)?(\.venv|venv)\/bin\/activate$/;

class PlainReader {
  readonly #paths: PathValidator;
  readonly #commands: PlainCommand[] = [];
  readonly #redirections: PlainRedirection[] = [];
  #writesOwnText = false;
  /** Redirections that write, and commands that print text of the line, in the current pipeline. */
  #writes = 0;
  #texts = 0;
  readonly #assigned = new Set<string>();

  constructor(paths: PathValidator) {
    this.#paths = paths;
  }

  get line(): PlainLine {
    return {
      commands: this.#commands,
      redirections: this.#redirections,
      writesOwnText: this.#writesOwnText,
    };
  }

  statements(statements: readonly Statement[], scope: Scope, input: Input = 'nothing'): void {
    for (const { command, background } of statements) {
      if (background) throw new NotPlain();
      if (command.type === 'AndOr') this.#andOr(command, scope, input);
      else {
        const before = scope.directories;
        this.#pipeline(command, scope, input);
        if (!this.#isSurely(command, before)) scope.directories = this.#union(scope.directories, before);
      }
    }
  }

  /** After `&&` a `cd` has worked. After `||`, and after the whole list, it may not have. */
  #andOr({ commands, operators }: AndOr, scope: Scope, input: Input): void {
    const before = scope.directories;
    let settled = before;
    for (const [index, command] of commands.entries()) {
      if (index > 0 && operators[index - 1] === '||')
        scope.directories = this.#union(scope.directories, settled);
      if (index > 0 && isAssignment(command)) throw new NotPlain();
      this.#pipeline(command, scope, input);
      if (index === 0 && this.#isSurely(command, before)) settled = scope.directories;
    }
    scope.directories = this.#union(scope.directories, settled);
  }

  /** Whether a command is a `cd` that cannot fail. */
  #isSurely(command: PipelineNode, from: readonly string[]): boolean {
    if (command.type !== 'Command' || command.name?.text !== 'cd') return false;
    const target = command.args.at(-1);
    // Without a disk we cannot see whether `cd` fails. The runner has a disk and decides again.
    const root = this.#paths.check('.');
    if (!root.ok || !root.entry) return true;
    return (
      target?.type === 'Word' &&
      from.every((directory) => {
        const checked = this.#paths.check(target.value, directory);
        return checked.ok && checked.entry?.type === 'directory';
      })
    );
  }

  #union(a: readonly string[], b: readonly string[]): readonly string[] {
    const all = [...new Set([...a, ...b])];
    if (all.length > MAX_DIRECTORIES) throw new NotPlain();
    return all;
  }

  #pipeline(node: PipelineNode, scope: Scope, input: Input): void {
    const outerWrites = this.#writes;
    const outerTexts = this.#texts;
    if (node.type !== 'Pipeline') this.#node(node, scope, input);
    else if (node.commands.length === 1) this.#node(node.commands[0] as CommandNode, scope, input);
    else
      for (const [index, command] of node.commands.entries())
        this.#node(command, { ...scope }, index === 0 ? input : 'pipe');
    if (this.#writes > outerWrites && this.#texts > outerTexts) this.#writesOwnText = true;
  }

  #node(node: CommandNode, scope: Scope, input: Input): void {
    switch (node.type) {
      case 'Command':
        this.#command(node, scope, input);
        return;
      case 'BraceGroup':
        this.statements(node.body.commands, scope, input);
        return;
      case 'Subshell':
        this.statements(node.body.commands, { ...scope }, input);
        return;
      case 'Redirected': {
        const given = this.#redirects(node.redirects, scope);
        this.#node(node.command, scope, given ?? input);
        return;
      }
      case 'If':
        this.#branches(
          [node.clause, node.then, ...node.elif.flatMap(({ clause, then }) => [clause, then]), node.else],
          scope,
          input,
        );
        return;
      case 'For':
        this.#loop(node.name.text, node.wordlist, node.body, scope, input);
        return;
      case 'TestCommand':
        for (const words of this.#test(node.expression, scope)) this.#add(words, scope, 'nothing', []);
        return;
      default:
        throw new NotPlain();
    }
  }

  #branches(bodies: readonly (CompoundList | undefined)[], scope: Scope, input: Input): void {
    for (const body of bodies) if (body) this.#body(body, scope, input);
  }

  /** A part that may run or not: it must leave the directory and the variables as they were. */
  #body(body: CompoundList, scope: Scope, input: Input): void {
    const inner = { ...scope };
    this.statements(body.commands, inner, input);
    const isSame = inner.directories.join('\0') === scope.directories.join('\0');
    if (!isSame || [...inner.variables.keys()].some((name) => !scope.variables.has(name)))
      throw new NotPlain();
  }

  #loop(
    name: string,
    list: readonly Word[] | undefined,
    body: CompoundList,
    scope: Scope,
    input: Input,
  ): void {
    if (!list || !isOwnVariable(name) || this.#assigned.has(name)) throw new NotPlain();
    this.#assigned.add(name);
    for (const value of list.flatMap((word) => this.#words(word, scope)))
      this.#body(body, { ...scope, variables: new Map([...scope.variables, [name, value]]) }, input);
    // After the loop the variable has its last value, which a later command must not use.
  }

  #command(node: Command, scope: Scope, input: Input): void {
    const variables: string[] = [];
    const otherVariables: string[] = [];
    const assignments = node.prefix.filter((part) => part.type === 'Assignment');
    const given = this.#redirects(node.redirects, scope);
    if (!node.name) {
      if (assignments.length === 0 && node.redirects.length === 0) throw new NotPlain();
      for (const { name, value, append, index } of assignments) {
        if (value.type !== 'Word' || append || index || !isOwnVariable(name) || this.#assigned.has(name))
          throw new NotPlain();
        const [word, ...more] = this.#words(value, scope);
        if (more.length > 0 || (word?.isPattern ?? false)) throw new NotPlain();
        this.#assigned.add(name);
        scope.variables = new Map([...scope.variables, [name, word ?? EMPTY]]);
      }
      return;
    }
    for (const { name, value, append, index } of assignments) {
      if (value.type !== 'Word' || append || index) throw new NotPlain();
      const [word = EMPTY, ...more] = this.#words(value, scope);
      variables.push(name);
      if (isKnownVariable(name)) continue;
      if (more.length > 0 || word.isPattern || !this.#mayBeGiven(name, word.text, scope))
        throw new NotPlain();
      otherVariables.push(name);
    }
    const words = [
      ...this.#words(node.name, scope),
      ...node.args.flatMap((argument) => {
        // To the parser `make CC=gcc` has an assignment; to every program but `declare` it is a word.
        if (argument.type === 'Word') return this.#words(argument, scope);
        const { value, append, index, name } = argument;
        if (value.type !== 'Word' || append || index) throw new NotPlain();
        return this.#words(value, scope).map((word) => ({ ...word, text: `${name}=${word.text}` }));
      }),
    ];
    const [program, ...args] = words;
    if (!program || program.isPattern || program.hasNumber || program.text === '') throw new NotPlain();
    if (program.text === 'cd') {
      if (variables.length > 0) throw new NotPlain();
      scope.directories = this.#enter(args, scope.directories);
      return;
    }
    const activates =
      /^(source|\.)$/.test(program.text) && args.length === 1 && ACTIVATE_SCRIPT.test(args[0]?.text ?? '');
    if (program.text === 'export' && exportsKnown(args)) return;
    if (CHANGES_SHELL.has(program.text) && !activates) throw new NotPlain();
    if (/^(echo|printf|sed|awk|gawk|mawk|jq|seq|curl)$/.test(program.text) || given === 'text') this.#texts++;
    const edits = program.text === 'sed' && args.some(({ text }) => /^(-[a-zA-Z]*i|--in-place)/.test(text));
    if (program.text === 'tee' || edits) this.#writes++;
    this.#add(words, scope, given ?? input, variables, otherVariables);
  }

  /** A switch such as `USE_CACHE=1`, or a value that is known to do no harm. */
  #mayBeGiven(name: string, value: string, { directories }: Scope): boolean {
    if (name === 'PYTHONPATH')
      return (
        hasKnownValue(name, value) &&
        value
          .split(':')
          .every((folder) => directories.every((directory) => this.#paths.check(folder, directory).ok))
      );
    return hasKnownValue(name, value) || isSwitch(name, value);
  }

  #add(
    words: readonly PlainWord[],
    { directories }: Scope,
    input: Input,
    variables: readonly string[],
    otherVariables: readonly string[] = [],
  ): void {
    if (this.#commands.length >= MAX_COMMANDS) throw new NotPlain();
    this.#commands.push({ words, directories, input, variables, otherVariables });
  }

  /** The directories after a `cd`. Through a link, `..` of bash and of the kernel differ, so that is not plain. */
  #enter(args: readonly PlainWord[], from: readonly string[]): readonly string[] {
    const [target, ...more] = args[0]?.text === '--' ? args.slice(1) : args;
    if (!target || more.length > 0 || target.isPattern || target.hasNumber) throw new NotPlain();
    if (target.text === '' || target.text.startsWith('-')) throw new NotPlain();
    return from.map((directory) => {
      const checked = this.#paths.check(target.text, directory);
      const isThere = checked.ok && (checked.entry === undefined || checked.entry.type === 'directory');
      if (!isThere || checked.named !== checked.relative) throw new NotPlain();
      return checked.relative;
    });
  }

  #words(word: Word, scope: Scope): readonly PlainWord[] {
    const words = readPlainWord(word, this.#withDirectory(scope));
    if (!words) throw new NotPlain();
    return words;
  }

  #withDirectory({ directories, variables }: Scope): PlainVariables {
    const [only, ...others] = directories;
    if (only === undefined || others.length > 0) return variables;
    const text = only === '' ? this.#paths.root : `${this.#paths.root}/${only}`;
    return new Map([...variables, ['PWD', { text, isPattern: false, hasNumber: false }]]);
  }

  /** Notes the files. Returns where standard input comes from, if it is redirected. */
  #redirects(redirects: readonly Redirection[], scope: Scope): Input | undefined {
    let input: Input | undefined;
    for (const redirect of redirects) {
      const { descriptor } = redirect;
      if (descriptor && descriptor.type !== 'FileDescriptor') throw new NotPlain();
      const number = descriptor?.value;
      if (redirect.type === 'HereDoc') {
        const { body, delimiter } = redirect;
        const isText = delimiter?.quoted || (!body.parts && !/[$`\\]/.test(body.text));
        if (!isText || (number ?? 0) !== 0) throw new NotPlain();
        input = 'text';
        continue;
      }
      if (!redirect.target) throw new NotPlain();
      const [path, ...more] = this.#words(redirect.target, scope);
      if (!path || more.length > 0) throw new NotPlain();
      if (redirect.type === 'HereString') {
        if ((number ?? 0) !== 0) throw new NotPlain();
        input = 'text';
      } else if (this.#redirect(redirect.operator, number, path, scope)) input = 'file';
    }
    return input;
  }

  /** Returns whether it redirects standard input. */
  #redirect(operator: string, number: number | undefined, path: PlainWord, { directories }: Scope): boolean {
    if (path.isPattern || path.hasNumber || path.text === '') throw new NotPlain();
    if (operator === '<') {
      if ((number ?? 0) !== 0) throw new NotPlain();
      if (path.text !== '/dev/null') this.#redirections.push({ path, use: 'read', directories });
      return true;
    }
    if ((number ?? 1) !== 1 && number !== 2) throw new NotPlain();
    if (operator === '>&' && /^[12-]$/.test(path.text)) return false;
    if (!/^(>|>>|>\||&>|&>>)$/.test(operator)) throw new NotPlain();
    if (/^\/dev\/(null|stdout|stderr)$/.test(path.text)) return false;
    this.#writes++;
    this.#redirections.push({ path, use: 'write', directories });
    return false;
  }

  /** `[[ -f x ]]` as calls of `test`. Numbers are compared only if they are numbers, because bash evaluates their text. */
  #test(expression: TestExpression, scope: Scope): readonly (readonly PlainWord[])[] {
    switch (expression.type) {
      case 'TestUnary':
        if (/^-[vR]$/.test(expression.operator)) throw new NotPlain();
        return [[plain('test'), plain(expression.operator), ...this.#oneWord(expression.operand, scope)]];
      case 'TestBinary': {
        const sides = [expression.left, expression.right].map(
          (word) => this.#oneWord(word, scope)[0] ?? EMPTY,
        );
        const isNumeric = /^-(eq|ne|lt|le|gt|ge)$/.test(expression.operator);
        if (isNumeric && !sides.every(({ text }) => /^\d+$/.test(text))) throw new NotPlain();
        return [[plain('test'), sides[0] ?? EMPTY, plain(expression.operator), sides[1] ?? EMPTY]];
      }
      case 'TestLogical':
        return expression.operands.flatMap((operand) => this.#test(operand, scope));
      case 'TestNot':
        return this.#test(expression.operand, scope);
      case 'TestGroup':
        return this.#test(expression.expression, scope);
    }
  }

  #oneWord(word: Word, scope: Scope): readonly PlainWord[] {
    const words = this.#words(word, scope);
    if (words.length !== 1) throw new NotPlain();
    return words;
  }
}

/** `export CI=1 NODE_ENV=test`: as harmless as in front of each later command. */
const exportsKnown = (args: readonly PlainWord[]): boolean =>
  args.length > 0 && args.every(({ text }) => isKnownVariable(/^(\w+)=/.exec(text)?.[1] ?? ''));

const plain = (text: string): PlainWord => ({ text, isPattern: false, hasNumber: false });
const EMPTY = plain('');

const isAssignment = (node: PipelineNode): boolean => node.type === 'Command' && node.name === undefined;

/** Whether a line may use this name for a variable of its own, because no program and no shell reads it. */
const isOwnVariable = (name: string): boolean =>
  (/^[a-z][a-z0-9_]*$/.test(name) && !name.endsWith('_proxy')) ||
  /^([A-Z]|FILE|DIR|NAME|TARGET|SRC|OUT)$/.test(name);

/** Variables of builds that change their output or mode, not what they run. */
const BUILD_VARIABLES =
  /^(RUST_(BACKTRACE|LOG)|CARGO_(TERM_COLOR|INCREMENTAL)|CGO_ENABLED|GOOS|GOARCH|GO111MODULE|MIX_ENV|RAILS_ENV|RACK_ENV|FLASK_ENV|DJANGO_SETTINGS_MODULE|BABEL_ENV|NEXT_TELEMETRY_DISABLED|COVERAGE|HEADLESS)$/;
/** Variables of a project by their usual names. Those of package managers, shells and compilers may do more. */
const PROJECT_VARIABLES =
  /^((VITE|NEXT_PUBLIC|REACT_APP|TEST|E2E|APP)_\w+|\w+_(URL|PORT|HOST|LEVEL|DEBUG|ENV|SEED|TIMEOUT))$/;
const TOOL_VARIABLES =
  /^(NPM|PNPM|YARN|COREPACK|PIP|UV|POETRY|CARGO|RUST\w*|GIT|NODE|PYTHON\w*|PYTEST|GO\w*|BUNDLE|GEM|RUBY\w*|PERL\w*|MAVEN|GRADLE|LD|DYLD|BASH|SSH|JAVA|JDK|DOTNET|NUGET|COMPOSER|HTTPS?|ALL|NO|DOCKER|MAKE\w*|CMAKE|CC|CXX|GCC|LLVM|VITE_NODE|VITEST|JEST|PLAYWRIGHT|ELECTRON|XDG)_/;

/** Whether a variable is a switch or a number. Only the project knows its meaning. */
const isSwitch = (name: string, value: string): boolean =>
  /^[A-Z][A-Z0-9]*(_[A-Za-z0-9]+)*$/.test(name) &&
  /^(\d{1,6}|true|false|yes|no|on|off)$/.test(value) &&
  !TOOL_VARIABLES.test(name);

/** Whether a command may be given this variable. The shell's own warnings name those that execute or load code. */
const isKnownVariable = (name: string): boolean =>
  isHarmlessVariable(name) ||
  BUILD_VARIABLES.test(name) ||
  (PROJECT_VARIABLES.test(name) && !TOOL_VARIABLES.test(name));
