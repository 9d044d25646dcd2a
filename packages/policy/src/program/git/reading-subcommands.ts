import { type GitFamily, type GitSubcommand, pathless, raises, subcommand } from './git-subcommand.ts';
import {
  files,
  filesOrStream,
  firstOperand,
  noteRepository,
  pathspecs,
  repositoryAndRefs,
  revisions,
} from './operands.ts';
import { losesWork, otherRepository, reachesRemote, readsFile, runsProgram, writesFile } from './rules.ts';
import { diffOptions, lineRangeRow, logOptions, uploadPack } from './shared-options.ts';

const log: GitSubcommand = subcommand(revisions, diffOptions, logOptions);

const blame: GitSubcommand = subcommand(revisions, diffOptions, {
  flags: `--incremental --root --show-stats --progress --score-debug -f --show-name -n --show-number -p --porcelain
        --line-porcelain -e --show-email --color-lines --color-by-age -c -l -t -s -b`,
  values: '--ignore-rev --date --since',
  rows: [
    lineRangeRow,
    { names: '--ignore-revs-file', value: 'read', rule: readsFile },
    { names: '--contents', value: 'read', stream: true, rule: readsFile },
    { names: '-S', value: 'read', rule: readsFile },
  ],
});

/**
 * Subcommands that read the repository and run no hooks. Some can also lose reflog entries (`reflog expire`) or write
 * files (`archive -o`); these raise a rule.
 */
