import { pythonModuleFiles } from '../../implied-scripts.ts';
import type { CommandRule } from '../command-rule.ts';
import { unknownOptionOfPowerful } from '../general-rules.ts';
import type { Judgement } from '../judgement.ts';
import type { Program } from '../program.ts';
import { judgeScriptArguments, judgeUnknownWords } from '../script-arguments.ts';

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

const inlineCode: CommandRule = {
  id: 'CMD-PYTHON-2',
  risk: 'HIGH',
  why: 'runs code that is written in the command itself or comes from standard input',
  needsPerson: true,
  matches: [
    "python3 -c 'print(1)'",
    'python3 -Ec 1',
    'python3 -c1',
    'python -W ignore -c 1',
    'python3',
    'python3 -',
    'python3 -u',
    'python3 -i scripts/gen.py',
    'python3 -bBc 1',
  ],
  doesNotMatch: [
    'python3 scripts/gen.py -c 1',
    'python3 -V',
    'python3 -m unittest -c',
    'python3 -X dev scripts/gen.py',
  ],
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

const testModules = new Set(
  'unittest pytest doctest nose2 mypy ruff flake8 pyflakes pylint black isort pycodestyle pydocstyle compileall py_compile tabnanny'.split(
    ' ',
  ),
);
/** Further modules that come with Python or are known to everybody, and whose operands are files. */
const fileModules = new Set(
  `ast base64 cProfile coverage dis ensurepip filecmp gzip http.server idlelib json json.tool modulefinder pdb pickle
  pickletools pip profile pstats pydoc quopri site sqlite3 symtable tarfile tokenize trace uu venv zipapp zipfile`.split(
    /\s+/,
  ),
);
const flags = 'bBdEIOPqsSuvx';

/**
 * Options end at the script, at -c or at -m; short ones can be bundled, and -c, -m, -W and -X take the rest of
 * their word or the next one.
 */
export const python: Program = {
  names: ['python', 'python3'],
  rules: [runsScript, inlineCode, runsModule, installs, checksCode],
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
      if (/^-[bBdEIOPqsSuvx]*[Vh?]/.test(arg)) isInformation = true;
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
    if (letter === 'W') return last;
    if (letter === 'X') {
      if (value?.startsWith('pycache_prefix='))
        judgement.path(value.slice('pycache_prefix='.length), 'write');
      else if (value?.startsWith('presite=')) judgement.raise(runsModule, value);
      return last;
    }
    judgement.raise(unknownOptionOfPowerful, arg);
  }
  return at;
}

function judgeScript(words: readonly string[], isInformation: boolean, judgement: Judgement): void {
  const [script, ...rest] = words;
  if (script === undefined) {
    if (!isInformation) judgement.raise(inlineCode, 'standard input');
    return;
  }
  judgement.path(script, 'run');
  judgeScriptArguments(rest, judgement);
}

function judgeModule(name: string, rest: readonly string[], judgement: Judgement): void {
  judgement.raise(testModules.has(name) ? checksCode : runsModule, name);
  for (const file of pythonModuleFiles(name)) judgement.noteRun(file);
  // What a test runner is given, it executes: `tests/test_a.py::test_b`, or `tests.test_a` for unittest.
  if (testModules.has(name))
    for (const word of rest)
      for (const file of [word.split('::')[0] as string, ...pythonModuleFiles(word)])
        if (!file.startsWith('-')) judgement.noteRun(file);
  if (
    name === 'ensurepip' ||
    (name === 'pip' && /^(install|download|wheel|search|index)$/.test(rest[0] ?? ''))
  ) {
    judgement.raise(installs, name);
  }
  // A module that is known takes files: what is outside is refused, as for any program whose operands are known.
  if (testModules.has(name) || fileModules.has(name)) judgeUnknownWords(rest, judgement);
  else judgeScriptArguments(rest, judgement);
}
