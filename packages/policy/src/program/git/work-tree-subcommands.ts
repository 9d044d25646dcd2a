import type { Notes } from '../notes.ts';
import type { OptionSection } from '../options.ts';
import { type GitFamily, type GitSubcommand, pathless, raises, subcommand } from './git-subcommand.ts';
import { files, filesOrStream, pathspecs, revisions, revisionsOrPaths, uncheckedNames } from './operands.ts';
import { losesWork, readsFile, unsafePatch, writesFile } from './rules.ts';
import { diffOptions, logOptions, pathspecFile } from './shared-options.ts';

/** Subcommands that record or change the files of the work tree. */

const checkoutOptions: OptionSection = {
  flags: `--guess --overlay --recurse-submodules --progress -m --merge -d --detach --overwrite-ignore
    --ignore-other-worktrees -2 --ours -3 --theirs -p --patch --ignore-skip-worktree-bits -l`,
  values: '--conflict --orphan -b',
  optionalValues: '-t --track',
  rows: [
    { names: '-f --force --discard-changes', rule: losesWork },
    { names: '-B', value: 'text', rule: losesWork },
  ],
};

/** With one of these, `git checkout` creates a branch, and its operands are revisions. */
const branchOptions: readonly (readonly string[])[] = [['-b'], ['-B'], ['--orphan'], ['-t', '--track']];

/** Notes the directory that a patch is applied in. */
function notePatchDirectory(directory: string, notes: Notes): void {
  notes.path(directory, 'write', { makes: false });
}

const stashOptions: OptionSection = {
  flags: '-p --patch -S --staged -k --keep-index -u --include-untracked -a --all',
  values: '-m --message',
};
const stashPush = subcommand(pathspecs('read'), pathspecFile, stashOptions);

