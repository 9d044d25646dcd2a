import { hasHole, knownWord, madeFrom, NUMBER, TOO_MANY, UNKNOWN } from '../program/marks.ts';
import { readOptions } from '../program/options.ts';
import { wordList } from '../text.ts';
import { readAgain, readAsName, readAsNumber, splitName } from './evaluated-text.ts';
import { judgeCode, runFile } from './nested-shells.ts';
import { checkFile } from './operands.ts';
import { echoed, printed, programPath } from './program-output.ts';
import { descriptorFile } from './redirections.ts';
import type { ProgramCall, ShellRun } from './shell-run.ts';
import { bounded } from './shell-state.ts';
import { assignText, noteValues, setScalar } from './variables.ts';
import { warnings } from './warnings.ts';
import { normalize } from './word-paths.ts';
import { splitAt } from './word-values.ts';

type Builtin = (call: ProgramCall) => readonly string[];

/** Commands that bash itself carries out. Each returns what it prints and changes what the shell remembers. */
const BUILTINS: Readonly<Record<string, Builtin>> = {
  ...Object.fromEntries(
    wordList(': true false exit return break continue umask ulimit shopt times bg fg history logout').map(
      (name): [string, Builtin] => [name, () => ['']],
    ),
  ),
  wait: ({ run, args }) => {
    const name = readOptions(args, '-p').values.get('p');
    if (name !== undefined) assignText(run, name, [NUMBER]);
    return [''];
  },
  jobs: ({ run, args }) => (args[0] === '-x' ? run.walker.call(run, args.slice(1)) : ['']),
  hash: hashCall,
  enable: ({ run, args }) => {
    const { values } = readOptions(args, '-f');
    const file = values.get('f');
    if (file === undefined) return [''];
    run.findings.warn(warnings.replacedProgram, file);
    checkFile(run, file, 'run');
    return [''];
  },
  compgen: completion,
  complete: completion,
  bind: ({ run, args }) => {
    for (const word of args) {
      const code = /^[^:]*:(.*)$/s.exec(word)?.[1];
      if (code !== undefined)
        run.perhaps(() =>
          run.walker.code(run, code.replace(/^\s*"(.*)"$/s, '$1'), { mustParse: false, subshell: true }),
        );
    }
    return [''];
  },
  type: ({ args }) => [
    args.some((word) => /^-\w*[pP]/.test(word))
      ? args
          .filter((word) => !word.startsWith('-'))
          .map((word) => `${programPath(word)}\n`)
          .join('')
      : UNKNOWN,
  ],
  echo: ({ args }) => [echoed(args)],
  printf: printfCall,
  pwd: ({ run }) => run.state.directories.map((directory) => `${directory}\n`),
  cd: changeDirectory,
  pushd: changeDirectory,
  chdir: changeDirectory,
  popd: ({ run }) => {
    run.state.enter(run.state.previousDirectories);
    return [''];
  },
  eval: ({ run, args }) =>
    judgeCode(run, (args[0] === '--' ? args.slice(1) : args).join(' '), { subshell: false }),
  source: sourceFile,
  '.': sourceFile,
  trap: ({ run, args }) => {
    const code = args[0] === '--' ? args[1] : args[0];
    if (code === undefined || code === '-' || code === '' || /^-[lp]/.test(code)) return [''];
    run.findings.warn(warnings.trap, code);
    run.state.later.add(code);
    run.perhaps(() => judgeCode(run, code, { subshell: true }));
    return [''];
  },
  alias: ({ run, args }) => {
    for (const word of args) {
      const equals = word.indexOf('=');
      if (equals <= 0) continue;
      run.findings.warn(warnings.replacedProgram, word.slice(0, equals));
      run.state.aliases.set(
        word.slice(0, equals),
        word
          .slice(equals + 1)
          .trim()
          .split(/\s+/),
      );
      run.state.later.add(word.slice(equals + 1));
      run.perhaps(() => run.walker.code(run, word.slice(equals + 1), { mustParse: false, subshell: true }));
    }
    return [''];
  },
  set: ({ run, args }) => {
    // from now on every variable is exported
    if (args.some((word) => /^-[a-z]*a/i.test(word) || word === 'allexport')) run.findings.environment('*');
    const at = args.findIndex((word) => word === '--' || word === '-' || !/^[-+]/.test(word));
    if (at >= 0)
      run.state.setPositional(args[at] === '--' || args[at] === '-' ? args.slice(at + 1) : args.slice(at));
    return [''];
  },
  shift: ({ run, args }) => {
    const count = Number(args[0] ?? 1);
    const by = Number.isInteger(count) && count >= 0 ? count : 0;
    if (run.state.positional) run.state.setPositional(run.state.positional.slice(by));
    run.state.otherPositionals = run.state.otherPositionals
      .flatMap((words) => [words, words.slice(by)])
      .slice(0, 16);
    return [''];
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
      if (run.state.weak === 0) run.state.variables.delete(word);
    }
    return [''];
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
    return [''];
  },
  getopts: ({ run, args }) => {
    const [, name, ...words] = args;
    if (name) assignText(run, name, [UNKNOWN]);
    const given = words.length > 0 ? words : (run.state.positional ?? []);
    setScalar(run, 'OPTARG', given.length > 0 ? bounded(given) : [UNKNOWN]);
    return [''];
  },
  test: testCall,
  '[': testCall,
};

