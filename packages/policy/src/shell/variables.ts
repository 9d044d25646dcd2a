import type { Assignment, Word } from 'unbash';
import { expandAgain, readAsName, readAsNumber, readIndex, splitName } from './evaluated-text.ts';
import { hasKnownValue } from './known-values.ts';
import { checkFile } from './operands.ts';
import type { ShellRun } from './shell-run.ts';
import { MAX_VALUES } from './shell-state.ts';
import { warnings } from './warnings.ts';
import { combine, evaluatePlainText, evaluateWord } from './word-values.ts';

/** Sets the variable that a text names (`name` or `name[index]`), as `read`, `printf -v` and `declare` do. */
export function assignText(run: ShellRun, target: string, values: readonly string[]): void {
  const { name, index } = splitName(target);
  if (index === undefined) {
    readAsName(run, name);
    setScalar(run, name, values);
  } else {
    readIndex(run, name, index);
    setElement(run, name, [index], values);
  }
}

export function setScalar(run: ShellRun, name: string, values: readonly string[]): void {
  noteValues(run, name, values);
  run.state.set(name, { values });
}

function setElement(run: ShellRun, name: string, keys: readonly string[], values: readonly string[]): void {
  noteValues(run, name, values);
  for (const key of keys) for (const value of values) noteElement(run, name, key, value);
  const known = run.state.variables.get(name);
  const elements = [...(known?.elements ?? known?.values ?? []), ...values].slice(0, MAX_VALUES * 4);
  run.state.set(name, { values: known?.values ?? values, elements, inexact: true });
}

/** Variables that programs inherit from the shell's own environment: setting one exports it. */
const INHERITED = /^(HOME|PATH|USER|LOGNAME|SHELL|LANG|TERM|TMPDIR|TZ|LC_\w+)$/;

/** Judges the side effects of setting a variable: bash evaluates integers and follows references. */
export function noteValues(run: ShellRun, name: string, values: readonly string[]): void {
  noteVariable(run, name, values);
  if (name === 'OLDPWD') run.state.setPreviousDirectories(values);
  if (INHERITED.test(name)) run.findings.addEnvironment(name);
  if (run.state.has(name, 'i')) for (const value of values) readAsNumber(run, value);
  if (!run.state.has(name, 'n')) return;
  for (const value of values) readAsName(run, value);
  const targets = run.state.references.get(name) ?? [];
  run.state.references.set(name, [...new Set([...targets, ...values])].slice(0, MAX_VALUES));
  const key = `reference ${name}`;
  if (run.evaluating.has(key)) return; // references can form a circle
  run.evaluating.add(key);
  for (const target of targets) run.perhaps(() => setScalar(run, target, values));
  run.evaluating.delete(key);
}

/** Applies `name=value`, `name+=value`, `name[i]=value` or `name=(…)` to the state. */
export function assign(run: ShellRun, assignment: Assignment): void {
  const { name, value, index } = assignment;
  const { state } = run;
  if (value.type === 'ArrayValue') {
    let inexact = false;
    const elements = value.elements.flatMap((word) => {
      const item = evaluateItem(run, name, word);
      const readings = item ? [] : evaluateWord(run, word);
      if (item || readings.length > 1) inexact = true;
      return item ?? readings.flat();
    });
    noteValues(run, name, elements);
    const old = assignment.append ? (state.variables.get(name)?.elements ?? []) : [];
    const all = [...old, ...elements].slice(0, MAX_VALUES * 4);
    state.set(name, { values: inexact ? all.slice(0, MAX_VALUES) : [all[0] ?? ''], elements: all, inexact });
    return;
  }
  const keys = index ? evaluateIndex(run, name, index) : [];
  const texts = evaluatePlainText(run, value); // bash does not expand file patterns in assignments
  if (index) setElement(run, name, keys, texts);
  else if (assignment.append) setScalar(run, name, combine(state.variables.get(name)?.values ?? [''], texts));
  else setScalar(run, name, texts);
}

/** Every text that an index may be. bash evaluates an index, so the text is judged as code (evaluated-text.ts). */
export function evaluateIndex(run: ShellRun, name: string, index: Word): readonly string[] {
  const texts = evaluatePlainText(run, index);
  // bash expands the `$k` of `m[$k]` only once if `m` is an associative array
  if (!run.state.has(name, 'A')) for (const text of texts) readIndex(run, name, text);
  return texts;
}

/** The values of `[key]=value` in `name=(…)`; undefined if the element has no `[key]`. */
function evaluateItem(run: ShellRun, name: string, word: Word): readonly string[] | undefined {
  if (!/^\[[\s\S]*\]\+?=/.test(word.text)) return undefined;
  return evaluatePlainText(run, word).map((text) => {
    const { index: key = '', rest } = splitName(name + text);
    if (!run.state.has(name, 'A')) readIndex(run, name, key);
    const value = rest === '' ? key : rest.replace(/^\+?=/, '');
    noteElement(run, name, key, value);
    return value;
  });
}