export const workTreeSubcommands: Readonly<Record<string, GitSubcommand | GitFamily>> = {
  add: subcommand(pathspecs('read'), pathspecFile, {
    flags:
      '-n --dry-run -i --interactive -p --patch -e --edit -f --force -u --update --renormalize -N --intent-to-add -A --all --ignore-removal --refresh --ignore-errors --ignore-missing --sparse --warn-embedded-repo',
    values: '--chmod',
  }),
  stage: subcommand(pathspecs('read'), pathspecFile, { flags: '-n -p -f -u -A --all --update' }),
  commit: subcommand(pathspecs('read'), pathspecFile, {
    flags: `--reset-author -s --signoff -e --edit --status -a --all -i --include --interactive -p --patch -o --only -n --no-verify
        --verify --dry-run --short --branch --ahead-behind --long -z --null --amend --no-post-rewrite --allow-empty
        --allow-empty-message`,
    values:
      '--author --date -m --message -c --reedit-message -C --reuse-message --fixup --squash --trailer --cleanup',
    optionalValues: '-S --gpg-sign -u --untracked-files --porcelain',
    rows: [
      { names: '-F --file', value: 'read', stream: true, rule: readsFile },
      { names: '-t --template', value: 'read', rule: readsFile },
    ],
  }),
  checkout: {
    ...subcommand(
      // `git checkout -` is the previous branch.
      (operands, notes) =>
        revisionsOrPaths('write')(
          operands.filter(({ text, afterDashes }) => afterDashes || text !== '-'),
          notes,
        ),
      pathspecFile,
      checkoutOptions,
    ),
    noteWholeLine(state, operands, notes) {
      const makesBranch = branchOptions.some((names) => state.isOn(names));
      if (state.wasGiven('--pathspec-from-file')) notes.raise(losesWork, '--pathspec-from-file');
      // `--orphan=x --no-orphan main`: the text alone does not say whether `main` is a branch or a file.
      if (!makesBranch && state.wasGiven(...branchOptions.flat())) notes.raise(losesWork, operands[0]?.text);
      // The spelling or position of an operand can make it a path. The first one is also a path if such a file exists.
      const replaced = operands.find(
        ({ text, afterDashes }, i) =>
          afterDashes || (!makesBranch && (i > 0 || /[*?[\\]|^[.:]|\/$/.test(text))),
      );
      const [first] = operands;
      if (first && first !== replaced && !makesBranch && first.text !== '-')
        notes.raiseIfThere(losesWork, first.text, replaced?.text);
      else if (replaced) notes.raise(losesWork, replaced.text);
    },
  },
  switch: pathless({
    ...checkoutOptions,
    values: '--conflict --orphan -c --create',
    rows: [
      { names: '-f --force --discard-changes', rule: losesWork },
      { names: '-C --force-create', value: 'text', rule: losesWork },
    ],
  }),
  restore: {
    ...subcommand(pathspecs('write'), pathspecFile, {
      flags:
        '-S --staged -W --worktree --ignore-unmerged --overlay --recurse-submodules --progress -m --merge -2 --ours -3 --theirs -p --patch --ignore-skip-worktree-bits',
      values: '-s --source --conflict',
    }),
    noteWholeLine(state, _operands, notes) {
      const isIndexOnly = state.isOn(['-S', '--staged']) && !state.isOn(['-W', '--worktree']);
      if (!isIndexOnly) notes.raise(losesWork, 'restore');
    },
  },
  reset: subcommand(revisions, pathspecFile, {
    flags: '--no-refresh --refresh --mixed --soft -p --patch -N --intent-to-add',
    optionalValues: '--recurse-submodules',
    rows: [{ names: '--hard --merge --keep', rule: losesWork }],
  }),
  rm: subcommand(pathspecs('remove'), pathspecFile, {
    flags: '-n --dry-run --cached -r --ignore-unmatch --sparse',
    rows: [{ names: '-f --force', rule: losesWork }],
  }),
  mv: subcommand(
    (operands, notes) => {
      files('remove')(operands.slice(0, 1), notes);
      files('write')(operands.slice(1), notes);
    },
    { flags: '-n --dry-run -k --sparse', rows: [{ names: '-f --force', rule: losesWork }] },
  ),
  clean: raises(
    [losesWork],
    subcommand(pathspecs('remove'), {
      flags: '-n --dry-run -f --force -i --interactive -d -x -X',
      values: '-e --exclude',
    }),
  ),
  stash: {
    fallback: stashPush,
    members: {
      push: stashPush,
      save: pathless(stashOptions),
      list: subcommand(uncheckedNames, diffOptions, logOptions),
      show: subcommand(revisions, diffOptions, logOptions, {
        flags: '-u --include-untracked --only-untracked',
      }),
      pop: pathless({ flags: '--index' }),
      apply: pathless({ flags: '--index' }),
      branch: pathless(),
      create: pathless(),
      store: pathless({ values: '-m --message' }),
      drop: raises([losesWork], pathless()),
      clear: raises([losesWork], pathless()),
    },
  },
  apply: subcommand(
    // A patch is executed like a script, so the digest covers it (AP-8).
    filesOrStream('run'),
    {
      flags: `--no-add --stat --allow-binary-replacement --binary --numstat --summary --check --index -N --intent-to-add --cached
        --apply -3 --3way --ignore-space-change --ignore-whitespace -R --reverse --unidiff-zero --reject --allow-overlap
        --inaccurate-eof --recount --allow-empty -z --ours --theirs --union`,
      values: '--exclude --include -p -C --whitespace',
      rows: [
        { names: '--unsafe-paths', rule: unsafePatch },
        { names: '--directory', value: notePatchDirectory },
        { names: '--build-fake-ancestor', value: 'write', rule: writesFile },
      ],
    },
  ),
  am: subcommand(files('run'), {
    flags: `-i --interactive -b --binary -3 --3way -s --signoff -u --utf8 -k --keep --keep-non-patch -m --message-id --keep-cr
        --no-keep-cr -c --scissors --ignore-space-change --ignore-whitespace --reject --continue -r --resolved --skip --abort
        --quit --allow-empty --committer-date-is-author-date --ignore-date --rerere-autoupdate -n --no-verify`,
    values: '--quoted-cr --whitespace --exclude --include -C -p --patch-format --resolvemsg --empty',
    optionalValues: '-S --gpg-sign --show-current-patch',
    rows: [{ names: '--directory', value: notePatchDirectory }],
  }),
  rerere: subcommand(pathspecs('read')),
  'update-index': subcommand(files('read'), {
    flags:
      '--add --replace --remove --unmerged --refresh --really-refresh --assume-unchanged --no-assume-unchanged --skip-worktree --no-skip-worktree --force-remove --again -g --ignore-missing -z',
    values: '--chmod',
  }),
  'sparse-checkout': {
    fallback: pathless(),
    members: Object.fromEntries(
      ['list', 'init', 'set', 'add', 'reapply', 'disable', 'check-rules', 'clean'].map((name) => [
        name,
        {
          ...pathless({
            flags: '--cone --no-cone --sparse-index --no-sparse-index --skip-checks --stdin -z -f -n',
            rows: [{ names: '--rules-file', value: 'read', rule: readsFile }],
          }),
          ...(name === 'clean' && { rules: [losesWork] }),
        },
      ]),
    ),
  },
};
