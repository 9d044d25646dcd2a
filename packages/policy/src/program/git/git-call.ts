import { OptionState, type OptionWord, optionTable, parseOptions } from '../options.ts';
import type { InnerCall } from '../read-program.ts';
import { changesConfiguration } from './maintenance-subcommands.ts';
import { otherRepository, runsProgram, setsConfiguration } from './rules.ts';

/** Options between `git` and the subcommand. */
const globalOptions = optionTable({
  abbreviations: false,
  permutes: false,
  flags: `-v --version -h --help -P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice
    --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --html-path --man-path --info-path`,
  values: '--list-cmds --attr-source',
  rows: [
    { names: '-C', value: 'read' },
    { names: '-c', value: 'text', rule: setsConfiguration },
    { names: '--config-env', value: 'text', rule: setsConfiguration },
    { names: '--exec-path', value: 'run', optional: true },
    { names: '-p --paginate', rule: runsProgram },
    { names: '--git-dir', value: 'read', rule: otherRepository },
    { names: '--work-tree', value: 'write', rule: otherRepository },
    { names: '--namespace --super-prefix', value: 'text', rule: otherRepository },
    { names: '--bare', rule: otherRepository },
  ],
});

/** The parsed words of `git`: its global options, then the subcommand and its own words. */
export interface GitCall {
  readonly options: readonly OptionWord[];
  readonly subcommand: string | undefined;
  readonly args: readonly string[];
  /** `-C dir`, in order. */
  readonly directories: readonly string[];
  readonly workTree: string | undefined;
  /** `name=value` of `-c` and `--config-env`. */
  readonly settings: readonly string[];
  /** Whether the call names another repository, or a directory of other programs for git to use. */
  readonly redirected: boolean;
}

export function readGit(words: readonly string[]): GitCall {
  const options: OptionWord[] = [];
  const operands: string[] = [];
  for (const word of parseOptions(words, globalOptions)) {
    if (word.kind === 'operand') operands.push(word.text);
    else options.push(word);
  }
  const state = new OptionState(options);
  const [subcommand, ...args] = operands;
  return {
    options,
    subcommand,
    args,
    directories: state.valuesOf('-C'),
    workTree: state.valuesOf('--work-tree').at(-1),
    settings: [...state.valuesOf('-c'), ...state.valuesOf('--config-env')],
    redirected: ['--git-dir', '--namespace', '--exec-path'].some((name) => state.valuesOf(name).length > 0),
  };
}

/** Whether a call changes configuration or hooks of git, or brings its own. */
export function changesGit(words: readonly string[]): boolean {
  const { subcommand, args, settings, redirected } = readGit(words);
  if (settings.length > 0 || redirected) return true;
  if (subcommand === 'init' || subcommand === 'clone')
    return args.some((word) => /^--(template|config|separate-git-dir)\b|^-c/.test(word));
  return subcommand === 'config' && changesConfiguration(args);
}

/** Settings whose value git executes. */
const GIT_CODE =
  /^(alias\..*|core\.(sshcommand|pager|editor|fsmonitor|askpass|gitproxy|hookspath)|pager\..*|sequence\.editor|credential\.?.*helper|diff\.(.*(command|textconv)|external)|merge\..*driver|filter\..*|gpg\..*program|browser\..*|difftool\..*|mergetool\..*|uploadpack\..*)$/i;

/** What a call of git executes: values of settings, `ext::` addresses, `bisect run`, `submodule foreach`. */
export function innerCallsOfGit(words: readonly string[]): readonly InnerCall[] {
  const { subcommand, args, settings } = readGit(words);
  const all = [...settings];
  for (const [index, word] of args.entries())
    if (word === '-c' || word === '--config') all.push(args[index + 1] ?? '');
  if (subcommand === 'config') {
    const [key = '', value = ''] = args.filter((word) => !/^(-.*|set|add)$/.test(word));
    all.push(`${key}=${value}`);
  }
  const lines: string[] = [];
  for (const setting of all) {
    const equals = setting.indexOf('=');
    if (equals < 0 || !GIT_CODE.test(setting.slice(0, equals))) continue;
    const line = setting.slice(equals + 1).replace(/^!/, '');
    // An alias also gets the words after its name.
    lines.push(/^alias\./i.test(setting) ? [line, ...args].join(' ') : line);
  }
  // `ext::` executes the rest of the address, in which `% ` is a blank within a word.
  for (const word of args)
    if (word.startsWith('ext::')) lines.push(word.slice('ext::'.length).replaceAll('% ', ' '));
  if (subcommand === 'submodule' && args.includes('foreach'))
    lines.push(
      args
        .slice(args.indexOf('foreach') + 1)
        .filter((word) => word !== '--recursive')
        .join(' '),
    );
  const found = lines.map((line): InnerCall => ({ line, certainty: 'possible' }));
  return subcommand === 'bisect' && args[0] === 'run'
    ? [...found, { words: args.slice(1), certainty: 'possible' }]
    : found;
}
