import type { CommandRule } from '../command/command-rule.ts';
import { unknownOptionOfPowerful } from '../command/general-rules.ts';
import type { Judgement } from '../command/judgement.ts';
import { pythonModuleFiles } from './implied-scripts.ts';
import type { Program } from './program.ts';
import {
  inlineCode,
  inlineModules,
  isTestModule,
  judgeTestOptions,
  judgeWarningFilter,
  loadsMore,
} from './python-modules.ts';
import { judgeScriptArguments, judgeUnknownWords } from './script-arguments.ts';

const runsScript: CommandRule = {
  id: 'CMD-PYTHON-1',
  risk: 'MEDIUM',
  why: 'runs a script of the workspace with Python',
  matches: [
    'python3 scripts/gen.py',
    'python scripts/gen.py -c x.ini',
    'python3 -I scripts/gen.py',
    'python3 .',
    'python3 --version',
  ],
  doesNotMatch: ['node src/app.js'],
};

const runsModule: CommandRule = {
  id: 'CMD-PYTHON-3',
  risk: 'HIGH',
  why: 'runs an installed module as a program',
  matches: [
    'python -m venv x',
    'python3 -m http.server',
    'python3 -mpip list',
    'python3 -Im pip list',
    'python3 -m timeit 1',
  ],
  doesNotMatch: ['python3 -m unittest', 'python3 -m pytest tests', 'python3 scripts/gen.py -m venv'],
};

const installs: CommandRule = {
  id: 'CMD-PYTHON-4',
  risk: 'HIGH',
  why: 'downloads and installs packages, whose set-up code runs at once',
  network: true,
  matches: ['python3 -m pip install x', 'python3 -m pip download x', 'python -m ensurepip'],
  doesNotMatch: ['python3 -m pip list', 'python3 -m pytest'],
};

const checksCode: CommandRule = {
  id: 'CMD-PYTHON-5',
  risk: 'MEDIUM',
  why: 'runs the tests or checks of the workspace with a well-known module',
  matches: [
    'python3 -m unittest',
    'python3 -m pytest -q tests',
    'python -m mypy src',
    'python3 -m py_compile src/server.py',
  ],
  doesNotMatch: ['python3 -m venv x', 'python3 scripts/gen.py'],
};

/** Further modules that come with Python or are known to everybody, and whose operands are files. */
const fileModules = new Set(
  `ast base64 cProfile coverage dis ensurepip filecmp gzip http.server idlelib json json.tool modulefinder pdb pickle
  pickletools pip profile pstats pydoc quopri site sqlite3 symtable tarfile tokenize trace uu venv zipapp zipfile`.split(
    /\s+/,
  ),
);
const flags = 'bBdEIOPqRsSuvx';

/**
 * Options end at the script, at -c or at -m; short ones can be bundled, and -c, -m, -W and -X take the rest of
 * their word or the next one.
 */
export const python: Program = {
  names: ['python', 'python3'],
  rules: [runsScript, inlineCode, runsModule, installs, checksCode, loadsMore],
  judge(args, judgement) {
    judgement.raise(runsScript);
    let isInformation = false;
    for (let at = 0; at < args.length; at++) {
      const arg = args[at] as string;
      if (arg === '-') {
        judgement.raise(inlineCode, 'standard input');
        judgeScriptArguments(args.slice(at + 1), judgement);
        return;
      }
      if (arg === '--') {
        judgeScript(args.slice(at + 1), isInformation, judgement);
        return;
      }
      if (!arg.startsWith('-')) {
        judgeScript(args.slice(at), isInformation, judgement);
        return;
      }
      if (arg.startsWith('--')) {
        if (/^--(version|help(-env|-xoptions|-all)?)$/.test(arg)) isInformation = true;
        else if (arg === '--check-hash-based-pycs') at++;
        else judgement.raise(unknownOptionOfPowerful, arg);
        continue;
      }
      const end = judgeBundle(arg, args, at, judgement);
      if (end === 'DONE') return;
      if (/^-[bBdEIOPqRsSuvx]*[Vh?]/.test(arg)) isInformation = true;
      at = end;
    }
    if (!isInformation) judgement.raise(inlineCode, 'standard input');
  },
};

