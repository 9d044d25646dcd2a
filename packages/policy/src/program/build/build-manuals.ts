import { wordList } from '../../text.ts';
import { isInterpreter, isShell } from '../executed-code.ts';
import { envFilesOf } from '../file-operands.ts';
import { git } from '../git.ts';
import { withDashes } from '../msbuild.ts';
import { node } from '../node.ts';
import type { Manual, Notes } from '../notes.ts';
import { npm } from '../npm.ts';
import { noteTestModule, python, readPython } from '../python.ts';
import { type BuildTool, SENDING_TASK } from './build-tool.ts';
import { compiledTools } from './build-tools.ts';
import * as rules from './rules.ts';
import { scriptTools } from './script-tools.ts';

export const buildTools: readonly BuildTool[] = [...compiledTools, ...scriptTools];

/** Programs that change things outside the workspace, start any program they are given, or remove files. */
const HARMFUL_PROGRAMS = new Set(
  wordList(`rimraf del-cli shx cross-env cross-env-shell env-cmd dotenv concurrently npm-run-all run-s run-p wrangler vercel netlify
    firebase serverless sls cdk pulumi np release-it semantic-release gh-pages surge heroku twine ansible fab ipython jupyter
    shelljs zx exec nodemon pm2 forever husky standard-version changeset degit json-server localtunnel lt ngrok husky
    corepack npm npx pnpx bunx dotenvx doppler flyctl railway supabase ts-node-dev electron node-gyp-build`),
);

/** The program that a package is known by. */
const PACKAGES: Readonly<Record<string, string>> = {
  '@biomejs/biome': 'biome',
  '@angular/cli': 'ng',
  '@playwright/test': 'playwright',
  typescript: 'tsc',
};

const optionNames = (list = ''): readonly string[] => wordList(list);

/** Whether a word gives one of these options, in any spelling: `--x`, `--x=v`, `-x`, `-xv`. */
function givesOption(word: string, options: readonly string[]): boolean {
  return options.some((option) => {
    if (word === option || word.startsWith(`${option}=`)) return true;
    if (/^-\w$/.test(option)) return word.startsWith(option) && !word.startsWith('--');
    // go takes one dash or two.
    return /^-\w\w/.test(option) && (word === `-${option}` || word.startsWith(`-${option}=`));
  });
}

/** The words that are neither options nor values of the listed ones. */
function operandsOf(
  args: readonly string[],
  values: readonly string[],
): readonly { text: string; at: number }[] {
  const found: { text: string; at: number }[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string;
    if (word === '--') continue;
    if (word.startsWith('-')) {
      if (values.includes(word)) at++;
    } else if (!/^\+[\w.-]+$/.test(word)) found.push({ text: word, at });
  }
  return found;
}

const OTHER_SOURCE = /^(git\+|https?:|ssh:|git@|file:)/;
/** What deno runs without the project naming it. `deno add npm:x` writes it into deno.json. */
const DENO_MODULE = /^(npm|jsr|data|https?):/;
/** `example.com/x@latest`: go runs and installs it without the project naming it. `go get` writes it into go.mod. */
const GO_MODULE = /^[\w.-]+\.[\w-]+\/\S+@\w/;

