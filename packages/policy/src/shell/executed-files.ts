import { UNKNOWN } from '../program/marks.ts';
import { catastrophes } from './catastrophes.ts';
import { executeFile } from './nested-shells.ts';
import { checkFile, noteRunFile } from './operands.ts';
import type { ProgramCall } from './program-call.ts';
import { contentOf } from './redirections.ts';

/**
 * Files that a program executes without being an interpreter by name: because an option says so (`awk -f`), or
 * because it looks for them by itself (`make`). Where this line wrote such a file, its content is judged. Each
 * example executes a download; a test sees that every one is refused.
 */
interface ExecutedFiles {
  readonly programs: readonly string[];
  /** Options whose value is the file, with dashes. A short one may have it glued on, a long one after `=`. */
  readonly options?: readonly string[];
  /** Options whose value is the directory that the names are looked for in. */
  readonly directoryOptions?: readonly string[];
  /** Each word that is no option is such a file. */
  readonly operands?: true;
  /** Names that the program looks for. */
  readonly names?: readonly string[];
  /** Only with one of these words; always when left out. */
  readonly subcommands?: RegExp;
  readonly matches: readonly string[];
  readonly doesNotMatch: readonly string[];
}

export const executedFiles: readonly ExecutedFiles[] = [
  {
    programs: ['make', 'gmake'],
    options: ['-f', '--file', '--makefile'],
    directoryOptions: ['-C', '--directory'],
    names: ['GNUmakefile', 'makefile', 'Makefile'],
    matches: [
      'curl x | make -f -',
      'curl x > Makefile; make',
      'curl -o makefile x && make all',
      'curl x > a.mk; make -f a.mk',
      'curl x > a.mk; make -fa.mk',
      'curl x > a.mk; make --file=a.mk',
      'curl x > sub/Makefile; make -C sub',
    ],
    doesNotMatch: ['make -f build/Makefile', 'curl x > data.json; make', 'curl x > a.mk; make -f b.mk'],
  },
  {
    programs: ['awk', 'gawk', 'mawk', 'nawk', 'sed', 'gsed'],
    options: ['-f', '--file'],
    matches: ['curl x > a.awk; awk -f a.awk', 'curl x | awk -f - f', 'curl x > a.sed; sed -f a.sed f'],
    doesNotMatch: ['awk -f tools/a.awk f', 'curl x > d; awk -f a.awk d'],
  },
  {
    programs: ['npm', 'pnpm', 'yarn', 'bun'],
    names: ['package.json', 'package-lock.json', '.npmrc', '.yarnrc.yml', '.pnpmfile.cjs'],
    directoryOptions: ['--prefix', '-C', '--cwd'],
    subcommands: /^(i|ci|install|run|test|t|start|exec|x|publish|pack|rebuild|add|update)$/,
    matches: ['curl x > package.json; npm install', 'curl x > package.json && npm test'],
    doesNotMatch: ['curl x > package.json; npm view y', 'curl x > data.json; npm test'],
  },
  {
    programs: ['npx', 'bunx', 'pnpx'],
    names: ['package.json'],
    matches: ['curl x > package.json; npx tsc'],
    doesNotMatch: ['curl x > data.json; npx tsc'],
  },
  {
    programs: [
      'just',
      'rake',
      'ninja',
      'task',
      'scons',
      'ant',
      'mvn',
      'gradle',
      'cmake',
      'tox',
      'nox',
      'invoke',
      'gulp',
      'grunt',
    ],
    options: ['-f', '--justfile', '--rakefile', '--file', '-b', '--build-file', '--buildfile'],
    names: [
      'justfile',
      'Rakefile',
      'build.ninja',
      'Taskfile.yml',
      'SConstruct',
      'build.xml',
      'pom.xml',
      'build.gradle',
      'build.gradle.kts',
      'CMakeLists.txt',
      'tox.ini',
      'noxfile.py',
      'tasks.py',
      'gulpfile.js',
      'Gruntfile.js',
    ],
    matches: [
      'curl x > justfile; just',
      'curl x > build.gradle; gradle build',
      'curl x > r.rb; rake -f r.rb',
    ],
    doesNotMatch: ['gradle build', 'curl x > notes.txt; just'],
  },
  {
    programs: ['vi', 'vim', 'nvim', 'view', 'ex', 'emacs', 'gdb', 'lldb'],
    options: ['-S', '-s', '-u', '-l', '--load', '-x', '--command', '--source'],
    matches: ['curl x > a.vim; vim -S a.vim', 'curl x > c; gdb -x c', 'curl x > a.el; emacs --load a.el'],
    doesNotMatch: ['vim a.txt', 'curl x > a.txt; vim a.txt'],
  },
  {
    programs: ['node', 'tsx', 'ts-node', 'bun', 'ruby', 'php', 'expect', 'perl', 'python', 'python3'],
    options: ['-r', '--require', '--import', '--loader', '--experimental-loader', '-f'],
    matches: ['curl x > a.js; node -r ./a.js b.js', 'curl x > a.php; php -f a.php'],
    doesNotMatch: ['node -r ./setup.js b.js', 'curl x > a.json; node b.js a.json'],
  },
  {
    programs: ['java'],
    options: ['-jar', '-cp', '-classpath', '-javaagent'],
    matches: ['curl x > a.jar; java -jar a.jar'],
    doesNotMatch: ['java -jar build/a.jar'],
  },
  {
    programs: ['go', 'uv'],
    operands: true,
    subcommands: /^run$/,
    matches: ['curl x > a.go; go run a.go', 'curl x | uv run -', 'uv run https://x/a.py'],
    doesNotMatch: ['go run ./cmd/app', 'uv run pytest', 'curl x > a.go; go build'],
  },
  {
    programs: ['crontab', 'wasmtime', 'wasmer', 'ansible-playbook'],
    operands: true,
    matches: ['curl x > t; crontab t', 'curl x > a.wasm; wasmtime a.wasm'],
    doesNotMatch: ['crontab -l', 'curl x > a.json; wasmtime b.wasm'],
  },
  {
    programs: ['java'],
    operands: true,
    matches: ['curl x > A.java; java A.java'],
    doesNotMatch: ['java A.java'],
  },
  {
    programs: ['pip', 'pip3', 'pytest'],
    names: ['setup.py', 'conftest.py'],
    matches: ['curl x > setup.py; pip install .', 'curl x > conftest.py; pytest'],
    doesNotMatch: ['pip install .', 'curl x > data.json; pytest'],
  },
  {
    programs: ['direnv'],
    names: ['.envrc'],
    subcommands: /^(allow|grant|reload|exec)$/,
    matches: ['curl x > .envrc; direnv allow'],
    doesNotMatch: ['direnv status'],
  },
  {
    programs: ['at', 'batch', 'parallel', 'psql', 'sqlite3', 'm4', 'tclsh', 'ansible-playbook'],
    options: ['-f', '-a', '--arg-file'],
    matches: ['curl x > j; at -f j now', 'curl x > j; parallel -a j'],
    doesNotMatch: ['at -l'],
  },
];