export const builtinFor = (name: string): Builtin | undefined =>
  Object.hasOwn(BUILTINS, name) ? BUILTINS[name] : undefined;

function printfCall({ run, args }: ProgramCall): readonly string[] {
  const { values, operands } = readOptions(args, '-v', { permutes: false });
  const name = values.get('v');
  if (name === undefined) return [printed(args)];
  assignText(run, name, [printed(operands)]);
  return [''];
}

/** `cd` to a place that surely exists succeeds; to any other it may fail, and the shell stays where it was. */
function changeDirectory({ run, name, args }: ProgramCall): readonly string[] {
  const { state } = run;
  const target = args.find((word) => !/^-[LPe@n]+$/.test(word) && word !== '--');
  const before = state.directories;
  if (target === undefined) {
    state.enter(
      name === 'pushd' ? state.previousDirectories : (state.variables.get('HOME')?.values ?? [run.home]),
    );
    return [''];
  }
  if (target === '-') {
    state.enter(state.previousDirectories);
    return [''];
  }
  if (hasHole(target)) {
    state.enter([
      target.startsWith('/') ? target : target.startsWith(TOO_MANY) ? `/${TOO_MANY}` : `/${UNKNOWN}`,
    ]);
    return [''];
  }
  state.enter(
    target.startsWith('/')
      ? [normalize(target)]
      : bounded([
          ...new Set([...before, ...searchedBy(run, target)].map((directory) => below(directory, target))),
        ]),
  );
  const isSure = /^[./]*$/.test(target) || target === run.home || directoryExists(run, target);
  if (!isSure) state.mayHaveStayed = before;
  return [''];
}

/** Where CDPATH makes `cd` look for a name as well. */
function searchedBy(run: ShellRun, target: string): readonly string[] {
  if (/^\.{1,2}(\/|$)/.test(target)) return [];
  const values = run.state.variables.get('CDPATH')?.values ?? [];
  return values.flatMap((value) => value.split(':')).filter((directory) => directory.startsWith('/'));
}

/** A path that no system would accept is not followed. */
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
  return runFile(run, file, positional, { subshell: false });
}

/** `hash -p path name`: the name stands for that program from then on. */
function hashCall({ run, args }: ProgramCall): readonly string[] {
  const { values, operands } = readOptions(args, '-p');
  const path = values.get('p');
  if (path === undefined) return [''];
  run.findings.warn(warnings.replacedProgram, path);
  for (const word of operands) run.state.aliases.set(word, [path]);
  return [''];
}

/** `-C` executes its value, `-W` expands it. */
function completion({ run, args }: ProgramCall): readonly string[] {
  const { every } = readOptions(args, '-o -A -G -W -F -C -X -P -S -V');
  for (const code of every('C')) run.perhaps(() => judgeCode(run, code, { subshell: true }));
  for (const words of every('W')) readAgain(run, words);
  return [UNKNOWN];
}

function declareCall({ run, name: builtin, args }: ProgramCall): readonly string[] {
  const { flags, operands } = readOptions(args);
  const attributes = ['i', 'n', 'a', 'A', 'l', 'u', 'c'].filter((letter) => flags.has(letter)).join('');
  for (const word of operands) {
    const { target, append, value } = splitAssignment(word);
    const { name } = splitName(target);
    run.state.declare(name, attributes);
    if (builtin === 'export' || flags.has('x')) run.findings.environment(knownWord(name) ?? '*');
    if (run.compounds.has(word)) {
      const { values = [], elements = [] } = run.state.variables.get(name) ?? {};
      // the walk set its value before it had these attributes
      noteValues(run, name, [...values, ...elements]);
      run.state.set(name, { ...run.state.variables.get(name), values, elements });
    } else if (value === undefined) readAsName(run, target);
    else if (value.startsWith('(') && (run.state.has(name, 'a') || run.state.has(name, 'A'))) {
      readAgain(run, value);
      run.walker.code(run, `${target}=${value}`, { mustParse: false, subshell: false });
    } else {
      const old = append ? (run.state.variables.get(name)?.values[0] ?? '') : '';
      assignText(run, target, [old + value]);
      // reading a reference gives the value of what it names
      if (flags.has('n'))
        run.state.set(name, { values: [...(run.state.variables.get(value)?.values ?? []), UNKNOWN] });
    }
  }
  return [''];
}

/** `name=value`, `name+=value`, `name[index]=value`, or a name alone. */
function splitAssignment(word: string): { target: string; append: boolean; value?: string } {
  const { name, index, rest } = splitName(word);
  const found = /^([^=]*?)(\+?)=([\s\S]*)$/.exec(index === undefined ? name : rest);
  if (!found) return { target: word, append: false };
  const [, own = '', append, value = ''] = found;
  return { target: index === undefined ? own : `${name}[${index}]`, append: append === '+', value };
}

/** `read`: every line it may see gives one value; names take a word each and the last the rest. */
function readCall({ run, name, args }: ProgramCall): readonly string[] {
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
    return [''];
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
  return [''];
}

/** A line cut at IFS; the last name gets the rest, with plain spaces between. */
const splitLine = (line: string, separators: string): string[] =>
  splitAt(line.trim(), separators).filter((word) => word !== '');

/** `test` compares its words and does not open them; only `-v` takes a name. Unlike `[[`, it computes nothing. */
function testCall({ run, args }: ProgramCall): readonly string[] {
  for (const [index, word] of args.entries()) if (args[index - 1] === '-v') readAsName(run, word);
  return [''];
}