function toolManual(tool: BuildTool): Manual {
  const values = optionNames(tool.values);
  const code = optionNames(tool.code);
  const set = (list?: string): ReadonlySet<string> => new Set(wordList(list ?? ''));
  const lists = {
    builds: set(tool.builds),
    network: set(tool.network),
    runs: set(tool.runs),
    refused: set(tool.refused),
  };
  return {
    names: wordList(tool.names),
    rules: [],
    read(spelled, notes) {
      notes.raise(rules.buildsProject);
      const words = withDashes(tool.names, spelled);
      const handed = envFilesOf(wordList(tool.names)[0] ?? '', words);
      for (const file of handed) notes.secret(file, 'handed');
      const args = words.filter((word) => !handed.some((file) => word === file || word.endsWith(`=${file}`)));
      if (tool.needsNetwork) notes.needNetwork();
      for (const [index, word] of args.entries())
        if (givesOption(word, code) && !/^(-p)?no:/.test(word === '-p' ? (args[index + 1] ?? '') : word))
          notes.raise(rules.bringsCode, word);
      for (const word of args) if (tool.codeWithin?.test(word)) notes.raise(rules.bringsCode, word);
      // A makefile or a script from standard input.
      if (tool.tasks && args.some((word) => /^(-|-f-|--file=-|--makefile=-)$/.test(word)))
        notes.raise(rules.bringsCode, '-');
      // `//src:all` is a label of bazel, no path.
      notes.unknownWords(args.filter((word) => !word.startsWith('//') || tool.always));
      if (tool.always) return;
      let operands = operandsOf(args, values);
      if (operands[0]?.text === 'workspace' && tool.names === 'yarn') operands = operands.slice(2);
      const [first, ...more] = operands;
      if (!first) {
        const asks = args.some((word) =>
          /^(-h|--help|--version|-V|--list|-l|-T|--tasks|--dry-run|-n)$/.test(word),
        );
        if (tool.alone === 'network') notes.raise(rules.installsForProject);
        else if (!tool.alone && !asks) notes.raise(rules.unknownSubcommand, 'standard input');
        return;
      }
      if (tool.forAccount?.(first.text, args.slice(first.at + 1)))
        notes.raise(rules.installsForAccount, first.text);
      for (const { text, at } of tool.every ? operands : [first])
        noteSubcommand(text, args.slice(at + 1), notes);
      if (tool.tasks || /^(task|run|run-script|go)$/.test(first.text))
        for (const { text } of tool.tasks
          ? operands.slice(0, tool.values?.includes('--makefile') ? 20 : 2)
          : more.slice(0, 1))
          noteTask(text, notes);
      if (tool.tasks && tool.runs !== undefined) {
        const named = /^run(-script)?$/.test(first.text) ? more[0] : first;
        if (named) noteStarted(named.text, args.slice(named.at + 1), notes);
      }
      if ((lists.network.has(first.text) || first.text === 'run') && !tool.every)
        for (const { text } of more)
          if (OTHER_SOURCE.test(text) || (first.text !== 'get' && GO_MODULE.test(text)))
            notes.raise(rules.otherSource, text);
      if (tool.names === 'deno' && !lists.network.has(first.text))
        for (const { text } of more) if (DENO_MODULE.test(text)) notes.raise(rules.otherSource, text);
    },
  };

  function noteSubcommand(name: string, rest: readonly string[], notes: Notes): void {
    const next = rest.find((word) => !word.startsWith('-'));
    if (lists.refused.has(name) || lists.refused.has(`${name}/${next}`))
      notes.raise(rules.unknownSubcommand, name);
    else if (lists.builds.has(name)) return;
    else if (lists.network.has(name)) notes.raise(rules.installsForProject, name);
    else if (lists.runs.has(name)) {
      if (tool.runsOnline) notes.raise(rules.installsForProject, name);
      const [program] = operandsOf(rest, values);
      noteProgram(program ? rest.slice(program.at) : [], notes);
    } else if (tool.starts) noteProgram([name, ...rest], notes);
    else if (!tool.tasks) notes.raise(rules.unknownSubcommand, name);
  }
}

