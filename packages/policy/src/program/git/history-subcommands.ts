import { wordList } from '../../text.ts';
import type { OptionSection } from '../options.ts';
import {
  files,
  type GitFamily,
  type GitSubcommand,
  names,
  plain,
  raises,
  revisions,
  subcommand,
  writtenRefs,
} from './operands.ts';
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
    ...plain({
      flags:
        '-r --remotes -a --all -d --delete -m --move -c --copy -l --list --show-current --create-reflog --edit-description -f --force -i --ignore-case --unset-upstream --recurse-submodules --omit-empty --set-upstream',
      values: '-u --set-upstream-to --sort --points-at --format',
      optionalValues:
        '-t --track --color --contains --no-contains --with --without --abbrev --merged --no-merged --column',
      rows: [{ names: '-D -M -C', rule: losesWork }],
    }),
    also(state, _operands, notes) {
      if (state.wasGiven('-f', '--force')) notes.raise(losesWork, '--force');
    },
  },
  merge: subcommand(names, mergeOptions, {
    rows: [{ names: '-F --file', value: 'read', stream: true, rule: readsFile }],
  }),
  rebase: plain({
    flags: `--keep-base --no-verify --verify -n --no-stat --stat --signoff --committer-date-is-author-date --reset-author-date
        --ignore-date --ignore-whitespace -f --force-rebase --no-ff --ff --continue --skip --abort --quit --edit-todo
        --show-current-patch --apply -m --merge -i --interactive -p --preserve-merges --rerere-autoupdate -k --keep-empty
        --autosquash --update-refs --autostash --allow-empty-message --fork-point --root --reschedule-failed-exec
        --reapply-cherry-picks`,
    values: '--onto --whitespace --empty -X --strategy-option -C',
    optionalValues: '-S --gpg-sign -r --rebase-merges',
    rows: [strategyRow, { names: '-x --exec', value: 'text', rule: runsProgram }],
  }),
  'cherry-pick': subcommand(names, sequencer),
  revert: subcommand(names, sequencer),
  tag: plain({
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
    fallback: plain({ values: '--ref' }),
    isOpen: true,
    members: Object.fromEntries(
      ['add', 'append', 'copy', 'edit', 'list', 'show', 'merge', 'remove', 'prune', 'get-ref'].map((name) => [
        name,
        plain({
          flags:
            '-f --force --allow-empty --stdin --ignore-missing -n --dry-run --commit --abort --separator --stripspace',
          values: '-m --message -c --reedit-message -C --reuse-message -s --strategy --ref --for-rewrite',
          rows: [{ names: '-F --file', value: 'read', stream: true, rule: readsFile }],
        }),
      ]),
    ),
  },
  bisect: {
    fallback: plain(),
    isOpen: true,
    members: {
      run: raises([runsProgram], plain()),
      visualize: raises([runsProgram], subcommand(names, logOptions, diffOptions)),
      view: raises([runsProgram], subcommand(names, logOptions, diffOptions)),
      replay: subcommand(files('read')),
      start: subcommand(revisions, {
        flags: '--no-checkout --first-parent',
        values: '--term-new --term-bad --term-old --term-good',
      }),
      ...Object.fromEntries(wordList('reset good bad old new skip log next').map((name) => [name, plain()])),
      terms: plain({ flags: '--term-good --term-bad' }),
    },
  },
  'filter-branch': raises(
    [losesWork, runsProgram],
    plain({
      flags: '-f --force --prune-empty --all',
      values:
        '--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter --subdirectory-filter --original --state-branch',
      rows: [{ names: '-d', value: 'write' }],
    }),
  ),
  replace: raises(
    [losesWork],
    plain({ flags: '-l --list -d --delete -f --force -g --graft -e --edit', values: '--format' }),
  ),
  'symbolic-ref': subcommand(
    // With one name it only prints.
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
    fallback: plain(),
    members: {
      list: plain({ flags: '--porcelain -z', values: '--expire' }),
      add: subcommand((operands, notes) => files('write')(operands.slice(0, 1), notes), {
        flags: '-f --force -d --detach --checkout --lock --guess-remote --track --orphan --relative-paths',
        values: '-b --reason',
        rows: [{ names: '-B', value: 'text', rule: losesWork }],
      }),
      move: subcommand(files('write'), { flags: '-f --force' }),
      remove: subcommand(files('remove'), { rows: [{ names: '-f --force', rule: losesWork }] }),
      lock: subcommand(files('read'), { values: '--reason' }),
      unlock: subcommand(files('read')),
      prune: plain({ flags: '-n --dry-run', values: '--expire' }),
      repair: subcommand(files('write')),
    },
  },
};

/** Kept here because only `reflog` has both reading and destroying members. */
export const reflogDestroyers: Readonly<Record<string, GitSubcommand>> = {
  expire: raises(
    [losesWork],
    plain({
      flags: '--all --rewrite --updateref --stale-fix -n --dry-run --single-worktree',
      values: '--expire --expire-unreachable',
    }),
  ),
  delete: raises([losesWork], plain({ flags: '--rewrite --updateref -n --dry-run' })),
  drop: raises([losesWork], plain({ flags: '--all --single-worktree' })),
};
