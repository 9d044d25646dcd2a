import { pythonModuleFiles } from './implied-scripts.ts';
import type { Manual, Notes } from './notes.ts';
import { type OptionTable, optionTable, parseOptions } from './options.ts';
import type { CommandRule } from './rules.ts';

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
    'python3 -- -',
    'python3 -u -- - x',
    'python3 -u',
    'python3 -i scripts/gen.py',
    'python3 -bBc 1',
    'python3 -m timeit 1',
    'python3 -m pdb -c continue scripts/gen.py',
    "python3 -m pylint '--init-hook=import x' src",
    'python3 -m pylint --init-h 1 src',
  ],
  doesNotMatch: [
    'python3 scripts/gen.py -c 1',
    'python3 -V',
    'python3 -m unittest -c',
    'python3 -X dev scripts/gen.py',
    'python3 -m pylint src',
  ],
};

const loadsMore: CommandRule = {
  id: 'CMD-PYTHON-6',
  risk: 'HIGH',
  why: 'loads further code or settings, installs packages, removes a folder or starts a program of its choice',
  needsPerson: true,
  matches: [
    'python3 -m pytest -p evil tests',
    'python3 -m pytest -qpevil tests',
    'python3 -m pytest -c docs/x.ini',
    'python3 -m pytest --basetemp=src',
    'python3 -m pytest --override-ini=addopts=-pevil',
    'python3 -m pytest @docs/notes.txt',
    'python3 -m pytest -d --tx popen//python=./x',
    'python3 -m pylint --load-plugins=evil src',
    'python3 -m mypy --python-executable=./x src',
    'python3 -m mypy --install-types --non-interactive src',
    'python3 -m flake8 --append-config=x src',
    'python3 -W error::evil.Warning scripts/gen.py',
    'python3 -Wall:0:antigravity.x:0:0 scripts/gen.py',
    'python3 -X presite=evil scripts/gen.py',
    'python3 -X pycache_prefix=docs scripts/gen.py',
  ],
  doesNotMatch: [
    'python3 -m pytest -q tests -k login --maxfail=1',
    'python3 -m pytest -p no:cacheprovider',
    'python3 -m pytest -W error::DeprecationWarning',
    'python3 -m mypy --strict src',
    'python3 -m unittest discover -s tests -p test_x.py',
    'python3 -W error::DeprecationWarning scripts/gen.py',
    'python3 -X importtime scripts/gen.py',
  ],
};

/** `-W action:message:category:module:line`: a category with a dot is imported, which runs that module. */
function noteWarningFilter(filter: string, notes: Notes): void {
  if (filter.split(':')[2]?.includes('.')) notes.raise(loadsMore, filter);
}

const noOptions = optionTable({});

/**
 * Modules that test or check code. Each table lists the short options, to split bundles, and every option that does more
 * than test or check.
 */
const testModules: ReadonlyMap<string, OptionTable> = new Map(
  Object.entries({
    pytest: optionTable({
      flags: '-x -q -v -s -l -h -V -f',
      values: '-k -m -r -n',
      rows: [
        {
          names: '-p',
          value: (plugin, notes) => {
            if (!plugin.startsWith('no:')) notes.raise(loadsMore, plugin);
          },
        },
        { names: '-W --pythonwarnings', value: noteWarningFilter },
        { names: '-c --config-file', value: 'read', rule: loadsMore },
        // pytest-xdist starts the interpreter that --tx names, here or on another machine.
        { names: '-o --override-ini --pdbcls --pastebin --tx --rsyncdir', value: 'text', rule: loadsMore },
        { names: '--basetemp', value: 'write', rule: loadsMore },
        { names: '--junitxml --junit-xml --log-file --report-log --resultlog', value: 'write' },
      ],
    }),
    unittest: optionTable({ flags: '-v -q -f -c -b -h', values: '-k -s -p -t' }),
    pylint: optionTable({
      rows: [
        { names: '--init-hook', value: 'text', rule: inlineCode },
        { names: '--load-plugins', value: 'text', rule: loadsMore },
        { names: '--rcfile', value: 'read', rule: loadsMore },
        { names: '--output', value: 'write' },
      ],
    }),
    mypy: optionTable({
      rows: [
        { names: '--python-executable --install-types', value: 'text', rule: loadsMore },
        { names: '--config-file', value: 'read', rule: loadsMore },
      ],
    }),
    flake8: optionTable({
      rows: [
        { names: '--config --append-config', value: 'read', rule: loadsMore },
        { names: '--output-file', value: 'write' },
      ],
    }),
    nose2: optionTable({
      rows: [
        { names: '--plugin', value: 'text', rule: loadsMore },
        { names: '-c --config', value: 'read', rule: loadsMore },
      ],
    }),
    ...Object.fromEntries(
      'doctest ruff pyflakes black isort pycodestyle pydocstyle compileall py_compile tabnanny'
        .split(' ')
        .map((name) => [name, noOptions]),
    ),
  }),
);