/** A task of the project: `test`, `lint:fix`, `//src:all`, and for make `CC=gcc`. */
function noteTask(text: string, notes: Notes): void {
  const [, variable, value = ''] = /^([\w.-]+)[+:?]?=(.*)$/s.exec(text) ?? [];
  if (variable !== undefined) {
    const [program = '', ...words] = value.split(/\s+/);
    const name = program.slice(program.lastIndexOf('/') + 1);
    if (
      /^(SHELL|MAKEFLAGS|MAKE|GNUMAKEFLAGS|\.SHELLFLAGS)$/.test(variable) ||
      /[$`!|;&<>\n]/.test(value) ||
      // `PYTHON=python3` only names an interpreter; `CC='sh -c id'` is a command to run.
      (words.length > 0 && (isShell(name) || isInterpreter(name) || STARTS_PROGRAMS.test(name)))
    )
      notes.raise(rules.bringsCode, text);
  } else if (SENDING_TASK.test(text)) notes.raise(rules.sendsAway, text);
  else if (/\s|;/.test(text)) notes.raise(rules.bringsCode, text);
}

const RUNS_CODE = /^(node|tsx|ts-node|tsimp|vite-node|python[\d.]*)$/;
const STARTS_PROGRAMS = /^(env|xargs|timeout|nice|nohup|setsid|find)$/;

/** yarn and pnpm start a program where there is no task of that name: `yarn node a.js`, `pnpm bash x`. */
function noteStarted(name: string, args: readonly string[], notes: Notes): void {
  if (RUNS_CODE.test(name)) manualOf(name)?.read(args, notes);
  else if (isShell(name) || isInterpreter(name) || STARTS_PROGRAMS.test(name))
    notes.raise(rules.bringsCode, name);
}

const toolsByName: ReadonlyMap<string, Manual> = new Map(
  buildTools.flatMap((tool) => {
    const manual = toolManual(tool);
    return manual.names.map((name) => [name, manual] as const);
  }),
);

const modulesByName: ReadonlyMap<string, Manual> = new Map(
  buildTools.flatMap((tool) => {
    const manual = toolManual(tool);
    return wordList(tool.modules ?? '').map((name) => [name, manual] as const);
  }),
);

/** `npm exec -- tsc` is `npx tsc`. Options in front of the `--` would be npm's own. */
function asNpx([command = '', ...args]: readonly string[]): readonly string[] | undefined {
  if (!/^(exec|x)$/.test(command)) return undefined;
  const dashes = args.indexOf('--');
  const own = dashes < 0 ? args : args.slice(0, dashes);
  return own.some((word) => word.startsWith('-') && !NPX_OPTIONS.test(word)) ? undefined : args;
}

/** `npm run deploy` is HIGH by its name, as for the other package managers. */
const npmInLine: Manual = {
  ...npm,
  read(args, notes) {
    const words = asNpx(args);
    if (words) {
      npx.read(words, notes);
      return;
    }
    npm.read(args, notes);
    const [first = '', task] = operandsOf(args, ['--prefix', '-C', '-w', '--workspace']).map(
      ({ text }) => text,
    );
    if (/^(run|run-script|rum|urn)$/.test(first) && task !== undefined) noteTask(task, notes);
  },
};

/** `python -m MODULE`: a module with a table of its own, such as pip, is read by that. */
const pythonInLine: Manual = {
  ...python,
  read(args, notes) {
    const { mode, words, options } = readPython(args);
    const [name = '', ...rest] = words;
    const tool = mode === 'module' ? (modulesByName.get(name) ?? toolsByName.get(name)) : undefined;
    if (!tool || options.length > 0 || isTestModule(name)) python.read(args, notes);
    else tool.read(rest, notes);
  },
};
const isTestModule = (name: string): boolean =>
  /^(pytest|unittest|mypy|pylint|flake8|ruff|black|isort)$/.test(name);

/** The manual of a program that builds, tests or runs scripts, by its name. */
function manualOf(name: string): Manual | undefined {
  if (/^python[\d.]*$/.test(name)) return pythonInLine;
  const others: Readonly<Record<string, Manual>> = { node, npm: npmInLine, git };
  return (
    (Object.hasOwn(others, name) ? others[name] : undefined) ?? runners.get(name) ?? toolsByName.get(name)
  );
}

/** Notes a program that another one starts, such as in `bundle exec rspec`. */
function noteProgram(words: readonly string[], notes: Notes): void {
  const [name, ...args] = words;
  const manual = name === undefined || name === 'git' ? undefined : manualOf(name);
  if (!manual || name === undefined) {
    notes.raise(rules.unknownSubcommand, name ?? 'no program');
    return;
  }
  if (/^(pytest|mypy|pylint|flake8)$/.test(name)) noteTestModule(name, args, notes);
  manual.read(args, notes);
}

/** Options with which npx takes only what is installed, or what it would take anyway. */
const NPX_OPTIONS = /^(--no-install|--no|--offline|--prefer-offline|--quiet|-q|--)$/;

/** `npx NAME`: without network it can only start what the project has installed. */
const npx: Manual = {
  names: ['npx', 'bunx', 'pnpx'],
  rules: [],
  read(args, notes) {
    notes.raise(rules.buildsProject);
    const at = args.findIndex((word) => !NPX_OPTIONS.test(word));
    const [spelled, ...rest] = at < 0 ? [] : args.slice(at);
    if (spelled === undefined || spelled.startsWith('-')) {
      notes.raise(rules.unknownPackage, spelled ?? 'npx');
      notes.unknownWords(args);
      return;
    }
    noteInstalled('node_modules/.bin', PACKAGES[spelled] ?? spelled, rest, notes);
  },
};

/** Notes a program of a folder of installed packages. With a disk, an unknown one must be there. */
function noteInstalled(folder: string, name: string, args: readonly string[], notes: Notes): void {
  const tool = toolsByName.get(name);
  if (/^(pytest|mypy|pylint|flake8)$/.test(name)) noteTestModule(name, args, notes);
  if (tool) tool.read(args, notes);
  else {
    notes.unknownWords(args);
    if (
      !/^[\w.-]+$/.test(name) ||
      HARMFUL_PROGRAMS.has(name) ||
      name.startsWith('create-') ||
      SENDING_TASK.test(name)
    )
      notes.raise(rules.unknownPackage, name);
    else {
      notes.raise(rules.runsInstalled, name);
      notes.raiseUnlessThere(rules.unknownPackage, `${folder}/${name}`);
      for (const text of args) if (SENDING_TASK.test(text)) notes.raise(rules.sendsAway, text);
    }
  }
  notes.impliedRun(`${folder}/${name}`);
}

/** `uvx ruff` downloads a tool that the project has not installed, and runs it. */
const uvx: Manual = {
  names: ['uvx'],
  rules: [],
  read(args, notes) {
    notes.raise(rules.unknownPackage, args[0] ?? 'uvx');
    notes.unknownWords(args);
  },
};

const activate: Manual = {
  names: ['source', '.'],
  rules: [],
  read(args, notes) {
    notes.raise(rules.runsInstalled, args[0]);
    for (const text of args) notes.path(text, 'run');
  },
};

const runners: ReadonlyMap<string, Manual> = new Map(
  [npx, uvx, activate].flatMap((manual) => manual.names.map((name) => [name, manual] as const)),
);

const IN_PACKAGES = /^(?:\.\/)?((?:[\w.-]+\/)*node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\/([\w.-]+)$/;

/** The manual of a program of a shell line that builds, tests or runs scripts: by its name, or in a folder of packages. */
export function buildManual(program: string): Manual | undefined {
  const known = program === 'git' ? undefined : manualOf(program);
  if (known) return withTestOptions(program, known);
  const [, folder, name] = IN_PACKAGES.exec(program) ?? [];
  if (folder === undefined || name === undefined) return undefined;
  return {
    names: [program],
    rules: [],
    read(args, notes) {
      notes.raise(rules.buildsProject);
      notes.installed(program);
      if (/^python[\d.]*$/.test(name)) pythonInLine.read(args, notes);
      else if (name === 'activate' || name === 'node') notes.raise(rules.unknownPackage, name);
      else noteInstalled(folder, name, args, notes);
    },
  };
}

/** pytest by its own name has the same options as `python -m pytest`. */
function withTestOptions(program: string, manual: Manual): Manual {
  if (!/^(pytest|mypy|pylint|flake8)$/.test(program)) return manual;
  return {
    ...manual,
    read(args, notes) {
      noteTestModule(program, args, notes);
      manual.read(args, notes);
    },
  };
}