export const readingSubcommands: Readonly<Record<string, GitSubcommand | GitFamily>> = {
  log,
  show: log,
  whatchanged: log,
  'rev-list': log,
  diff: log,
  'diff-tree': subcommand(revisions, diffOptions, logOptions, { flags: '--root --always --pretty' }),
  'diff-index': log,
  'diff-files': log,
  'range-diff': subcommand(revisions, diffOptions, {
    flags: '--no-dual-color --left-only --right-only',
    values: '--creation-factor',
    optionalValues: '--notes',
  }),
  cherry: pathless({ optionalValues: '--abbrev' }),
  reflog: {
    fallback: log,
    isOpen: true,
    members: {
      show: log,
      exists: pathless(),
      list: pathless(),
      expire: raises(
        [losesWork],
        pathless({
          flags: '--all --rewrite --updateref --stale-fix -n --dry-run --single-worktree',
          values: '--expire --expire-unreachable',
        }),
      ),
      delete: raises([losesWork], pathless({ flags: '--rewrite --updateref -n --dry-run' })),
      drop: raises([losesWork], pathless({ flags: '--all --single-worktree' })),
    },
  },
  status: subcommand(pathspecs('read'), {
    flags: '-s --short -b --branch --show-stash --ahead-behind --long -z --null --no-renames --renames',
    optionalValues:
      '--porcelain -u --untracked-files --ignored --ignore-submodules --column -M --find-renames',
  }),
  shortlog: subcommand(revisions, diffOptions, logOptions, {
    flags: '-c --committer -n --numbered -s --summary -e --email',
    values: '--group',
    optionalValues: '-w',
  }),
  blame,
  annotate: blame,
  describe: subcommand(revisions, {
    flags: '--contains --debug --all --tags --long --first-parent --exact-match --always',
    values: '--candidates --match --exclude',
    optionalValues: '--abbrev --dirty --broken',
  }),
  'rev-parse': subcommand(revisions, {
    flags: `--parseopt --sq-quote --keep-dashdash --stop-at-non-option --stuck-long --revs-only --no-revs --flags --no-flags
        --verify --sq --symbolic --symbolic-full-name --all --branches --tags --remotes --absolute-git-dir --git-common-dir
        --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository --show-cdup --show-prefix
        --show-toplevel --show-superproject-working-tree --shared-index-path --local-env-vars --not --git-dir
        --show-ref-format`,
    values:
      '--default --prefix --glob --exclude --disambiguate --since --after --until --before --git-path --path-format',
    optionalValues: '--short --abbrev-ref --show-object-format --branches --tags --remotes',
  }),
  'ls-files': subcommand(pathspecs('read'), {
    flags: `-z -t -f -c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -k --killed --directory --eol
        --empty-directory --no-empty-directory -u --unmerged --resolve-undo --exclude-standard --full-name
        --recurse-submodules --error-unmatch --debug --deduplicate --sparse`,
    values: '-x --exclude --exclude-per-directory --with-tree --format',
    optionalValues: '--abbrev',
    rows: [{ names: '-X --exclude-from', value: 'read', rule: readsFile }],
  }),
  'ls-tree': subcommand(revisions, {
    flags: '-d -r -t -l --long -z --name-only --name-status --object-only --full-name --full-tree',
    values: '--format',
    optionalValues: '--abbrev',
  }),
  'ls-remote': raises(
    [reachesRemote],
    subcommand(repositoryAndRefs, uploadPack, {
      flags: '-h --heads -t --tags -b --branches --refs --get-url --exit-code --symref',
      values: '--sort -o --server-option',
    }),
  ),
  'cat-file': subcommand(revisions, {
    flags:
      '-e -p -t -s --allow-unknown-type --use-mailmap --mailmap --batch-all-objects --buffer --follow-symlinks --unordered -z -Z',
    values: '--path --filter',
    optionalValues: '--batch --batch-check --batch-command',
    rows: [{ names: '--textconv --filters', rule: runsProgram }],
  }),
  'show-ref': pathless({
    flags: '--tags --heads --branches --verify --head -d --dereference --exists',
    optionalValues: '-s --hash --abbrev --exclude-existing',
  }),
  'for-each-ref': pathless({
    flags: '-s --shell -p --perl --python --tcl --ignore-case --stdin --omit-empty --include-root-refs',
    values: '--count --format --sort --points-at --exclude',
    optionalValues: '--color --merged --no-merged --contains --no-contains',
  }),
  'show-branch': pathless({
    flags:
      '-a --all -r --remotes --list --no-name --current --sha1-name --merge-base --independent --topo-order --topics --sparse --date-order',
    optionalValues: '--color --more -g --reflog',
  }),
  'merge-base': pathless({ flags: '-a --all --octopus --independent --is-ancestor --fork-point' }),
  'name-rev': pathless({
    flags: '--name-only --tags --all --annotate-stdin --undefined --always',
    values: '--refs --exclude',
  }),
  'count-objects': pathless({ flags: '-H --human-readable' }),
  'check-ignore': subcommand(files('name'), { flags: '--stdin -z -n --non-matching --no-index' }),
  'check-attr': subcommand(revisions, { flags: '-a --all --cached --stdin -z', values: '--source' }),
  'verify-commit': pathless({ flags: '--raw' }),
  'verify-tag': pathless({ flags: '--raw', values: '--format' }),
  fsck: pathless({
    flags:
      '--unreachable --dangling --tags --root --cache --reflogs --full --connectivity-only --strict --lost-found --progress --name-objects',
  }),
  var: pathless({ flags: '-l' }),
  version: pathless({ flags: '--build-options' }),
  help: pathless({
    flags:
      '-a --all -g --guides -c --config -i --info -m --man -w --web --no-external-commands --no-aliases --user-interfaces --developer-interfaces',
  }),
  grep: {
    ...pathless({
      flags: `--cached --no-index --untracked --exclude-standard --recurse-submodules -i --ignore-case -w --word-regexp -a --text
        -I -r --recursive -E --extended-regexp -G --basic-regexp -F --fixed-strings -P --perl-regexp -n --line-number
        --column --full-name -l --files-with-matches --name-only -L --files-without-match -z --null -o --only-matching -c
        --count --break --heading -p --show-function -W --function-context --and --or --not -H --all-match --ext-grep
        --invert-match ( )`,
      values: '-m --max-count --max-depth -A --after-context -B --before-context -C --context --threads -e',
      optionalValues: '--color',
      rows: [
        { names: '-f', value: 'read', stream: true, rule: readsFile },
        { names: '-O --open-files-in-pager', value: 'text', optional: true, rule: runsProgram },
        { names: '--textconv', rule: runsProgram },
      ],
    }),
    noteWholeLine(state, operands, notes) {
      const isPatternGiven = state.isOn(['-e']) || state.isOn(['-f']) || operands[0]?.afterDashes;
      const places = isPatternGiven ? operands : operands.slice(1);
      revisions(places, notes);
      if (places.length === 0) notes.path('.', 'read');
    },
  },
  archive: subcommand(revisions, {
    flags: '-l --list --worktree-attributes -0 -1 -2 -3 -4 -5 -6 -7 -8 -9',
    values: '--format --prefix --mtime',
    rows: [
      { names: '-o --output', value: 'write', rule: writesFile },
      { names: '--add-file', value: 'read' },
      { names: '--add-virtual-file', value: 'text' },
      { names: '--exec', value: 'text', rule: runsProgram },
      { names: '--remote', value: noteRepository, rule: reachesRemote },
    ],
  }),
  bundle: {
    fallback: subcommand(files('write')),
    members: {
      create: raises(
        [writesFile],
        subcommand(firstOperand(filesOrStream('write')), logOptions, {
          flags: '--progress --all-progress',
          values: '--version',
        }),
      ),
      verify: subcommand(filesOrStream('read')),
      'list-heads': subcommand(firstOperand(files('read'))),
      unbundle: raises([otherRepository], subcommand(firstOperand(files('read')), { flags: '--progress' })),
    },
  },
  'format-patch': subcommand(revisions, diffOptions, logOptions, {
    flags: `-n --numbered -N --no-numbered --signoff --stdout --cover-letter --numbered-files --rfc -k --keep-subject --no-binary
        --zero-commit --ignore-if-in-upstream --no-stat --progress --force-in-body-from --root`,
    values: `--start-number -v --reroll-count --filename-max-length --cover-from-description --subject-prefix --add-header
        --to --cc --in-reply-to --signature --base --interdiff --range-diff --creation-factor`,
    optionalValues: '--from --attach --inline --thread',
    rows: [
      { names: '-o --output-directory', value: 'write', rule: writesFile },
      { names: '--suffix', value: (suffix, notes) => notes.makesName(suffix, `patch${suffix}`) },
      { names: '--signature-file --description-file', value: 'read', rule: readsFile },
    ],
  }),
};
