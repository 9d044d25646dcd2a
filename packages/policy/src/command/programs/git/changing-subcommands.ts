import { files, judgeRepository, names, pathspecs, repositoryAndRefs, revisions, revisionsOrPaths } from './operands.ts';
import { losesWork, otherRepository, pushes, reachesRemote, readsFile, runsProgram, setsConfiguration, unsafePatch, writesFile } from './rules.ts';
import { diffOptions, fetchOptions, gitTable, logOptions, mergeOptions, type Part, pathspecFile, strategyRow, uploadPack } from './shared-options.ts';
import type { GitFamily, GitSubcommand } from './subcommand.ts';

/** Subcommands that change the work tree, the repository or another one. */

const checkoutOptions: Part = {
  flags: `--guess --overlay --recurse-submodules --progress -m --merge -d --detach --overwrite-ignore
    --ignore-other-worktrees -2 --ours -3 --theirs -p --patch --ignore-skip-worktree-bits -l`,
  values: '--conflict --orphan -b',
  optionalValues: '-t --track',
  rows: [
    { names: '-f --force --discard-changes', rule: losesWork },
    { names: '-B', value: 'text', rule: losesWork },
  ],
};

const sequencer: Part = {
  flags: '--quit --continue --abort --skip -n --no-commit -e --edit --signoff --rerere-autoupdate --ff --allow-empty --allow-empty-message --keep-redundant-commits --reference -x -r',
  values: '--cleanup -m --mainline -X --strategy-option --empty',
  optionalValues: '-S --gpg-sign',
  rows: [{ ...strategyRow, names: '--strategy' }, { names: '-s' }],
};

const plain = (part: Part = {}): GitSubcommand => ({ options: gitTable(part), operands: names });

