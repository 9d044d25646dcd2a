import { wordList } from '../../text.ts';
import type { OptionSection } from '../options.ts';
import { type GitFamily, type GitSubcommand, pathless, raises, subcommand } from './git-subcommand.ts';
import { files, firstOperand, revisions, uncheckedNames, writtenRefs } from './operands.ts';
import { losesWork, readsFile, runsProgram, writesKnownBranches } from './rules.ts';
import { diffOptions, logOptions, mergeOptions, strategyRow } from './shared-options.ts';

/** Subcommands that change branches, tags and history. */

const sequencer: OptionSection = {
  flags:
    '--quit --continue --abort --skip -n --no-commit -e --edit --signoff --rerere-autoupdate --ff --allow-empty --allow-empty-message --keep-redundant-commits --reference -x -r',
  values: '--cleanup -m --mainline -X --strategy-option --empty',
  optionalValues: '-S --gpg-sign',
  rows: [{ ...strategyRow, names: '--strategy' }, { names: '-s' }],
};

export const historySubcommands: Readonly<Record<string, GitSubcommand | GitFamily>> = {
  branch: {
    ...pathless({
      flags:
        '-r --remotes -a --all -d --delete -m --move -c --copy -l --list --show-current --create-reflog --edit-description -f --force -i --ignore-case --unset-upstream --recurse-submodules --omit-empty --set-upstream',
      values: '-u --set-upstream-to --sort --points-at --format',
      optionalValues:
        '-t --track --color --contains --no-contains --with --without --abbrev --merged --no-merged --column',
      rows: [{ names: '-D -M -C', rule: losesWork }],
    }),
    noteWholeLine(state, _operands, notes) {
      if (state.wasGiven('-f', '--force')) notes.raise(losesWork, '--force');
    },
  },
  merge: subcommand(uncheckedNames, mergeOptions, {
    rows: [{ names: '-F --file', value: 'read', stream: true, rule: readsFile }],
  }),
  rebase: pathless({
    flags: `--keep-base --no-verify --verify -n --no-stat --stat --signoff --committer-date-is-author-date --reset-author-date
        --ignore-date --ignore-whitespace -f --force-rebase --no-ff --ff --continue --skip --abort --quit --edit-todo
        --show-current-patch --apply -m --merge -i --interactive -p --preserve-merges --rerere-autoupdate -k --keep-empty
        --autosquash --update-refs --autostash --allow-empty-message --fork-point --root --reschedule-failed-exec
        --reapply-cherry-picks`,
    values: '--onto --whitespace --empty -X --strategy-option -C',
    optionalValues: '-S --gpg-sign -r --rebase-merges',
    rows: [strategyRow, { names: '-x --exec', value: 'text', rule: runsProgram }],
  }),
  'cherry-pick': subcommand(uncheckedNames, sequencer),
  revert: subcommand(uncheckedNames, sequencer),
  tag: pathless({
    flags:
      '-l --list -v --verify -a --annotate -e --edit -s --sign --create-reflog -i --ignore-case --omit-empty',
    values: '-m --message --cleanup -u --local-user --sort --points-at --format --trailer',
    optionalValues: '-n --column --contains --no-contains --with --without --merged --no-merged --color',
    rows: [
      { names: '-F --file', value: 'read', stream: true, rule: readsFile },
      { names: '-d --delete', rule: losesWork },
      { names: '-f --force', rule: losesWork },
    ],
  }),
  notes: {
    fallback: pathless({ values: '--ref' }),
    isOpen: true,
    members: Object.fromEntries(
      ['add', 'append', 'copy', 'edit', 'list', 'show', 'merge', 'remove', 'prune', 'get-ref'].map((name) => [
        name,
        pathless({
          flags:
            '-f --force --allow-empty --stdin --ignore-missing -n --dry-run --commit --abort --separator --stripspace',
          values: '-m --message -c --reedit-message -C --reuse-message -s --strategy --ref --for-rewrite',
          rows: [{ names: '-F --file', value: 'read', stream: true, rule: readsFile }],
        }),
      ]),
    ),
  },
  bisect: {
    fallback: pathless(),
    isOpen: true,
    members: {
      run: raises([runsProgram], pathless()),
      visualize: raises([runsProgram], subcommand(uncheckedNames, logOptions, diffOptions)),
      view: raises([runsProgram], subcommand(uncheckedNames, logOptions, diffOptions)),
      replay: subcommand(files('read')),
      start: subcommand(revisions, {
        flags: '--no-checkout --first-parent',
        values: '--term-new --term-bad --term-old --term-good',
      }),
      ...Object.fromEntries(
        wordList('reset good bad old new skip log next').map((name) => [name, pathless()]),
      ),
      terms: pathless({ flags: '--term-good --term-bad' }),
    },
  },
  'filter-branch': raises(
    [losesWork, runsProgram],
    pathless({
      flags: '-f --force --prune-empty --all',
      values:
        '--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter --subdirectory-filter --original --state-branch',
      rows: [{ names: '-d', value: 'write' }],
    }),
  ),
  replace: raises(
    [losesWork],
    pathless({ flags: '-l --list -d --delete -f --force -g --graft -e --edit', values: '--format' }),
  ),
  'symbolic-ref': subcommand(
    // With one name, symbolic-ref only prints.
    (operands, notes) => {
      if (operands.length > 1) writtenRefs(operands.slice(0, 1), notes);
    },
    { flags: '-d --delete --short --recurse', values: '-m' },
  ),
  'update-ref': subcommand(writtenRefs, {
    flags: '--no-deref --create-reflog -z',
    values: '-m',
    rows: [
      { names: '-d', rule: losesWork },
      { names: '--stdin', rule: writesKnownBranches },
    ],
  }),
  worktree: {
    fallback: pathless(),
    members: {
      list: pathless({ flags: '--porcelain -z', values: '--expire' }),
      add: subcommand(firstOperand(files('write')), {
        flags: '-f --force -d --detach --checkout --lock --guess-remote --track --orphan --relative-paths',
        values: '-b --reason',
        rows: [{ names: '-B', value: 'text', rule: losesWork }],
      }),
      move: subcommand(files('write'), { flags: '-f --force' }),
      remove: subcommand(files('remove'), { rows: [{ names: '-f --force', rule: losesWork }] }),
      lock: subcommand(files('read'), { values: '--reason' }),
      unlock: subcommand(files('read')),
      prune: pathless({ flags: '-n --dry-run', values: '--expire' }),
      repair: subcommand(files('write')),
    },
  },
};