/** Notes what the arguments of a test module do beyond testing. Options that the table lacks only test or check. */
function noteTestOptions(table: OptionTable, args: readonly string[], notes: Notes): void {
  for (const word of parseOptions(args, table)) {
    if (word.kind === 'option') notes.option(word);
    // pytest and mypy read further arguments from such a file.
    else if (word.kind === 'operand' && word.text.startsWith('@')) notes.raise(loadsMore, word.text);
  }
  noteWrittenPlaces(args, notes);
}

/** Options whose value is a place to leave out: `--exclude=.git`. */
const excludesValue = /^--(extend-)?(exclude|ignore|deselect|norecursedirs|skip)/;

/**
 * Any option or operand may say where reports, caches and formatted files are written, and plug-ins add further options:
 * `--html=.git/hooks/x`. So every word that names a place that executes later counts as written (VA-3).
 */
function noteWrittenPlaces(args: readonly string[], notes: Notes): void {
  for (const [index, word] of args.entries()) {
    if (excludesValue.test(word) || excludesValue.test(args[index - 1] ?? '')) continue;
    for (const text of [word, ...word.split(/[=:]/).slice(1)]) {
      if (text === '' || text.startsWith('-')) continue;
      notes.mayBePath(text, 'later');
    }
  }
}

/** Modules that execute code from their arguments or from standard input. */
export const inlineModules: ReadonlySet<string> = new Set(
  'timeit code pdb asyncio idlelib IPython ipython ptpython bpython'.split(' '),
);

const runsScript: CommandRule = {
  id: 'CMD-PYTHON-1',
  risk: 'MEDIUM',
  why: 'runs a script of the workspace with Python',
  matches: [
    'python3 scripts/gen.py',
    'python scripts/gen.py -c x.ini',
    'python3 -I scripts/gen.py',
    'python3 .',
    'python3 --help',
  ],
  doesNotMatch: ['node src/app.js', 'python3 --version'],
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

/** Further well-known modules whose operands are files. */
const fileModules = new Set(
  `ast base64 cProfile coverage dis ensurepip filecmp gzip http.server idlelib json json.tool modulefinder pdb pickle
  pickletools pip profile pstats pydoc quopri site sqlite3 symtable tarfile tokenize trace uu venv zipapp zipfile`.split(
    /\s+/,
  ),
);

interface PythonWords {
  readonly options: readonly { readonly name: string; readonly spelled: string; readonly value: string }[];
  readonly mode: 'code' | 'module' | 'script';
  /** The code, module or script, then its arguments. Empty if the call names none of them. */
  readonly words: readonly string[];
}

/**
 * Options end at the script, at -c or at -m; short ones can be bundled, and -c, -m, -W and -X take the rest of
 * their word or the next one.
 */
export function readPython(args: readonly string[]): PythonWords {
  const options: PythonWords['options'][number][] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === '--') return { options, mode: 'script', words: args.slice(at + 1) };
    if (!arg.startsWith('-') || arg === '-') return { options, mode: 'script', words: args.slice(at) };
    if (arg.startsWith('--')) {
      options.push({ name: arg, spelled: arg, value: '' });
      if (arg === '--check-hash-based-pycs') at++;
      continue;
    }
    for (let i = 1; i < arg.length; i++) {
      const name = `-${arg[i]}`;
      if (!/[cmWX]/.test(name)) {
        options.push({ name, spelled: arg, value: '' });
        continue;
      }
      const following = i + 1 < arg.length ? [arg.slice(i + 1), ...args.slice(at + 1)] : args.slice(at + 1);
      if (name === '-m') return { options, mode: 'module', words: following };
      options.push({ name, spelled: arg, value: following[0] ?? '' });
      if (name === '-c') return { options, mode: 'code', words: following };
      if (i + 1 === arg.length) at++;
      break;
    }
  }
  return { options, mode: 'script', words: [] };
}

