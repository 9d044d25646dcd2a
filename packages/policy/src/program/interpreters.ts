/** Programs that execute code: shells, and interpreters of other languages. */

const SHELLS =
  /^(r?bash|sh|dash|ash|zsh|ksh|mksh|pdksh|oksh|yash|posh|fish|csh|tcsh|busybox-sh|bash-static|hush|osh|elvish|nu|xonsh)[\d.-]*$/;

export const isShell = (name: string): boolean => SHELLS.test(name);

/** Options of fish and nushell whose value is code; it runs before the line of `-c`. */
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
    values: '-r -C',
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

/** Languages whose lines are program calls, as in a shell. */
const COMMAND_LANGUAGES = /^(tclsh|wish|expect|pwsh|powershell)$/;

export const speaksCommands = (name: string): boolean => COMMAND_LANGUAGES.test(name);

export const interpreterOf = (name: string): Interpreter | undefined =>
  INTERPRETERS.find(({ names }) => names.test(name));

export const isInterpreter = (name: string): boolean => interpreterOf(name) !== undefined;
