import { readAgain } from './evaluated-text.ts';
import { checkFile } from './operands.ts';
import type { ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';

/** Names whose text bash or a program executes when it thinks fit. */
const CODE =
  /^(PROMPT_COMMAND|BASH_ALIASES|BASH_CMDS|GIT_SSH_COMMAND|GIT_EDITOR|GIT_PAGER|GIT_SEQUENCE_EDITOR|GIT_EXTERNAL_DIFF|GIT_ASKPASS|GIT_SSH|GIT_PROXY_COMMAND|SSH_ASKPASS|GIT_CONFIG_VALUE_\d+|RSYNC_RSH|LESSCLOSE|FCEDIT|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|LESSOPEN|SHELLOPTS)$/;
const LOADER =
  /^(LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|GCONV_PATH|BASH_ENV|ENV|ZDOTDIR|NODE_OPTIONS|NODE_PATH|NODE_REPL_EXTERNAL_MODULE|OPENSSL_(CONF|MODULES|ENGINES)|PYTHON(STARTUP|PATH|HOME|BREAKPOINT|INSPECT|WARNINGS|PYCACHEPREFIX|USERBASE|EXECUTABLE)|PYTEST_(ADDOPTS|PLUGINS)|COVERAGE_PROCESS_START|PERL5(OPT|LIB|DB)|RUBY(OPT|LIB)|(JAVA_TOOL|_JAVA)_OPTIONS|CLASSPATH|GIT_(CONFIG\w*|EXEC_PATH|TEMPLATE_DIR|DIR|COMMON_DIR|WORK_TREE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|ALLOW_PROTOCOL|ATTR_SOURCE)|MAKEFLAGS|MAKEFILES|TAR_OPTIONS|HOME|XDG_CONFIG_HOME)$/;
/** Variables whose text a program takes for its first options. */
const OPTIONS_OF: ReadonlyMap<string, string> = new Map([
  ['TAR_OPTIONS', 'tar'],
  ['NODE_OPTIONS', 'node'],
  ['PERL5OPT', 'perl'],
  ['RUBYOPT', 'ruby'],
  ['MAKEFLAGS', 'make'],
  ['GIT_CONFIG_PARAMETERS', 'git -c'],
  ['PYTHONSTARTUP', 'python3'],
]);
/** npm takes its settings from the environment in either case. */
const NPM_SETTING = /^npm_config_/i;
/** Variables that name a file or folder which the program writes. */
const WRITTEN = /^(GIT_TRACE\w*|GIT_INDEX_FILE|NODE_V8_COVERAGE|NODE_COMPILE_CACHE|SSLKEYLOGFILE)$/;

/** Looks at what is put into a variable that others obey. */
export function noteVariable(run: ShellRun, name: string, texts: readonly string[]): void {
  if (CODE.test(name)) {
    for (const text of texts)
      run.perhaps(() =>
        run.walker.code(run, text.replace(/^\|{1,2}-?/, ''), { mustParse: false, subshell: true }),
      ); // less begins what it executes with a bar
    run.findings.warn(warnings.codeVariable, name);
  } else if (/^PS[0124]$/.test(name)) {
    for (const text of texts) readAgain(run, text);
  } else if (LOADER.test(name) || NPM_SETTING.test(name)) {
    run.findings.warn(warnings.loaderVariable, name);
    if (name === 'BASH_ENV' || name === 'ENV') for (const text of texts) noteStartFile(run, text);
    const program = OPTIONS_OF.get(name);
    for (const text of program === undefined ? [] : texts)
      run.perhaps(() =>
        run.findings.quietly(() =>
          run.walker.code(run, `${program} ${text}`, { mustParse: false, subshell: true }),
        ),
      );
  } else if (WRITTEN.test(name)) {
    for (const text of texts)
      if (text.includes('/') || !name.startsWith('GIT_TRACE')) checkFile(run, text, 'write');
  } else if (name === 'PATH') run.findings.warn(warnings.searchPath, name);
}

/** The file that a shell executes when it starts; bash expands its name. */
function noteStartFile(run: ShellRun, file: string): void {
  readAgain(run, file);
  run.state.later.add(`source '${file.replaceAll("'", "'\\''")}'`);
  run.perhaps(() => run.inSubshell(() => run.walker.call(run, ['source', file])));
}

/** `BASH_CMDS[ls]=/bin/rm` and `BASH_ALIASES[ls]='rm -rf'`: the name stands for something else from then on. */
export function noteElement(run: ShellRun, name: string, key: string, value: string): void {
  if (name === 'BASH_CMDS') run.state.aliases.set(key, [value]);
  else if (name === 'BASH_ALIASES') run.state.aliases.set(key, value.trim().split(/\s+/));
  const mark = `element of ${name}`;
  if (run.evaluating.has(mark)) return; // references may lead in a circle
  run.evaluating.add(mark);
  for (const target of run.state.references.get(name) ?? []) noteElement(run, target, key, value);
  run.evaluating.delete(mark);
}

/** `env 'BASH_FUNC_ls%%=() { …; }'`: bash takes a function from its environment. */
export function noteExportedFunction(run: ShellRun, name: string, value: string): void {
  const called = /^BASH_FUNC_(.+?)(%%|\(\))$/s.exec(name)?.[1];
  if (called === undefined) return;
  run.findings.warn(warnings.replacedProgram, called);
  run.walker.code(run, `${called} ${value}`, { mustParse: false, subshell: false });
}
