import { files, revisions } from './operands.ts';
import { losesWork, runsProgram, setsConfiguration } from './rules.ts';
import { diffOptions } from './shared-options.ts';
import { foreign, type GitFamily, type GitSubcommand, plain, subcommand } from './subcommand.ts';

/** Subcommands that tidy the repository, and those that start other tools. */

export const maintenanceSubcommands: Readonly<Record<string, GitSubcommand | GitFamily>> = {
  gc: plain({
    flags: '--cruft --aggressive --auto --force --keep-largest-pack --detach',
    values: '--max-cruft-size',
    rows: [{ names: '--prune', value: 'text', optional: true, rule: losesWork }],
  }),
  repack: plain({
    flags: '-a -A -d -f -F -l --local -b --write-bitmap-index --cruft -n -k -i -m',
    values: '--window --depth --threads -g --geometric',
  }),
  'pack-refs': plain({ flags: '--all --prune --auto' }),
  prune: { ...plain({ flags: '-n --dry-run --progress', values: '--expire' }), rules: [losesWork] },
  'hash-object': subcommand(files('read'), {
    flags: '-w --stdin --stdin-paths --no-filters --literally',
    values: '-t --path',
  }),
  hook: foreign([runsProgram]),
  difftool: {
    ...subcommand(revisions, diffOptions, {
      flags: '-g --gui -d --dir-diff -y --no-prompt --prompt --symlinks --tool-help --trust-exit-code',
      values: '-t --tool',
      rows: [{ names: '-x --extcmd', value: 'text', rule: runsProgram }],
    }),
    rules: [runsProgram],
  },
  mergetool: {
    ...subcommand(files('read'), {
      flags: '-g --gui -y --no-prompt --prompt --tool-help',
      values: '-t --tool',
      rows: [{ names: '-O', value: 'read' }],
    }),
    rules: [runsProgram],
  },
  instaweb: {
    ...plain({ flags: '--start --stop --restart -l --local', values: '-d --httpd -p --port -b --browser' }),
    rules: [runsProgram],
  },
  maintenance: {
    ...plain({ flags: '--auto', values: '--task --schedule --scheduler' }),
    rules: [setsConfiguration],
  },
  credential: foreign([runsProgram]),
};
