import {
  type GitFamily,
  type GitSubcommand,
  pathless,
  raises,
  separateProgram,
  subcommand,
} from './git-subcommand.ts';
import {
  files,
  noteRepository,
  remoteAddresses,
  repositoryAndRefs,
  repositoryAndTarget,
  revisions,
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
import { fetchOptions, mergeOptions, uploadPack } from './shared-options.ts';

/** Subcommands that reach or set up other repositories. */

export const remoteSubcommands: Readonly<Record<string, GitSubcommand | GitFamily>> = {
  fetch: raises([reachesRemote], subcommand(repositoryAndRefs, fetchOptions, uploadPack)),
  pull: raises(
    [reachesRemote],
    subcommand(repositoryAndRefs, mergeOptions, fetchOptions, uploadPack, {
      optionalValues: '-r --rebase -j --jobs',
    }),
  ),
  push: raises(
    [pushes],
    subcommand(repositoryAndRefs, uploadPack, {
      flags:
        '--all --branches --mirror -d --delete --tags -n --dry-run --porcelain -f --force --force-if-includes --thin -u --set-upstream --progress --prune --no-verify --verify --follow-tags --atomic -4 --ipv4 -6 --ipv6',
      values: '--recurse-submodules -o --push-option',
      optionalValues: '--force-with-lease --signed',
      rows: [{ names: '--repo', value: noteRepository }],
    }),
  ),
  clone: raises(
    [reachesRemote],
    subcommand(repositoryAndTarget, {
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
        { names: '--bundle-uri', value: noteRepository, rule: otherRepository },
      ],
    }),
  ),
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
    fallback: pathless(),
    members: {
      add: raises(
        [changesRemote],
        subcommand(remoteAddresses, {
          flags: '-f --fetch --tags --no-tags',
          values: '-t --track -m --master',
          optionalValues: '--mirror',
        }),
      ),
      'set-url': raises([changesRemote], subcommand(remoteAddresses, { flags: '--push --add --delete' })),
      rename: raises([changesRemote], pathless({ flags: '--progress' })),
      remove: raises([changesRemote], pathless()),
      rm: raises([changesRemote], pathless()),
      'set-head': pathless({ flags: '-a --auto -d --delete' }),
      'set-branches': raises([changesRemote], pathless({ flags: '--add' })),
      'get-url': pathless({ flags: '--push --all' }),
      show: raises([reachesRemote], pathless({ flags: '-n' })),
      prune: raises([reachesRemote], pathless({ flags: '-n --dry-run' })),
      update: raises([reachesRemote], pathless({ flags: '-p --prune' })),
    },
  },
  submodule: {
    fallback: pathless({ flags: '--cached' }),
    members: {
      status: subcommand(files('read'), { flags: '--cached --recursive' }),
      summary: subcommand(revisions, { flags: '--cached --files', values: '-n --summary-limit' }),
      init: raises([setsConfiguration], subcommand(files('read'))),
      update: raises(
        [reachesRemote, setsConfiguration],
        subcommand(files('write'), {
          flags:
            '--init --remote -N --no-fetch -f --force --checkout --merge --rebase --recursive --progress --dissociate --single-branch --recommend-shallow',
          values: '--depth -j --jobs --filter',
          rows: [{ names: '--reference', value: 'read', rule: otherRepository }],
        }),
      ),
      add: raises(
        [reachesRemote, setsConfiguration],
        subcommand(repositoryAndTarget, {
          flags: '-f --force --progress --dissociate',
          values: '-b --branch --name --depth',
          rows: [{ names: '--reference', value: 'read', rule: otherRepository }],
        }),
      ),
      foreach: raises([runsProgram], pathless({ flags: '--recursive' })),
      sync: raises([setsConfiguration], subcommand(files('read'), { flags: '--recursive' })),
      deinit: raises([losesWork], subcommand(files('write'), { flags: '-f --force --all' })),
      'set-url': raises([setsConfiguration], subcommand(remoteAddresses)),
      'set-branch': raises([setsConfiguration], pathless({ flags: '-d --default', values: '-b --branch' })),
      absorbgitdirs: subcommand(files('write')),
    },
  },
  'send-email': raises([runsProgram, pushes], subcommand(revisions)),
  daemon: raises([runsProgram, pushes], subcommand(files('read'))),
  p4: separateProgram([runsProgram, pushes]),
  svn: separateProgram([runsProgram, pushes]),
  lfs: separateProgram([runsProgram, pushes]),
};
