import { hasHole, knownWord, madeFrom, NUMBER, TOO_MANY, UNKNOWN } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { wordList } from '../text.ts';
import { expandAgain, readAsName, readAsNumber, splitName } from './evaluated-text.ts';
import { judgeCode, judgeScript } from './nested-shells.ts';
import { checkFile } from './operands.ts';
import { echoOutput, printfOutput, programPath } from './program-output.ts';
import { descriptorFile } from './redirections.ts';
import type { ProgramCall, ShellRun } from './shell-run.ts';
import { bounded } from './shell-state.ts';
import { assignText, noteValues, setScalar } from './variables.ts';
import { warnings } from './warnings.ts';
import { normalize } from './word-paths.ts';
import { splitAt } from './word-values.ts';

/** Builtins of bash that may print something. Each returns its possible outputs. */
const PRINTING: Readonly<Record<string, (call: ProgramCall) => readonly string[]>> = {
  jobs: ({ run, args }) => (args[0] === '-x' ? run.walker.call(run, args.slice(1)) : ['']),
  compgen: completion,
  complete: completion,
  type: ({ args }) => [
    args.some((word) => /^-\w*[pP]/.test(word))
      ? args
          .filter((word) => !word.startsWith('-'))
          .map((word) => `${programPath(word)}\n`)
          .join('')
      : UNKNOWN,
  ],
  echo: ({ args }) => [echoOutput(args)],
  printf: printfCall,
  pwd: ({ run }) => run.state.directories.map((directory) => `${directory}\n`),
  eval: ({ run, args }) =>
    judgeCode(run, (args[0] === '--' ? args.slice(1) : args).join(' '), { subshell: false }),
  source: sourceFile,
  '.': sourceFile,
};

/** Builtins of bash that print nothing. Each changes the shell's state. */
const SILENT: Readonly<Record<string, (call: ProgramCall) => void>> = {
  ...Object.fromEntries(
    wordList(': true false exit return break continue umask ulimit shopt times bg fg history logout').map(
      (name) => [name, () => {}],
    ),
  ),
  wait: ({ run, args }) => {
    const name = readOptions(args, '-p').values.get('p');
    if (name !== undefined) assignText(run, name, [NUMBER]);
  },
  hash: hashCall,
  enable: ({ run, args }) => {
    const file = readOptions(args, '-f').values.get('f');
    if (file === undefined) return;
    run.findings.warn(warnings.replacedProgram, file);
    checkFile(run, file, 'run');
  },
  bind: ({ run, args }) => {
    for (const word of args) {
      const code = /^[^:]*:(.*)$/s.exec(word)?.[1];
      if (code !== undefined) run.perhapsCode(code.replace(/^\s*"(.*)"$/s, '$1'));
    }
  },
  cd: changeDirectory,
  pushd: changeDirectory,
  chdir: changeDirectory,
  popd: ({ run }) => run.state.enter(run.state.previousDirectories),
  trap: ({ run, args }) => {
    const code = args[0] === '--' ? args[1] : args[0];
    if (code === undefined || code === '-' || code === '' || /^-[lp]/.test(code)) return;
    run.findings.warn(warnings.trap, code);
    run.state.deferredCode.add(code);
    run.perhaps(() => judgeCode(run, code, { subshell: true }));
  },
  alias: ({ run, args }) => {
    for (const word of args) {
      const equals = word.indexOf('=');
      if (equals <= 0) continue;
      const name = word.slice(0, equals);
      const code = word.slice(equals + 1);
      run.findings.warn(warnings.replacedProgram, name);
      run.state.aliases.set(name, code.trim().split(/\s+/));
      run.state.deferredCode.add(code);
      run.perhapsCode(code);
    }
  },
  set: ({ run, args }) => {
    // `set -a` exports every variable that is set from now on
    if (args.some((word) => /^-[a-z]*a/i.test(word) || word === 'allexport'))
      run.findings.addEnvironment('*');
    const at = args.findIndex((word) => word === '--' || word === '-' || !/^[-+]/.test(word));
    if (at >= 0)
      run.state.setPositional(args[at] === '--' || args[at] === '-' ? args.slice(at + 1) : args.slice(at));
  },
  shift: ({ run, args }) => {
    const count = Number(args[0] ?? 1);
    const by = Number.isInteger(count) && count >= 0 ? count : 0;
    if (run.state.positional) run.state.setPositional(run.state.positional.slice(by));
    run.state.otherPositionals = run.state.otherPositionals
      .flatMap((words) => [words, words.slice(by)])
      .slice(0, 16);
  },
  export: declareCall,
  declare: declareCall,
  typeset: declareCall,
  local: declareCall,
  readonly: declareCall,
  integer: ({ run, name, args }) => declareCall({ run, name, args: ['-i', ...args] }), // ksh and zsh
  float: ({ run, name, args }) => declareCall({ run, name, args: ['-i', ...args] }),
  unset: ({ run, args }) => {
    for (const word of args) {
      readAsName(run, word);
      run.state.forgetAssociative([word]);
      if (run.state.uncertain === 0) run.state.variables.delete(word);
    }
  },
  read: readCall,
  mapfile: readCall,
  readarray: readCall,
  let: ({ run, args }) => {
    for (const word of args) {
      readAsNumber(run, word);
      for (const [, name = ''] of word.matchAll(/([A-Za-z_]\w*)\s*(?:[^\s\w=!<>]|<<|>>)?=(?!=)/g))
        setScalar(run, name, [NUMBER]);
    }
  },
  getopts: ({ run, args }) => {
    const [, name, ...words] = args;
    if (name) assignText(run, name, [UNKNOWN]);
    const given = words.length > 0 ? words : (run.state.positional ?? []);
    setScalar(run, 'OPTARG', given.length > 0 ? bounded(given) : [UNKNOWN]);
  },
  test: testCall,
  '[': testCall,
};

