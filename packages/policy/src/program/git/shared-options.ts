import { type OptionRow, type OptionSection, type OptionTable, optionTable } from '../options.ts';
import { noteWrittenRef } from './operands.ts';
import { readsFile, runsProgram, writesFile } from './rules.ts';

/** Options that several subcommands share, as git's own documentation shares them. */

/** One table from several sections; git abbreviates, negates with `--no-`, and lets options follow operands. */
export function gitTable(...sections: readonly OptionSection[]): OptionTable {
  return optionTable({
    flags: '-h --help -q --quiet -v --verbose',
    sections,
    negatable: true,
    numbers: 'anywhere',
  });
}

export const diffOptions: OptionSection = {
  flags: `-p -u --patch -s --no-patch -W --function-context --raw --patch-with-raw --patch-with-stat --numstat --shortstat
    --cumulative --check --summary --name-only --name-status --compact-summary --binary --full-index --no-prefix
    --default-prefix --irreversible-delete -D --find-copies-harder --no-renames --rename-empty --follow --minimal -w
    --ignore-all-space -b --ignore-space-change --ignore-space-at-eol --ignore-cr-at-eol --ignore-blank-lines
    --indent-heuristic --patience --histogram -a --text --exit-code -R --ita-invisible-in-index --ita-visible-in-index
    --pickaxe-all --pickaxe-regex -z --cached --staged --no-index --merge-base -0 -1 -2 -3 --base --ours --theirs -c --cc
    --combined-all-paths -t -m --no-color --no-ext-diff --no-textconv --dd --remerge-diff`,
  values: `--stat-width --stat-name-width --stat-graph-width --stat-count --ws-error-highlight --src-prefix --dst-prefix
    --line-prefix --inter-hunk-context --output-indicator-new --output-indicator-old --output-indicator-context
    --ignore-matching-lines -I --diff-algorithm --anchored --word-diff-regex --color-moved-ws --rotate-to --skip-to
    --find-object --diff-filter -S -G -l`,
  optionalValues: `-U --unified --dirstat -X --dirstat-by-file --stat --color --abbrev -B --break-rewrites -M --find-renames -C
    --find-copies --word-diff --color-words --color-moved --relative --ignore-submodules --submodule --diff-merges`,
  rows: [
    { names: '--ext-diff --textconv', rule: runsProgram },
    { names: '--output', value: 'write', rule: writesFile },
    { names: '-O', value: 'read', rule: readsFile },
  ],
};

/** `-L 1,9:file` and `-L :function:file`: the file follows the last colon. */
export const lineRangeRow: OptionRow = {
  names: '-L',
  value: (range, notes) => {
    const file = range.slice(range.lastIndexOf(':') + 1);
    if (range.includes(':') && file !== '') notes.path(file, 'read');
  },
};

export const logOptions: OptionSection = {
  flags: `--source --use-mailmap --mailmap --clear-decorations --no-decorate --all --branches --tags --remotes --reflog
    --alternate-refs --single-worktree --ignore-missing --bisect --stdin --cherry-mark --cherry-pick --cherry --left-only
    --right-only --left-right -g --walk-reflogs --merge --boundary --use-bitmap-index --simplify-by-decoration --show-pulls
    --full-history --dense --sparse --simplify-merges --ancestry-path --date-order --author-date-order --topo-order
    --reverse --merges --no-merges --first-parent --exclude-first-parent-only --not --full-diff --oneline --abbrev-commit
    --no-abbrev-commit --parents --children --graph --show-linear-break --relative-date --log-size -i
    --regexp-ignore-case -E --extended-regexp --basic-regexp -F --fixed-strings -P --perl-regexp --all-match
    --invert-grep --remove-empty --count --objects --objects-edge --unpacked --no-walk --do-walk --header --timestamp
    --show-signature --expand-tabs --no-expand-tabs --show-notes --standard-notes --no-notes --no-min-parents
    --no-max-parents --disk-usage --in-commit-order --no-commit-header --commit-header -r`,
  values: `-n --max-count --skip --since --after --until --before --since-as-filter --author --committer --grep
    --grep-reflog --min-parents --max-parents --exclude --exclude-hidden --glob --date --encoding --max-age --min-age
    --decorate-refs --decorate-refs-exclude --missing --filter --ancestry-path-from`,
  optionalValues:
    '--decorate --pretty --format --notes --show-linear-break --no-walk --branches --tags --remotes --disk-usage',
  rows: [lineRangeRow],
};

export const pathspecFile: OptionSection = {
  flags: '--pathspec-file-nul',
  rows: [{ names: '--pathspec-from-file', value: 'read', stream: true, rule: readsFile }],
};

export const uploadPack: OptionSection = {
  rows: [{ names: '--upload-pack --exec --receive-pack', value: 'text', rule: runsProgram }],
};

/** A merge strategy is a program `git-merge-NAME`. Only the listed ones come with git. */
export const strategyRow: OptionRow = {
  names: '-s --strategy',
  value: (name, notes) => {
    if (!/^(ours|recursive|resolve|octopus|subtree|ort)$/.test(name)) notes.raise(runsProgram, name);
  },
};

export const mergeOptions: OptionSection = {
  flags: `--stat --summary -n --squash --commit -e --edit --ff --ff-only --rerere-autoupdate --verify-signatures --abort --quit
    --continue --allow-unrelated-histories --progress --autostash --overwrite-ignore --signoff --no-verify --verify
    --compact-summary`,
  values: '--cleanup -X --strategy-option -m --message --into-name',
  optionalValues: '--log -S --gpg-sign',
  rows: [strategyRow],
};

export const fetchOptions: OptionSection = {
  flags: `--all -m -a --append --atomic -f --force --multiple -t --tags -n --no-tags --prefetch -p --prune -P --prune-tags --dry-run
    --write-fetch-head -k --keep -u --update-head-ok --progress --unshallow --refetch --update-shallow -4 --ipv4 -6 --ipv6
    --negotiate-only --auto-maintenance --auto-gc --show-forced-updates --write-commit-graph --stdin --set-upstream
    --porcelain --update-refs`,
  values: `--depth --shallow-since --shallow-exclude --deepen -o --server-option --negotiation-tip --filter
    --submodule-prefix --recurse-submodules-default --bundle-uri -j --jobs`,
  optionalValues: '--recurse-submodules',
  rows: [{ names: '--refmap', value: noteWrittenRef }],
};
