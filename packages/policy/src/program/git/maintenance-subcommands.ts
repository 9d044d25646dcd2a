import { type Operand, OptionState, parseOptions } from '../options.ts';
import {
  type GitFamily,
  type GitSubcommand,
  pathless,
  raises,
  separateProgram,
  subcommand,
} from './git-subcommand.ts';
import { files, revisions, uncheckedNames } from './operands.ts';
import { losesWork, machineSettings, readsFile, runsProgram, setsConfiguration } from './rules.ts';
import { diffOptions, gitTable } from './shared-options.ts';

/** Reading a setting is harmless; any change can make git start programs later. */
const config: GitSubcommand = {
  options: gitTable({
    flags: `--local --worktree --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool -l --list --fixed-value --bool
      --int --bool-or-int --bool-or-str --path --expiry-date -z --null --name-only --includes --show-origin --show-scope --all
      --regexp --show-names`,
    values: '--type -t --default --value --url --comment',
    rows: [
      { names: '--global --system', rule: machineSettings },
      {
        names: '-f --file',
        value: (file, notes) => {
          notes.pathOrStream(file, 'read');
          // Other options write settings to this file.
          notes.makesName(file);
        },
        rule: readsFile,
      },
      {
        names: '--blob',
        value: (text, notes) => revisions([{ kind: 'operand', text, afterDashes: false }], notes),
        rule: readsFile,
      },
      {
        names: '--replace-all --add --unset --unset-all --rename-section --remove-section --append',
        rule: setsConfiguration,
      },
      { names: '-e --edit', rule: runsProgram },
    ],
  }),
  operands: uncheckedNames,
  noteWholeLine(state, operands, notes) {
    if (state.wasGiven('--edit')) notes.raise(setsConfiguration, '--edit');
    const [first = '', second = ''] = operands.map(({ text }) => text);
    if (setsValue(state, operands)) notes.raise(setsConfiguration, `${first} ${second}`.trim());
  },
};

/** Subcommands that tidy or configure the repository, and those that start other tools. */
export const maintenanceSubcommands: Readonly<Record<string, GitSubcommand | GitFamily>> = {
  gc: pathless({
    flags: '--cruft --aggressive --auto --force --keep-largest-pack --detach',
    values: '--max-cruft-size',
    rows: [{ names: '--prune', value: 'text', optional: true, rule: losesWork }],
  }),
  repack: pathless({
    flags: '-a -A -d -f -F -l --local -b --write-bitmap-index --cruft -n -k -i -m',
    values: '--window --depth --threads -g --geometric',
  }),
  'pack-refs': pathless({ flags: '--all --prune --auto' }),
  prune: raises([losesWork], pathless({ flags: '-n --dry-run --progress', values: '--expire' })),
  'hash-object': subcommand(files('read'), {
    flags: '-w --stdin --stdin-paths --no-filters --literally',
    values: '-t --path',
  }),
  hook: separateProgram([runsProgram]),
  difftool: raises(
    [runsProgram],
    subcommand(revisions, diffOptions, {
      flags: '-g --gui -d --dir-diff -y --no-prompt --prompt --symlinks --tool-help --trust-exit-code',
      values: '-t --tool',
      rows: [{ names: '-x --extcmd', value: 'text', rule: runsProgram }],
    }),
  ),
  mergetool: raises(
    [runsProgram],
    subcommand(files('read'), {
      flags: '-g --gui -y --no-prompt --prompt --tool-help',
      values: '-t --tool',
      rows: [{ names: '-O', value: 'read' }],
    }),
  ),
  instaweb: raises(
    [runsProgram],
    pathless({ flags: '--start --stop --restart -l --local', values: '-d --httpd -p --port -b --browser' }),
  ),
  maintenance: raises(
    [setsConfiguration],
    pathless({ flags: '--auto', values: '--task --schedule --scheduler' }),
  ),
  credential: separateProgram([runsProgram]),
  config,
};

const readingModes =
  '--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool -l --list'.split(' ');
const writingModes =
  '--replace-all --add --unset --unset-all --rename-section --remove-section --append -e --edit'.split(' ');

/** Whether the operands change a setting: `set KEY VALUE` and the like, or `KEY VALUE` without a reading option. */
function setsValue(state: OptionState, operands: readonly Operand[]): boolean {
  const [first = ''] = operands.map(({ text }) => text);
  if (state.isOn(readingModes, writingModes) || first === 'get' || first === 'list') return false;
  return /^(set|unset|rename-section|remove-section|edit)$/.test(first) || operands.length > 1;
}

/** Whether `git config` with these words changes a setting, by an option or by its operands. */
export function changesConfiguration(args: readonly string[]): boolean {
  const words = parseOptions(args, config.options);
  const state = new OptionState(words);
  const operands = words.filter((word) => word.kind === 'operand');
  return state.wasGiven(...writingModes) || setsValue(state, operands);
}