/** Judges a builtin of bash and returns what it may print; undefined if bash has no builtin of that name. */
export function judgeBuiltin(call: ProgramCall): readonly string[] | undefined {
  if (Object.hasOwn(PRINTING, call.name)) return PRINTING[call.name]?.(call);
  if (!Object.hasOwn(SILENT, call.name)) return undefined;
  SILENT[call.name]?.(call);
  return [''];
}

function printfCall({ run, args }: ProgramCall): readonly string[] {
  const { values, operands } = readOptions(args, '-v', { permutes: false });
  const name = values.get('v');
  if (name === undefined) return [printfOutput(args)];
  assignText(run, name, [printfOutput(operands)]);
  return [''];
}

/** Judges `cd` and `pushd`. Unless the target surely exists, they may fail and leave the shell in the old directory. */
function changeDirectory({ run, name, args }: ProgramCall): void {
  const { state } = run;
  const target = args.find((word) => !/^-[LPe@n]+$/.test(word) && word !== '--');
  const before = state.directories;
  if (target === '-' || (target === undefined && name === 'pushd')) state.enter(state.previousDirectories);
  else if (target === undefined) state.enter(state.variables.get('HOME')?.values ?? [run.home]);
  else if (hasHole(target)) {
    const unknown = target.startsWith(TOO_MANY) ? `/${TOO_MANY}` : `/${UNKNOWN}`;
    state.enter([target.startsWith('/') ? target : unknown]);
  } else {
    const starts = [...before, ...searchedBy(run, target)];
    const reached = new Set(starts.map((directory) => below(directory, target)));
    state.enter(target.startsWith('/') ? [normalize(target)] : bounded([...reached]));
    const isSure = /^[./]*$/.test(target) || target === run.home || directoryExists(run, target);
    if (!isSure) state.directoriesIfCdFailed = before;
  }
}

/** The directories of CDPATH, in which `cd` looks for a name too. */
function searchedBy(run: ShellRun, target: string): readonly string[] {
  if (/^\.{1,2}(\/|$)/.test(target)) return [];
  const values = run.state.variables.get('CDPATH')?.values ?? [];
  return values.flatMap((value) => value.split(':')).filter((directory) => directory.startsWith('/'));
}

/** The path of a directory below another. A path that is too long for any system is not followed. */
function below(directory: string, target: string): string {
  return directory.length + target.length > 1_024 ? `/${TOO_MANY}` : normalize(`${directory}/${target}`);
}

function directoryExists(run: ShellRun, target: string): boolean {
  if (run.state.directories.length !== 1) return false;
  const check = run.paths.check(run.state.directories[0] ?? target);
  return check.ok && check.entry?.type === 'directory';
}

function sourceFile({ run, args }: ProgramCall): readonly string[] {
  const [file, ...positional] = args[0] === '--' ? args.slice(1) : args;
  if (file === undefined) return [''];
  return judgeScript(run, file, positional, { subshell: false });
}

/** `hash -p path name` makes the name run the program at the path. */
function hashCall({ run, args }: ProgramCall): void {
  const { values, operands } = readOptions(args, '-p');
  const path = values.get('p');
  if (path === undefined) return;
  run.findings.warn(warnings.replacedProgram, path);
  for (const word of operands) run.state.aliases.set(word, [path]);
}

