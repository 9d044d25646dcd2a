import type { OptionSection } from '../options.ts';
import { files, names, revisions, writtenRefs } from './operands.ts';
import { losesWork, readsFile, runsProgram, writesKnownBranches } from './rules.ts';
import { diffOptions, gitTable, logOptions, mergeOptions, strategyRow } from './shared-options.ts';
import { type GitFamily, type GitSubcommand, plain } from './subcommand.ts';

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
    options: gitTable({
      flags:
        '-r --remotes -a --all -d --delete -m --move -c --copy -l --list --show-current --create-reflog --edit-description -f --force -i --ignore-case --unset-upstream --recurse-submodules --omit-empty --set-upstream',
      values: '-u --set-upstream-to --sort --points-at --format',
      optionalValues:
        '-t --track --color --contains --no-contains --with --without --abbrev --merged --no-merged --column',
      rows: [
        { names: '-D', rule: losesWork },
        { names: '-M', rule: losesWork },
        { names: '-C', rule: losesWork },
      ],
    }),
    operands: names,
    also(state, _operands, judgement) {
      if (state.wasGiven('-f', '--force')) judgement.raise(losesWork, '--force');
    },
  },
  merge: {
    options: gitTable(mergeOptions, {
      rows: [{ names: '-F --file', value: 'read', stream: true, rule: readsFile }],
    }),
    operands: names,
  },
  rebase: {
    options: gitTable({
      flags: `--keep-base --no-verify --verify -n --no-stat --stat --signoff --committer-date-is-author-date --reset-author-date
        --ignore-date --ignore-whitespace -f --force-rebase --no-ff --ff --continue --skip --abort --quit --edit-todo
        --show-current-patch --apply -m --merge -i --interactive -p --preserve-merges --rerere-autoupdate -k --keep-empty
        --autosquash --update-refs --autostash --allow-empty-message --fork-point --root --reschedule-failed-exec
        --reapply-cherry-picks`,
      values: '--onto --whitespace --empty -X --strategy-option -C',
      optionalValues: '-S --gpg-sign -r --rebase-merges',
      rows: [strategyRow, { names: '-x --exec', value: 'text', rule: runsProgram }],
    }),
    operands: names,
  },
  'cherry-pick': { options: gitTable(sequencer), operands: names },
  revert: { options: gitTable(sequencer), operands: names },
  tag: {
    options: gitTable({
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
    operands: names,
  },
  notes: {
    fallback: plain({ values: '--ref' }),
    isOpen: true,
    members: Object.fromEntries(
      ['add', 'append', 'copy', 'edit', 'list', 'show', 'merge', 'remove', 'prune', 'get-ref'].map((name) => [
        name,
        {
          options: gitTable({
            flags:
              '-f --force --allow-empty --stdin --ignore-missing -n --dry-run --commit --abort --separator --stripspace',
            values: '-m --message -c --reedit-message -C --reuse-message -s --strategy --ref --for-rewrite',
            rows: [{ names: '-F --file', value: 'read', stream: true, rule: readsFile }],
          }),
          operands: names,
        } satisfies GitSubcommand,
      ]),
    ),
  },
  bisect: {
    fallback: plain(),
    isOpen: true,
    members: {
      run: { options: gitTable({}), operands: names, rules: [runsProgram] },
      visualize: { options: gitTable(logOptions, diffOptions), operands: names, rules: [runsProgram] },
      view: { options: gitTable(logOptions, diffOptions), operands: names, rules: [runsProgram] },
      replay: { options: gitTable({}), operands: files('read') },
      start: {
        options: gitTable({
          flags: '--no-checkout --first-parent',
          values: '--term-new --term-bad --term-old --term-good',
        }),
        operands: revisions,
      },
      reset: plain(),
      good: plain(),
      bad: plain(),
      old: plain(),
      new: plain(),
      skip: plain(),
      log: plain(),
      next: plain(),
      terms: plain({ flags: '--term-good --term-bad' }),
    },
  },
  'filter-branch': {
    ...plain({
      flags: '-f --force --prune-empty --all',
      values:
        '--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter --subdirectory-filter --original --state-branch',
      rows: [{ names: '-d', value: 'write' }],
    }),
    rules: [losesWork, runsProgram],
  },
  replace: {
    ...plain({ flags: '-l --list -d --delete -f --force -g --graft -e --edit', values: '--format' }),
    rules: [losesWork],
  },
  'symbolic-ref': {
    options: gitTable({ flags: '-d --delete --short --recurse', values: '-m' }),
    // With one name it only tells.
    operands: (operands, judgement) => {
      if (operands.length > 1) writtenRefs(operands.slice(0, 1), judgement);
    },
  },
  'update-ref': {
    options: gitTable({
      flags: '--no-deref --create-reflog -z',
      values: '-m',
      rows: [
        { names: '-d', rule: losesWork },
        { names: '--stdin', rule: writesKnownBranches },
      ],
    }),
    operands: writtenRefs,
  },
  worktree: {
    fallback: plain(),
    members: {
      list: plain({ flags: '--porcelain -z', values: '--expire' }),
      add: {
        options: gitTable({
          flags: '-f --force -d --detach --checkout --lock --guess-remote --track --orphan --relative-paths',
          values: '-b --reason',
          rows: [{ names: '-B', value: 'text', rule: losesWork }],
        }),
        operands: (operands, judgement) => files('write')(operands.slice(0, 1), judgement),
      },
      move: { options: gitTable({ flags: '-f --force' }), operands: files('write') },
      remove: {
        options: gitTable({ rows: [{ names: '-f --force', rule: losesWork }] }),
        operands: files('remove'),
      },
      lock: { options: gitTable({ values: '--reason' }), operands: files('read') },
      unlock: { options: gitTable({}), operands: files('read') },
      prune: plain({ flags: '-n --dry-run', values: '--expire' }),
      repair: { options: gitTable({}), operands: files('write') },
    },
  },
};

/** Kept here because only `reflog` has both reading and destroying members. */
export const reflogDestroyers: Readonly<Record<string, GitSubcommand>> = {
  expire: {
    ...plain({
      flags: '--all --rewrite --updateref --stale-fix -n --dry-run --single-worktree',
      values: '--expire --expire-unreachable',
    }),
    rules: [losesWork],
  },
  delete: { ...plain({ flags: '--rewrite --updateref -n --dry-run' }), rules: [losesWork] },
  drop: { ...plain({ flags: '--all --single-worktree' }), rules: [losesWork] },
};
