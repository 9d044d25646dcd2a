import type { Notes } from './notes.ts';
import { type OptionTable, optionTable, parseOptions } from './options.ts';
import type { CommandRule } from './rules.ts';

/** Modules that test and check the code of a workspace, and which of their options do more than that. */

export const inlineCode: CommandRule = {
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

export const loadsMore: CommandRule = {
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
export function noteWarningFilter(filter: string, notes: Notes): void {
  if (filter.split(':')[2]?.includes('.')) notes.raise(loadsMore, filter);
}

const plain = optionTable({});

/** By module: the short options, so that bundles are told apart, and every option that does more than test or check. */
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
        .map((name) => [name, plain]),
    ),
  }),
);

export const isTestModule = (name: string): boolean => testModules.has(name);

/** What the options of a test module do beyond testing. Options that the table lacks only test or check. */
export function noteTestOptions(name: string, args: readonly string[], notes: Notes): void {
  for (const word of parseOptions(args, testModules.get(name) ?? plain)) {
    if (word.kind === 'option') notes.option(word);
    // pytest and mypy read further arguments from such a file.
    else if (word.kind === 'operand' && word.text.startsWith('@')) notes.raise(loadsMore, word.text);
  }
  noteWrittenPlaces(args, notes);
}

/** `--exclude=.git` names a place only to leave it out. */
const leavesOut = /^--(extend-)?(exclude|ignore|deselect|norecursedirs|skip)/;

/**
 * Reports, caches and formatted files go wherever an option or an operand says, and plug-ins bring options of their own:
 * `--html=.git/hooks/x`. Whatever names a place that executes later may be written to (VA-3).
 */
function noteWrittenPlaces(args: readonly string[], notes: Notes): void {
  for (const [index, word] of args.entries()) {
    if (leavesOut.test(word) || leavesOut.test(args[index - 1] ?? '')) continue;
    for (const text of [word, ...word.split(/[=:]/).slice(1)]) {
      if (text === '' || text.startsWith('-')) continue;
      notes.mayBePath(text, 'later');
    }
  }
}

/** Modules that execute what they are given as text, or ask standard input for it. */
export const inlineModules: ReadonlySet<string> = new Set(
  'timeit code pdb asyncio idlelib IPython ipython ptpython bpython'.split(' '),
);