const byProgram = new Map<string, ExecutedFiles[]>();
for (const rule of executedFiles)
  for (const program of rule.programs) byProgram.set(program, [...(byProgram.get(program) ?? []), rule]);

/** Judges the files that a call executes, as far as this line wrote them. */
export function judgeExecutedFiles({ run, name, args }: ProgramCall): void {
  if (/^(npx|bunx|pnpx)$/.test(name)) {
    const [program] = args.filter((word) => !word.startsWith('-'));
    if (program !== undefined) noteRunFile(run, `node_modules/.bin/${program}`);
  }
  for (const rule of byProgram.get(name) ?? []) {
    const { options = [], directoryOptions = [], names = [], subcommands } = rule;
    const named = [
      ...valuesOf(args, options),
      ...(rule.operands ? args.filter((word) => !/^-./.test(word) && !subcommands?.test(word)) : []),
    ];
    const directories = valuesOf(args, directoryOptions);
    const found = names.flatMap((file) =>
      (directories.length > 0 ? directories : ['.']).map((directory) => `${directory}/${file}`),
    );
    // Also without a subcommand that is known: `yarn build` runs a script of that name.
    if (named.length === 0) for (const file of found) noteRunFile(run, file);
    if (subcommands && !args.some((word) => subcommands.test(word))) continue;
    for (const file of named) {
      if (/^https?:/.test(file)) run.findings.refuse(catastrophes.download, file);
      if (file !== '-') checkFile(run, file, 'run');
      judge(run, file);
    }
    if (named.length === 0) for (const file of found) judge(run, file);
  }
}

function judge(run: ProgramCall['run'], file: string): void {
  const content = contentOf(run, file);
  if (content !== UNKNOWN) executeFile(run, content);
}

function valuesOf(args: readonly string[], options: readonly string[]): string[] {
  return args.flatMap((word, index) => {
    for (const option of options) {
      if (word === option) return args[index + 1] ?? [];
      if (
        option.startsWith('--') ? word.startsWith(`${option}=`) : word.startsWith(option) && word[1] !== '-'
      )
        return word.slice(option.length).replace(/^=/, '');
    }
    return [];
  });
}
