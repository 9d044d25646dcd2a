import { changesConfiguration } from '../program/git/config-subcommand.ts';
import { gitHookFiles } from '../program/implied-scripts.ts';
import { noteRunFile } from './operands.ts';
import type { ProgramCall } from './program-call.ts';
import type { ShellRun } from './shell-run.ts';

/** The words of `git`: options of git itself, which stand first, then the subcommand and its own words. */
interface GitCall {
  readonly subcommand: string;
  readonly args: readonly string[];
  /** `-C dir`, in order. */
  readonly directories: readonly string[];
  readonly workTree: string | undefined;
  /** `name=value` of `-c` and `--config-env`. */
  readonly settings: readonly string[];
  /** Names another repository or other programs for git to use. */
  readonly redirected: boolean;
}

export function readGit(words: readonly string[]): GitCall {
  const directories: string[] = [];
  const settings: string[] = [];
  let workTree: string | undefined;
  let redirected = false;
  let i = 0;
  for (; i < words.length; i++) {
    const word = words[i] as string;
    if (!word.startsWith('-')) break;
    const equals = word.startsWith('--') ? word.indexOf('=') : -1;
    const name = equals < 0 ? word : word.slice(0, equals);
    const value = (): string => (equals < 0 ? (words[++i] ?? '') : word.slice(equals + 1));
    if (name === '-C') directories.push(value());
    else if (name === '-c' || name === '--config-env') settings.push(value());
    else if (word.startsWith('-c')) settings.push(word.slice(2));
    else if (name === '--work-tree') workTree = value();
    else if (name === '--git-dir' || name === '--namespace') {
      value();
      redirected = true;
    } else if (name === '--exec-path' && equals >= 0) redirected = true;
  }
  const subcommand = words[i] ?? '';
  return { subcommand, args: words.slice(i + 1), directories, workTree, settings, redirected };
}

/** Whether a call changes configuration or hooks of git, or brings its own. */
export function changesGit({ args: words }: ProgramCall): boolean {
  const { subcommand, args, settings, redirected } = readGit(words);
  if (settings.length > 0 || redirected) return true;
  if (subcommand === 'init' || subcommand === 'clone')
    return args.some((word) => /^--(template|config|separate-git-dir)\b|^-c/.test(word));
  return subcommand === 'config' && changesConfiguration(args);
}

/** Settings whose value git executes. */
const GIT_CODE =
  /^(alias\..*|core\.(sshcommand|pager|editor|fsmonitor|askpass|gitproxy|hookspath)|pager\..*|sequence\.editor|credential\.?.*helper|diff\.(.*(command|textconv)|external)|merge\..*driver|filter\..*|gpg\..*program|browser\..*|difftool\..*|mergetool\..*|uploadpack\..*)$/i;

/** Judges what a call of git executes: settings, `bisect run`, `submodule foreach`. */
export function judgeGit({ run, args: words }: ProgramCall): void {
  const { subcommand, args, settings, directories } = readGit(words);
  // Which repository it is, git finds out: the one here, or that of the workspace.
  for (const top of [directories.at(-1) ?? '.', run.paths.root])
    for (const file of gitHookFiles) noteRunFile(run, `${top}/${file}`);
  const all = [...settings];
  for (const [index, word] of args.entries())
    if (word === '-c' || word === '--config') all.push(args[index + 1] ?? '');
  if (subcommand === 'config') {
    const [key = '', value = ''] = args.filter((word) => !/^(-.*|set|add)$/.test(word));
    all.push(`${key}=${value}`);
  }
  for (const setting of all) {
    const equals = setting.indexOf('=');
    if (equals < 0 || !GIT_CODE.test(setting.slice(0, equals))) continue;
    const line = setting.slice(equals + 1).replace(/^!/, '');
    // an alias gets the words behind its name
    judgeLine(run, /^alias\./i.test(setting) ? [line, ...args].join(' ') : line);
  }
  // `ext::` runs what follows; a percent sign stands before a blank within a word
  for (const word of args)
    if (word.startsWith('ext::')) judgeLine(run, word.slice('ext::'.length).replaceAll('% ', ' '));
  const [first] = args;
  if (subcommand === 'bisect' && first === 'run') run.perhaps(() => run.walker.call(run, args.slice(1)));
  if (subcommand === 'submodule' && args.includes('foreach')) {
    const line = args.slice(args.indexOf('foreach') + 1).filter((word) => word !== '--recursive');
    judgeLine(run, line.join(' '));
  }
}

function judgeLine(run: ShellRun, line: string): void {
  run.perhaps(() => run.walker.code(run, line, { mustParse: false, subshell: true }));
}
