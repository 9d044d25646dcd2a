import type { ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';

/** Names whose text bash or a program executes when it thinks fit. */
const CODE =
  /^(PROMPT_COMMAND|BASH_ALIASES|BASH_CMDS|GIT_SSH_COMMAND|GIT_EDITOR|GIT_PAGER|GIT_SEQUENCE_EDITOR|GIT_EXTERNAL_DIFF|GIT_ASKPASS|GIT_SSH|GIT_PROXY_COMMAND|SSH_ASKPASS|RSYNC_RSH|LESSCLOSE|FCEDIT|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|LESSOPEN|SHELLOPTS)$/;
const LOADER =
  /^(LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|GCONV_PATH|BASH_ENV|ENV|ZDOTDIR|NODE_OPTIONS|NODE_PATH|npm_config_\w+|PYTHON(STARTUP|PATH|HOME|BREAKPOINT)|PERL5(OPT|LIB|DB)|RUBY(OPT|LIB)|(JAVA_TOOL|_JAVA)_OPTIONS|CLASSPATH|GIT_(CONFIG\w*|EXEC_PATH|TEMPLATE_DIR|DIR|WORK_TREE)|MAKEFLAGS|MAKEFILES|TAR_OPTIONS|HOME|XDG_CONFIG_HOME)$/;

/** Looks at what is put into a variable that others obey. */
export function noteVariable(run: ShellRun, name: string, texts: readonly string[]): void {
  if (CODE.test(name)) {
    for (const text of texts)
      run.perhaps(() => run.walker.code(run, text, { mustParse: false, subshell: true }));
    run.findings.warn(warnings.codeVariable, name);
  } else if (/^PS[0124]$/.test(name)) {
    for (const text of texts) run.walker.expansion(run, text);
  } else if (LOADER.test(name)) run.findings.warn(warnings.loaderVariable, name);
  else if (name === 'PATH') run.findings.warn(warnings.searchPath, name);
}