/** Judges `compgen` and `complete`: `-C` executes its value, `-W` expands it. */
function completion({ run, args }: ProgramCall): readonly string[] {
  const { every } = readOptions(args, '-o -A -G -W -F -C -X -P -S -V');
  for (const code of every('C')) run.perhaps(() => judgeCode(run, code, { subshell: true }));
  for (const words of every('W')) expandAgain(run, words);
  return [UNKNOWN];
}

function declareCall({ run, name: builtin, args }: ProgramCall): void {
  const { flags, operands } = readOptions(args);
  const attributes = ['i', 'n', 'a', 'A', 'l', 'u', 'c'].filter((letter) => flags.has(letter)).join('');
  for (const word of operands) {
    const { target, append, value } = splitAssignment(word);
    const { name } = splitName(target);
    run.state.declare(name, attributes);
    if (builtin === 'export' || flags.has('x')) run.findings.addEnvironment(knownWord(name) ?? '*');
    if (run.compounds.has(word)) {
      const { values = [], elements = [] } = run.state.variables.get(name) ?? {};
      // the walk assigned the value before the variable had these attributes
      noteValues(run, name, [...values, ...elements]);
      run.state.set(name, { ...run.state.variables.get(name), values, elements });
    } else if (value === undefined) readAsName(run, target);
    else if (value.startsWith('(') && (run.state.has(name, 'a') || run.state.has(name, 'A'))) {
      expandAgain(run, value);
      run.walker.code(run, `${target}=${value}`, { mustParse: false, subshell: false });
    } else {
      const old = append ? (run.state.variables.get(name)?.values[0] ?? '') : '';
      assignText(run, target, [old + value]);
      // reading a reference gives the value of the variable that it refers to
      if (flags.has('n'))
        run.state.set(name, { values: [...(run.state.variables.get(value)?.values ?? []), UNKNOWN] });
    }
  }
}

/** Splits `name=value`, `name+=value`, `name[index]=value`, or a name alone. */
function splitAssignment(word: string): { target: string; append: boolean; value?: string } {
  const { name, index, rest } = splitName(word);
  const found = /^([^=]*?)(\+?)=([\s\S]*)$/.exec(index === undefined ? name : rest);
  if (!found) return { target: word, append: false };
  const [, own = '', append, value = ''] = found;
  return { target: index === undefined ? own : `${name}[${index}]`, append: append === '+', value };
}

/** Judges `read` and `mapfile`. Each line of input is a possible value. `read` gives the last name the rest of the line. */
function readCall({ run, name, args }: ProgramCall): void {
  const { operands, values } = readOptions(
    args,
    name === 'read' ? '-a -d -i -n -N -p -t -u' : '-d -n -O -s -u -C -c',
  );
  if (name !== 'read' && values.has('C'))
    run.perhaps(() => judgeCode(run, values.get('C') ?? '', { subshell: false }));
  const descriptor = values.get('u');
  const input =
    descriptor === undefined
      ? (run.stdin ?? [UNKNOWN])
      : [run.state.readFile(descriptorFile(descriptor)) ?? UNKNOWN];
  const delimiter = values.has('d') ? values.get('d')?.slice(0, 1) || '\u0000' : '\n';
  const lines = input
    .flatMap((text) =>
      text.includes(delimiter) ? text.split(delimiter).filter((line) => line !== '') : [text],
    )
    .slice(0, 200);
  const separators = run.state.variables.get('IFS')?.values.join('') ?? ' \t\n';
  const array = name === 'read' ? values.get('a') : (operands[0] ?? 'MAPFILE');
  if (array !== undefined) {
    const elements = name === 'read' ? lines.flatMap((line) => splitLine(line, separators)) : lines;
    readAsName(run, array);
    noteValues(run, array, elements);
    run.state.set(array, { values: [elements[0] ?? UNKNOWN], elements });
    return;
  }
  const names = operands.length > 0 ? operands : ['REPLY'];
  for (const [index, variable] of names.entries()) {
    const found = lines.map((line) => {
      const words = splitLine(line, separators);
      return hasHole(line) && words.length < names.length
        ? madeFrom(line)
        : index === names.length - 1
          ? words.slice(index).join(' ')
          : (words[index] ?? '');
    });
    assignText(run, variable, bounded([...new Set(found.length > 0 ? found : [''])]));
  }
}

/** Splits a line at IFS. */
const splitLine = (line: string, separators: string): string[] =>
  splitAt(line.trim(), separators).filter((word) => word !== '');

/** Judges `test`. Only `-v` evaluates its word, as a name. Unlike `[[`, `test` evaluates no arithmetic. */
function testCall({ run, args }: ProgramCall): void {
  for (const [index, word] of args.entries()) if (args[index - 1] === '-v') readAsName(run, word);
}