export const changingSubcommands: Readonly<Record<string, GitSubcommand | GitFamily>> = {
  add: {
    options: gitTable(pathspecFile, {
      flags: '-n --dry-run -i --interactive -p --patch -e --edit -f --force -u --update --renormalize -N --intent-to-add -A --all --ignore-removal --refresh --ignore-errors --ignore-missing --sparse --warn-embedded-repo',
      values: '--chmod',
    }),
    operands: pathspecs('read'),
  },
  stage: { options: gitTable(pathspecFile, { flags: '-n -p -f -u -A --all --update' }), operands: pathspecs('read') },
  commit: {
    options: gitTable(pathspecFile, {
      flags: `--reset-author -s --signoff -e --edit --status -a --all -i --include --interactive -p --patch -o --only -n --no-verify
        --verify --dry-run --short --branch --ahead-behind --long -z --null --amend --no-post-rewrite --allow-empty
        --allow-empty-message`,
      values: '--author --date -m --message -c --reedit-message -C --reuse-message --fixup --squash --trailer --cleanup',
      optionalValues: '-S --gpg-sign -u --untracked-files --porcelain',
      rows: [
        { names: '-F --file', value: 'read', rule: readsFile },
        { names: '-t --template', value: 'read', rule: readsFile },
      ],
    }),
    operands: pathspecs('read'),
  },
  branch: {
    options: gitTable({
      flags: '-r --remotes -a --all -d --delete -m --move -c --copy -l --list --show-current --create-reflog --edit-description -f --force -i --ignore-case --unset-upstream --recurse-submodules --omit-empty --set-upstream',
      values: '-u --set-upstream-to --sort --points-at --format',
      optionalValues: '-t --track --color --contains --no-contains --with --without --abbrev --merged --no-merged --column',
      rows: [{ names: '-D', rule: losesWork }, { names: '-M', rule: losesWork }, { names: '-C', rule: losesWork }],
    }),
    operands: names,
    also(seen, _operands, judgement) {
      if (seen.has('-f') || seen.has('--force')) judgement.raise(losesWork, '--force');
    },
  },
  checkout: {
    options: gitTable(pathspecFile, checkoutOptions),
    operands(operands, judgement) {
      revisionsOrPaths('write')(operands, judgement);
      const replaced = operands.find(({ text, afterDashes }) => afterDashes || text === '.' || text.startsWith(':'));
      if (replaced) judgement.raise(losesWork, replaced.text);
    },
  },
  switch: {
    options: gitTable({ ...checkoutOptions, values: '--conflict --orphan -c --create', rows: [{ names: '-f --force --discard-changes', rule: losesWork }, { names: '-C --force-create', value: 'text', rule: losesWork }] }),
    operands: names,
  },
  restore: {
    options: gitTable(pathspecFile, { flags: '-S --staged -W --worktree --ignore-unmerged --overlay --recurse-submodules --progress -m --merge -2 --ours -3 --theirs -p --patch --ignore-skip-worktree-bits', values: '-s --source --conflict' }),
    operands: pathspecs('write'),
    also(seen, _operands, judgement) {
      const isIndexOnly = (seen.has('-S') || seen.has('--staged')) && !seen.has('-W') && !seen.has('--worktree');
      if (!isIndexOnly) judgement.raise(losesWork, 'restore');
    },
  },
  reset: {
    options: gitTable(pathspecFile, { flags: '--no-refresh --refresh --mixed --soft -p --patch -N --intent-to-add', optionalValues: '--recurse-submodules', rows: [{ names: '--hard', rule: losesWork }, { names: '--merge', rule: losesWork }, { names: '--keep', rule: losesWork }] }),
    operands: revisions,
  },
  rm: {
    options: gitTable(pathspecFile, { flags: '-n --dry-run --cached -r --ignore-unmatch --sparse', rows: [{ names: '-f --force', rule: losesWork }] }),
    operands: pathspecs('write'),
  },
  mv: { options: gitTable({ flags: '-n --dry-run -k --sparse', rows: [{ names: '-f --force', rule: losesWork }] }), operands: files('write') },
  clean: { options: gitTable({ flags: '-n --dry-run -f --force -i --interactive -d -x -X', values: '-e --exclude' }), operands: pathspecs('write'), rules: [losesWork] },
  merge: { options: gitTable(mergeOptions, { rows: [{ names: '-F --file', value: 'read', rule: readsFile }] }), operands: names },
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
  stash: {
    fallback: { options: gitTable(pathspecFile, { flags: '-p --patch -S --staged -k --keep-index -u --include-untracked -a --all', values: '-m --message' }), operands: pathspecs('read') },
    members: {
      push: { options: gitTable(pathspecFile, { flags: '-p --patch -S --staged -k --keep-index -u --include-untracked -a --all', values: '-m --message' }), operands: pathspecs('read') },
      save: { options: gitTable({ flags: '-p --patch -S --staged -k --keep-index -u --include-untracked -a --all', values: '-m --message' }), operands: names },
      list: { options: gitTable(diffOptions, logOptions), operands: names },
      show: { options: gitTable(diffOptions, logOptions, { flags: '-u --include-untracked --only-untracked' }), operands: revisions },
      pop: plain({ flags: '--index' }),
      apply: plain({ flags: '--index' }),
      branch: plain(),
      create: plain(),
      store: plain({ values: '-m --message' }),
      drop: { ...plain(), rules: [losesWork] },
      clear: { ...plain(), rules: [losesWork] },
    },
  },
  tag: {
    options: gitTable({
      flags: '-l --list -v --verify -a --annotate -e --edit -s --sign --create-reflog -i --ignore-case --omit-empty',
      values: '-m --message --cleanup -u --local-user --sort --points-at --format --trailer',
      optionalValues: '-n --column --contains --no-contains --with --without --merged --no-merged --color',
      rows: [{ names: '-F --file', value: 'read', rule: readsFile }, { names: '-d --delete', rule: losesWork }, { names: '-f --force', rule: losesWork }],
    }),
    operands: names,
  },
  fetch: { options: gitTable(fetchOptions, uploadPack), operands: repositoryAndRefs, rules: [reachesRemote] },
  pull: {
    options: gitTable(mergeOptions, fetchOptions, uploadPack, { optionalValues: '-r --rebase' }),
    operands: repositoryAndRefs,
    rules: [reachesRemote],
  },
  push: {
    options: gitTable(uploadPack, {
      flags: '--all --branches --mirror -d --delete --tags -n --dry-run --porcelain -f --force --force-if-includes --thin -u --set-upstream --progress --prune --no-verify --verify --follow-tags --atomic -4 --ipv4 -6 --ipv6',
      values: '--repo --recurse-submodules -o --push-option',
      optionalValues: '--force-with-lease --signed',
    }),
    operands: repositoryAndRefs,
    rules: [pushes],
  },
  clone: {
    options: gitTable({
      flags: `--progress --reject-shallow -n --no-checkout --bare --mirror -l --local --no-hardlinks -s --shared --dissociate
        --single-branch --no-tags --tags --shallow-submodules -4 --ipv4 -6 --ipv6 --also-filter-submodules
        --remote-submodules --sparse`,
      values: '-j --jobs -o --origin -b --branch --depth --shallow-since --shallow-exclude --server-option --filter --ref-format --revision',
      optionalValues: '--recurse-submodules --recursive',
      rows: [
        { names: '-u --upload-pack', value: 'text', rule: runsProgram },
        { names: '-c --config', value: 'text', rule: setsConfiguration },
        { names: '--template', value: 'run', rule: setsConfiguration },
        { names: '--reference --reference-if-able', value: 'read', rule: otherRepository },
        { names: '--separate-git-dir', value: 'write', rule: otherRepository },
        { names: '--bundle-uri', value: (value, judgement) => judgeRepository(value, judgement), rule: otherRepository },
      ],
    }),
    operands([repository, target], judgement) {
      if (repository) judgeRepository(repository.text, judgement);
      if (target) judgement.path(target.text, 'write');
    },
    rules: [reachesRemote],
  },
  init: {
    options: gitTable({
      flags: '--bare',
      values: '-b --initial-branch --object-format --ref-format',
      optionalValues: '--shared',
      rows: [
        { names: '--template', value: 'run', rule: setsConfiguration },
        { names: '--separate-git-dir', value: 'write', rule: otherRepository },
      ],
    }),
    operands: files('write'),
  },
  remote: {
    fallback: plain(),
    members: {
      add: { options: gitTable({ flags: '-f --fetch --tags --no-tags', values: '-t --track -m --master', optionalValues: '--mirror' }), operands: (operands, judgement) => { for (const { text } of operands.slice(1)) judgeRepository(text, judgement); } },
      'set-url': { options: gitTable({ flags: '--push --add --delete' }), operands: (operands, judgement) => { for (const { text } of operands.slice(1)) judgeRepository(text, judgement); } },
      rename: plain({ flags: '--progress' }),
      remove: plain(),
      rm: plain(),
      'set-head': plain({ flags: '-a --auto -d --delete' }),
      'set-branches': plain({ flags: '--add' }),
      'get-url': plain({ flags: '--push --all' }),
      show: { ...plain({ flags: '-n' }), rules: [reachesRemote] },
      prune: { ...plain({ flags: '-n --dry-run' }), rules: [reachesRemote] },
      update: { ...plain({ flags: '-p --prune' }), rules: [reachesRemote] },
    },
  },
  worktree: {
    fallback: plain(),
    members: {
      list: plain({ flags: '--porcelain -z', values: '--expire' }),
      add: { options: gitTable({ flags: '-f --force -d --detach --checkout --lock --guess-remote --track --orphan --relative-paths', values: '-b --reason', rows: [{ names: '-B', value: 'text', rule: losesWork }] }), operands: (operands, judgement) => files('write')(operands.slice(0, 1), judgement) },
      move: { options: gitTable({ flags: '-f --force' }), operands: files('write') },
      remove: { options: gitTable({ rows: [{ names: '-f --force', rule: losesWork }] }), operands: files('write') },
      lock: { options: gitTable({ values: '--reason' }), operands: files('read') },
      unlock: { options: gitTable({}), operands: files('read') },
      prune: plain({ flags: '-n --dry-run', values: '--expire' }),
      repair: { options: gitTable({}), operands: files('write') },
    },
  },
  submodule: {
    fallback: plain({ flags: '--cached' }),
    members: {
      status: { options: gitTable({ flags: '--cached --recursive' }), operands: files('read') },
      summary: { options: gitTable({ flags: '--cached --files', values: '-n --summary-limit' }), operands: revisions },
      init: { options: gitTable({}), operands: files('read'), rules: [setsConfiguration] },
      update: { options: gitTable({ flags: '--init --remote -N --no-fetch -f --force --checkout --merge --rebase --recursive --progress --dissociate --single-branch --recommend-shallow', values: '--depth -j --jobs --filter', rows: [{ names: '--reference', value: 'read', rule: otherRepository }] }), operands: files('write'), rules: [reachesRemote, setsConfiguration] },
      add: {
        options: gitTable({ flags: '-f --force --progress --dissociate', values: '-b --branch --name --depth', rows: [{ names: '--reference', value: 'read', rule: otherRepository }] }),
        operands([repository, target], judgement) {
          if (repository) judgeRepository(repository.text, judgement);
          if (target) judgement.path(target.text, 'write');
        },
        rules: [reachesRemote, setsConfiguration],
      },
      foreach: { options: gitTable({ flags: '--recursive' }), operands: names, rules: [runsProgram] },
      sync: { options: gitTable({ flags: '--recursive' }), operands: files('read'), rules: [setsConfiguration] },
      deinit: { options: gitTable({ flags: '-f --force --all' }), operands: files('write'), rules: [losesWork] },
      'set-url': { options: gitTable({}), operands: (operands, judgement) => { for (const { text } of operands.slice(1)) judgeRepository(text, judgement); }, rules: [setsConfiguration] },
      'set-branch': { ...plain({ flags: '-d --default', values: '-b --branch' }), rules: [setsConfiguration] },
      absorbgitdirs: { options: gitTable({}), operands: files('write') },
    },
  },
  bisect: {
    fallback: plain(),
    isOpen: true,
    members: {
      run: { options: gitTable({}), operands: names, rules: [runsProgram] },
      visualize: { options: gitTable(logOptions, diffOptions), operands: names, rules: [runsProgram] },
      view: { options: gitTable(logOptions, diffOptions), operands: names, rules: [runsProgram] },
      replay: { options: gitTable({}), operands: files('read') },
      start: { options: gitTable({ flags: '--no-checkout --first-parent', values: '--term-new --term-bad --term-old --term-good' }), operands: revisions },
      reset: plain(), good: plain(), bad: plain(), old: plain(), new: plain(), skip: plain(), log: plain(), next: plain(), terms: plain({ flags: '--term-good --term-bad' }),
    },
  },
  apply: {
    options: gitTable({
      flags: `--no-add --stat --allow-binary-replacement --binary --numstat --summary --check --index -N --intent-to-add --cached
        --apply -3 --3way --ignore-space-change --ignore-whitespace -R --reverse --unidiff-zero --reject --allow-overlap
        --inaccurate-eof --recount --allow-empty -z --ours --theirs --union`,
      values: '--exclude --include -p -C --whitespace --directory',
      rows: [
        { names: '--unsafe-paths', rule: unsafePatch },
        { names: '--build-fake-ancestor', value: 'write', rule: writesFile },
      ],
    }),
    operands: files('read'),
  },
  am: {
    options: gitTable({
      flags: `-i --interactive -b --binary -3 --3way -s --signoff -u --utf8 -k --keep --keep-non-patch -m --message-id --keep-cr
        --no-keep-cr -c --scissors --ignore-space-change --ignore-whitespace --reject --continue -r --resolved --skip --abort
        --quit --allow-empty --committer-date-is-author-date --ignore-date --rerere-autoupdate -n --no-verify`,
      values: '--quoted-cr --whitespace --directory --exclude --include -C -p --patch-format --resolvemsg --empty',
      optionalValues: '-S --gpg-sign --show-current-patch',
    }),
    operands: files('read'),
  },
  notes: {
    fallback: plain({ values: '--ref' }),
    isOpen: true,
    members: Object.fromEntries(
      ['add', 'append', 'copy', 'edit', 'list', 'show', 'merge', 'remove', 'prune', 'get-ref'].map((name) => [
        name,
        {
          options: gitTable({
            flags: '-f --force --allow-empty --stdin --ignore-missing -n --dry-run --commit --abort --separator --stripspace',
            values: '-m --message -c --reedit-message -C --reuse-message -s --strategy --ref --for-rewrite',
            rows: [{ names: '-F --file', value: 'read', rule: readsFile }],
          }),
          operands: names,
        } satisfies GitSubcommand,
      ]),
    ),
  },
  'sparse-checkout': {
    fallback: plain(),
    members: Object.fromEntries(
      ['list', 'init', 'set', 'add', 'reapply', 'disable', 'check-rules', 'clean'].map((name) => [
        name,
        { options: gitTable({ flags: '--cone --no-cone --sparse-index --no-sparse-index --skip-checks --stdin -z -f -n', rows: [{ names: '--rules-file', value: 'read', rule: readsFile }] }), operands: names },
      ]),
    ),
  },
  gc: { options: gitTable({ flags: '--cruft --aggressive --auto --force --keep-largest-pack --detach', values: '--max-cruft-size', rows: [{ names: '--prune', value: 'text', optional: true, rule: losesWork }] }), operands: names },
  repack: { options: gitTable({ flags: '-a -A -d -f -F -l --local -b --write-bitmap-index --cruft -n -k -i -m', values: '--window --depth --threads', optionalValues: '-g --geometric' }), operands: names },
  'pack-refs': plain({ flags: '--all --prune --auto' }),
  rerere: { options: gitTable({}), operands: pathspecs('read') },
  'update-index': { options: gitTable({ flags: '--add --replace --remove --unmerged --refresh --really-refresh --assume-unchanged --no-assume-unchanged --skip-worktree --no-skip-worktree --force-remove --again -g --ignore-missing', values: '--chmod' }), operands: files('read') },
  'symbolic-ref': plain({ flags: '-d --delete --short --recurse', values: '-m' }),
  'update-ref': { options: gitTable({ flags: '--no-deref --stdin --create-reflog -z', values: '-m', rows: [{ names: '-d', rule: losesWork }] }), operands: names },
  prune: { ...plain({ flags: '-n --dry-run --progress', values: '--expire' }), rules: [losesWork] },
  replace: { ...plain({ flags: '-l --list -d --delete -f --force --graft --edit', values: '--format' }), rules: [losesWork] },
  'filter-branch': { ...plain({ flags: '-f --force --prune-empty --all', values: '--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter --subdirectory-filter --original -d --state-branch' }), rules: [losesWork, runsProgram] },
  'hash-object': { options: gitTable({ flags: '-w --stdin --stdin-paths --no-filters --literally', values: '-t --path' }), operands: files('read') },
  hook: { ...plain(), rules: [runsProgram] },
  difftool: {
    options: gitTable(diffOptions, { flags: '-g --gui -d --dir-diff -y --no-prompt --prompt --symlinks --tool-help --trust-exit-code', values: '-t --tool', rows: [{ names: '-x --extcmd', value: 'text', rule: runsProgram }] }),
    operands: revisions,
    rules: [runsProgram],
  },
  mergetool: { options: gitTable({ flags: '-g --gui -y --no-prompt --prompt --tool-help', values: '-t --tool', rows: [{ names: '-O', value: 'read' }] }), operands: files('read'), rules: [runsProgram] },
  'send-email': { options: gitTable({}), operands: revisions, rules: [runsProgram, pushes] },
  daemon: { options: gitTable({}), operands: files('read'), rules: [runsProgram, pushes] },
  instaweb: { ...plain({ flags: '--start --stop --restart -l --local', values: '-d --httpd -p --port -b --browser' }), rules: [runsProgram] },
  p4: { ...plain(), rules: [runsProgram, pushes] },
  svn: { ...plain(), rules: [runsProgram, pushes] },
  lfs: { ...plain(), rules: [runsProgram, pushes] },
  maintenance: { ...plain({ flags: '--auto', values: '--task --schedule --scheduler' }), rules: [setsConfiguration] },
  credential: { ...plain(), rules: [runsProgram] },
};

/** Kept here because only `reflog` has both reading and destroying members. */
export const reflogDestroyers: Readonly<Record<string, GitSubcommand>> = {
  expire: { ...plain({ flags: '--all --rewrite --updateref --stale-fix -n --dry-run --single-worktree', values: '--expire --expire-unreachable' }), rules: [losesWork] },
  delete: { ...plain({ flags: '--rewrite --updateref -n --dry-run' }), rules: [losesWork] },
  drop: { ...plain({ flags: '--all --single-worktree' }), rules: [losesWork] },
};