/** Variables whose value bash or another program executes later. */
const CODE =
  /^(PROMPT_COMMAND|BASH_ALIASES|BASH_CMDS|GIT_SSH_COMMAND|GIT_EDITOR|GIT_PAGER|GIT_SEQUENCE_EDITOR|GIT_EXTERNAL_DIFF|GIT_ASKPASS|GIT_SSH|GIT_PROXY_COMMAND|SSH_ASKPASS|GIT_CONFIG_VALUE_\d+|RSYNC_RSH|LESSCLOSE|FCEDIT|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|LESSOPEN|SHELLOPTS)$/;
const LOADER =
  /^(LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|GCONV_PATH|BASH_ENV|ENV|ZDOTDIR|NODE_OPTIONS|NODE_PATH|NODE_REPL_EXTERNAL_MODULE|OPENSSL_(CONF|MODULES|ENGINES)|PYTHON(STARTUP|PATH|HOME|BREAKPOINT|INSPECT|WARNINGS|PYCACHEPREFIX|USERBASE|EXECUTABLE)|PYTEST_(ADDOPTS|PLUGINS)|COVERAGE_PROCESS_START|PERL5(OPT|LIB|DB)|RUBY(OPT|LIB)|(JAVA_TOOL|_JAVA)_OPTIONS|CLASSPATH|GIT_(CONFIG\w*|EXEC_PATH|TEMPLATE_DIR|DIR|COMMON_DIR|WORK_TREE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|ALLOW_PROTOCOL|ATTR_SOURCE)|MAKEFLAGS|MAKEFILES|TAR_OPTIONS|HOME|XDG_CONFIG_HOME)$/;
/** Variables whose value a program reads as options, with the program. */
const OPTIONS_OF: ReadonlyMap<string, string> = new Map([
  ['TAR_OPTIONS', 'tar'],
  ['NODE_OPTIONS', 'node'],
  ['PERL5OPT', 'perl'],
  ['RUBYOPT', 'ruby'],
  ['MAKEFLAGS', 'make'],
  ['GIT_CONFIG_PARAMETERS', 'git -c'],
  ['PYTHONSTARTUP', 'python3'],
]);
/** npm reads its settings from the environment, in upper or lower case. */
const NPM_SETTING = /^npm_config_/i;
/** Variables that name a file or folder to which a program writes. */
const WRITTEN = /^(GIT_TRACE\w*|GIT_INDEX_FILE|NODE_V8_COVERAGE|NODE_COMPILE_CACHE|SSLKEYLOGFILE)$/;

/** Judges the values of variables that make bash or other programs execute, load or write something. */
function noteVariable(run: ShellRun, name: string, texts: readonly string[]): void {
  if (CODE.test(name)) {
    // LESSOPEN starts with `|` if less is to read the command's output
    for (const text of texts) run.perhapsCode(text.replace(/^\|{1,2}-?/, ''));
    run.findings.warn(warnings.codeVariable, name);
  } else if (/^PS[0124]$/.test(name)) {
    for (const text of texts) expandAgain(run, text);
  } else if (texts.length > 0 && texts.every((text) => hasKnownValue(name, text))) {
    return;
  } else if (LOADER.test(name) || NPM_SETTING.test(name)) {
    run.findings.warn(warnings.loaderVariable, name);
    if (name === 'BASH_ENV' || name === 'ENV') for (const text of texts) noteStartFile(run, text);
    const program = OPTIONS_OF.get(name);
    for (const text of program === undefined ? [] : texts)
      run.findings.quietly(() => run.perhapsCode(`${program} ${text}`));
  } else if (WRITTEN.test(name)) {
    for (const text of texts)
      if (text.includes('/') || !name.startsWith('GIT_TRACE')) checkFile(run, text, 'write');
  } else if (name === 'PATH') run.findings.warn(warnings.searchPath, name);
}

/** Judges the startup file that BASH_ENV or ENV names. bash expands the name. */
function noteStartFile(run: ShellRun, file: string): void {
  expandAgain(run, file);
  run.state.deferredCode.add(`source '${file.replaceAll("'", "'\\''")}'`);
  run.perhaps(() => run.inSubshell(() => run.walker.call(run, ['source', file])));
}

/** `BASH_CMDS[ls]=/bin/rm` and `BASH_ALIASES[ls]='rm -rf'` make `ls` run another program. */
function noteElement(run: ShellRun, name: string, key: string, value: string): void {
  if (name === 'BASH_CMDS') run.state.aliases.set(key, [value]);
  else if (name === 'BASH_ALIASES') run.state.aliases.set(key, value.trim().split(/\s+/));
  const mark = `element of ${name}`;
  if (run.evaluating.has(mark)) return; // references can form a circle
  run.evaluating.add(mark);
  for (const target of run.state.references.get(name) ?? []) noteElement(run, target, key, value);
  run.evaluating.delete(mark);
}

/** `env 'BASH_FUNC_ls%%=() { …; }'` defines the function `ls`: bash imports functions from its environment. */
export function noteExportedFunction(run: ShellRun, name: string, value: string): void {
  const called = /^BASH_FUNC_(.+?)(%%|\(\))$/s.exec(name)?.[1];
  if (called === undefined) return;
  run.findings.warn(warnings.replacedProgram, called);
  run.walker.code(run, `${called} ${value}`, { mustParse: false, subshell: false });
}
