import type { ShellRun } from './shell-run.ts';
import { warnings } from './warnings.ts';

/** Names whose text bash or a program executes when it thinks fit. */
const CODE =
  /^(PROMPT_COMMAND|GIT_SSH_COMMAND|GIT_EDITOR|GIT_PAGER|GIT_SEQUENCE_EDITOR|GIT_EXTERNAL_DIFF|GIT_ASKPASS|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|LESSOPEN|SHELLOPTS)$/;
const LOADER =
  /^(LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_\w+|BASH_ENV|ENV|NODE_OPTIONS|PYTHONSTARTUP|PYTHONPATH|PERL5OPT|PERL5LIB|RUBYOPT)$/;

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