export const python: Manual = {
  names: ['python', 'python3'],
  rules: [runsScript, inlineCode, runsModule, installs, checksCode, loadsMore],
  read(args, notes) {
    notes.raise(runsScript);
    const { options, mode, words } = readPython(args);
    for (const { name, spelled, value } of options) {
      if (name === '-c' || name === '-i') notes.raise(inlineCode, spelled);
      else if (name === '-W') noteWarningFilter(value, notes);
      else if (name === '-X') noteImplementationOption(value, notes);
      else if (!harmlessOption.test(name) && !informationOption.test(name)) notes.unknownOption(spelled);
    }
    const [first, ...rest] = words;
    if (mode === 'module') noteModule(first ?? '', rest, notes);
    else if (mode === 'code') notes.scriptArguments(rest);
    else if (first !== undefined) {
      if (first === '-') notes.raise(inlineCode, 'standard input');
      else notes.path(first, 'run');
      notes.scriptArguments(rest);
    } else if (!options.some(({ name }) => informationOption.test(name)))
      notes.raise(inlineCode, 'standard input');
  },
};

const harmlessOption = /^(-[bBdEIOPqRsSuvx]|--check-hash-based-pycs)$/;
/** Options that make python only print something about itself. */
const informationOption = /^(-[Vh?]|--(version|help(-env|-xoptions|-all)?))$/;

/** `-X` options that only change what Python prints or how fast it is. */
const harmlessX =
  /^(dev|utf8|importtime|faulthandler|tracemalloc|showrefcount|no_debug_ranges|frozen_modules|int_max_str_digits|warn_default_encoding|cpu_count|gil|disable_remote_debug)?(=[\w-]*)?$/;

function noteImplementationOption(option: string, notes: Notes): void {
  if (harmlessX.test(option)) return;
  // Python also loads compiled code from this folder.
  if (option.startsWith('pycache_prefix=')) notes.path(option.slice('pycache_prefix='.length), 'write');
  if (/^(pycache_prefix|presite)=/.test(option)) notes.raise(loadsMore, option);
  else notes.unknownOption(option);
}

/** What the options of a well-known test module do beyond testing, whether it runs by `-m` or by its own name. */
export function noteTestModule(name: string, args: readonly string[], notes: Notes): void {
  const table = testModules.get(name);
  if (table) noteTestOptions(table, args, notes);
}

function noteModule(name: string, rest: readonly string[], notes: Notes): void {
  const testOptions = testModules.get(name);
  notes.raise(testOptions ? checksCode : runsModule, name);
  if (inlineModules.has(name)) notes.raise(inlineCode, name);
  for (const file of pythonModuleFiles(name)) notes.impliedRun(file);
  // A test runner executes its operands: `tests/test_a.py::test_b`, or `tests.test_a` for unittest.
  if (testOptions) {
    noteTestOptions(testOptions, rest, notes);
    for (const word of rest)
      for (const file of [word.split('::')[0] as string, ...pythonModuleFiles(word)])
        if (!file.startsWith('-')) notes.impliedRun(file);
  }
  if (
    name === 'ensurepip' ||
    (name === 'pip' && /^(install|download|wheel|search|index)$/.test(rest[0] ?? ''))
  ) {
    notes.raise(installs, name);
  }
  // The operands of a known module are files, so those outside are refused.
  if (testOptions || fileModules.has(name)) notes.unknownWords(rest);
  else notes.scriptArguments(rest);
}