/** The index of the last word used, or DONE when the bundle ended the options. */
function judgeBundle(
  arg: string,
  args: readonly string[],
  at: number,
  judgement: Judgement,
): number | 'DONE' {
  for (let i = 1; i < arg.length; i++) {
    const letter = arg[i] as string;
    if (flags.includes(letter) || 'Vh?'.includes(letter)) continue;
    if (letter === 'i') {
      judgement.raise(inlineCode, arg);
      continue;
    }
    const isGlued = i + 1 < arg.length;
    const value = isGlued ? arg.slice(i + 1) : args[at + 1];
    const last = isGlued ? at : at + 1;
    if (letter === 'c') {
      judgement.raise(inlineCode, arg);
      judgeScriptArguments(args.slice(last + 1), judgement);
      return 'DONE';
    }
    if (letter === 'm') {
      judgeModule(value ?? '', args.slice(last + 1), judgement);
      return 'DONE';
    }
    if (letter === 'W') {
      judgeWarningFilter(value ?? '', judgement);
      return last;
    }
    if (letter === 'X') {
      judgeImplementationOption(value ?? '', judgement);
      return last;
    }
    judgement.raise(unknownOptionOfPowerful, arg);
  }
  return at;
}

/** `-X` options that change nothing but what Python tells or how fast it is. */
const harmlessX =
  /^(dev|utf8|importtime|faulthandler|tracemalloc|showrefcount|no_debug_ranges|frozen_modules|int_max_str_digits|warn_default_encoding|cpu_count|gil|disable_remote_debug)?(=[\w-]*)?$/;

function judgeImplementationOption(option: string, judgement: Judgement): void {
  if (harmlessX.test(option)) return;
  // Compiled code is also read from there.
  if (option.startsWith('pycache_prefix=')) judgement.path(option.slice('pycache_prefix='.length), 'write');
  if (/^(pycache_prefix|presite)=/.test(option)) judgement.raise(loadsMore, option);
  else judgement.raise(unknownOptionOfPowerful, option);
}

function judgeScript(words: readonly string[], isInformation: boolean, judgement: Judgement): void {
  const [script, ...rest] = words;
  if (script === undefined) {
    if (!isInformation) judgement.raise(inlineCode, 'standard input');
    return;
  }
  // Also behind `--`.
  if (script === '-') judgement.raise(inlineCode, 'standard input');
  else judgement.path(script, 'run');
  judgeScriptArguments(rest, judgement);
}

function judgeModule(name: string, rest: readonly string[], judgement: Judgement): void {
  judgement.raise(isTestModule(name) ? checksCode : runsModule, name);
  if (inlineModules.has(name)) judgement.raise(inlineCode, name);
  for (const file of pythonModuleFiles(name)) judgement.noteRun(file);
  // What a test runner is given, it executes: `tests/test_a.py::test_b`, or `tests.test_a` for unittest.
  if (isTestModule(name)) {
    judgeTestOptions(name, rest, judgement);
    for (const word of rest)
      for (const file of [word.split('::')[0] as string, ...pythonModuleFiles(word)])
        if (!file.startsWith('-')) judgement.noteRun(file);
  }
  if (
    name === 'ensurepip' ||
    (name === 'pip' && /^(install|download|wheel|search|index)$/.test(rest[0] ?? ''))
  ) {
    judgement.raise(installs, name);
  }
  // A module that is known takes files: what is outside is refused, as for any program whose operands are known.
  if (isTestModule(name) || fileModules.has(name)) judgeUnknownWords(rest, judgement);
  else judgeScriptArguments(rest, judgement);
}
