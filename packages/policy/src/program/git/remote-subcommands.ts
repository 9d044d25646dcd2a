import {
  files,
  foreign,
  type GitFamily,
  type GitSubcommand,
  noteRepository,
  plain,
  repositoryAndRefs,
  revisions,
  subcommand,
} from './operands.ts';
import {
  changesRemote,
  losesWork,
  otherRepository,
  pushes,
  reachesRemote,
  runsProgram,
  setsConfiguration,
} from './rules.ts';
import { fetchOptions, gitTable, mergeOptions, uploadPack } from './shared-options.ts';

/** Subcommands that reach or set up other repositories. */

export const remoteSubcommands: Readonly<Record<string, GitSubcommand | GitFamily>> = {
  fetch: { ...subcommand(repositoryAndRefs, fetchOptions, uploadPack), rules: [reachesRemote] },
  pull: {
    ...subcommand(repositoryAndRefs, mergeOptions, fetchOptions, uploadPack, {
      optionalValues: '-r --rebase -j --jobs',
    }),
    rules: [reachesRemote],
  },
  push: {
    ...subcommand(repositoryAndRefs, uploadPack, {
      flags:
        '--all --branches --mirror -d --delete --tags -n --dry-run --porcelain -f --force --force-if-includes --thin -u --set-upstream --progress --prune --no-verify --verify --follow-tags --atomic -4 --ipv4 -6 --ipv6',
      values: '--recurse-submodules -o --push-option',
      optionalValues: '--force-with-lease --signed',
      rows: [{ names: '--repo', value: (repository, notes) => noteRepository(repository, notes) }],
    }),
    rules: [pushes],
  },
  clone: {
    options: gitTable({
      flags: `--progress --reject-shallow -n --no-checkout --bare --mirror -l --local --no-hardlinks -s --shared --dissociate
        --single-branch --no-tags --tags --shallow-submodules -4 --ipv4 -6 --ipv6 --also-filter-submodules
        --remote-submodules --sparse`,
      values:
        '-j --jobs -o --origin -b --branch --depth --shallow-since --shallow-exclude --server-option --filter --ref-format --revision',
      optionalValues: '--recurse-submodules --recursive',
      rows: [
        { names: '-u --upload-pack', value: 'text', rule: runsProgram },
        { names: '-c --config', value: 'text', rule: setsConfiguration },
        { names: '--template', value: 'run', rule: setsConfiguration },
        { names: '--reference --reference-if-able', value: 'read', rule: otherRepository },
        { names: '--separate-git-dir', value: 'write', rule: otherRepository },
        {
          names: '--bundle-uri',
          value: (value, notes) => noteRepository(value, notes),
          rule: otherRepository,
        },
      ],
    }),
    operands([repository, target], notes) {
      if (repository) noteRepository(repository.text, notes);
      if (target) notes.path(target.text, 'write');
    },
    rules: [reachesRemote],
  },
  init: subcommand(files('write'), {
    flags: '--bare',
    values: '-b --initial-branch --object-format --ref-format',
    optionalValues: '--shared',
    rows: [
      { names: '--template', value: 'run', rule: setsConfiguration },
      { names: '--separate-git-dir', value: 'write', rule: otherRepository },
    ],
  }),
  remote: {
    fallback: plain(),
    members: {
      add: {
        ...subcommand(
          (operands, notes) => {
            for (const { text } of operands.slice(1)) noteRepository(text, notes);
          },
          {
            flags: '-f --fetch --tags --no-tags',
            values: '-t --track -m --master',
            optionalValues: '--mirror',
          },
        ),
        rules: [changesRemote],
      },
      'set-url': {
        ...subcommand(
          (operands, notes) => {
            for (const { text } of operands.slice(1)) noteRepository(text, notes);
          },
          { flags: '--push --add --delete' },
        ),
        rules: [changesRemote],
      },
      rename: { ...plain({ flags: '--progress' }), rules: [changesRemote] },
      remove: { ...plain(), rules: [changesRemote] },
      rm: { ...plain(), rules: [changesRemote] },
      'set-head': plain({ flags: '-a --auto -d --delete' }),
      'set-branches': { ...plain({ flags: '--add' }), rules: [changesRemote] },
      'get-url': plain({ flags: '--push --all' }),
      show: { ...plain({ flags: '-n' }), rules: [reachesRemote] },
      prune: { ...plain({ flags: '-n --dry-run' }), rules: [reachesRemote] },
      update: { ...plain({ flags: '-p --prune' }), rules: [reachesRemote] },
    },
  },
  submodule: {
    fallback: plain({ flags: '--cached' }),
    members: {
      status: subcommand(files('read'), { flags: '--cached --recursive' }),
      summary: subcommand(revisions, { flags: '--cached --files', values: '-n --summary-limit' }),
      init: { ...subcommand(files('read')), rules: [setsConfiguration] },
      update: {
        ...subcommand(files('write'), {
          flags:
            '--init --remote -N --no-fetch -f --force --checkout --merge --rebase --recursive --progress --dissociate --single-branch --recommend-shallow',
          values: '--depth -j --jobs --filter',
          rows: [{ names: '--reference', value: 'read', rule: otherRepository }],
        }),
        rules: [reachesRemote, setsConfiguration],
      },
      add: {
        options: gitTable({
          flags: '-f --force --progress --dissociate',
          values: '-b --branch --name --depth',
          rows: [{ names: '--reference', value: 'read', rule: otherRepository }],
        }),
        operands([repository, target], notes) {
          if (repository) noteRepository(repository.text, notes);
          if (target) notes.path(target.text, 'write');
        },
        rules: [reachesRemote, setsConfiguration],
      },
      foreach: { ...plain({ flags: '--recursive' }), rules: [runsProgram] },
      sync: { ...subcommand(files('read'), { flags: '--recursive' }), rules: [setsConfiguration] },
      deinit: { ...subcommand(files('write'), { flags: '-f --force --all' }), rules: [losesWork] },
      'set-url': {
        ...subcommand((operands, notes) => {
          for (const { text } of operands.slice(1)) noteRepository(text, notes);
        }),
        rules: [setsConfiguration],
      },
      'set-branch': {
        ...plain({ flags: '-d --default', values: '-b --branch' }),
        rules: [setsConfiguration],
      },
      absorbgitdirs: subcommand(files('write')),
    },
  },
  'send-email': { ...subcommand(revisions), rules: [runsProgram, pushes] },
  daemon: { ...subcommand(files('read')), rules: [runsProgram, pushes] },
  p4: foreign([runsProgram, pushes]),
  svn: foreign([runsProgram, pushes]),
  lfs: foreign([runsProgram, pushes]),
};
