import type { HarmlessCommand } from './harmless-commands.ts';

/** Options of the subcommands that show commits and differences. */
const showOptions = `--oneline --graph --all --decorate[=] --no-decorate --stat[=] --shortstat --numstat --name-only --name-status
  --summary -p -u --patch --no-patch -s -n= -# --max-count= --skip= --since= --until= --after= --before= --author=
  --committer= --grep= -S= -G= -i --format= --pretty[=] --abbrev-commit --abbrev[=] --no-color --color[=] --no-merges
  --merges --first-parent --reverse --follow --cached --staged -w -b --ignore-all-space --ignore-space-change
  --word-diff[=] -U= --unified= -M -C --find-renames --diff-filter= --no-renames --date= --topo-order --date-order --tags
  --branches --remotes --no-ext-diff --no-textconv --raw --check --exit-code -q --quiet --minimal --patience --histogram
  --merge-base --left-right --cherry-pick --full-history --no-notes -z -W --function-context --count --compact-summary
  --color-words[=] -L= --relative[=]`;

/** Matches a branch, a tag, a remote or a commit, but not a URL or a pair `from:to`. */
const ref = /^(?!.*\.\.\/)[\w@^][\w./@~^{}-]*$/;

const entry = (
  command: string,
  options: string,
  covers: string,
  doesNotCover = '',
  rest: Pick<HarmlessCommand, 'operand' | 'mostOperands'> = {},
): HarmlessCommand => ({
  command: `git ${command}`,
  options,
  covers: covers.split('; '),
  doesNotCover: doesNotCover === '' ? [] : doesNotCover.split('; '),
  ...rest,
});

/** Subcommands of git that a grant covers. None of them sets configuration, starts a program or sends anything. */
const gitCommands: readonly HarmlessCommand[] = [
  entry(
    'status',
    '-s --short -b --branch --porcelain[=] --long -z --show-stash -u --untracked-files[=] --ignored -v',
    'git status; git status -sb; git status --porcelain=v2',
  ),
  ...['log', 'show', 'diff', 'shortlog', 'rev-list'].map((name) =>
    entry(
      name,
      showOptions,
      `git ${name}; git ${name} --oneline -5; git ${name} HEAD~1 -- src`,
      `git ${name} --output=x; git ${name} --ext-diff; git ${name} --textconv; git ${name} --grep -- --output=x; git ${name} --outp=x`,
    ),
  ),
  entry(
    'branch',
    `-a --all -r --remotes -v --list -l --show-current --merged[=] --no-merged[=] --contains[=] --sort= --format= -d --delete -m
      --move --no-color`,
    'git branch; git branch -vv; git branch x; git branch -d x',
    'git branch -D x; git branch -u origin/x; git branch --edit-description',
  ),
  entry(
    'add',
    '-A --all -u --update -n --dry-run -v -N --intent-to-add',
    'git add .; git add -A; git add -- src',
    'git add -e; git add -f x',
  ),
  entry(
    'commit',
    `-m= --message= -a --all --amend --no-edit --allow-empty -q --quiet -v -s --signoff --dry-run --fixup= --squash=
      --author= --date=`,
    "git commit -m 'x y'; git commit -am x; git commit --amend --no-edit",
    'git commit --no-verify -m x; git commit -F x; git commit --template=x; git commit -m --amend',
  ),
  entry(
    'checkout',
    '-b= -q --quiet -t --track[=] --detach -',
    'git checkout main; git checkout -b x; git checkout -',
    'git checkout -f; git checkout --orphan=x --no-orphan a; git checkout -B x; git checkout .',
    { operand: ref },
  ),
  entry(
    'switch',
    '-c= --create= -q --quiet -t --track[=] --detach -',
    'git switch main; git switch -c x',
    'git switch -C x; git switch --discard-changes x',
    { operand: ref },
  ),
  entry('restore', '--staged -S -q', 'git restore --staged README.md', 'git restore -W README.md'),
  entry(
    'reset',
    '--soft --mixed -q --quiet',
    'git reset HEAD README.md; git reset --soft HEAD~1',
    'git reset --hard; git reset --keep x',
  ),
  entry(
    'stash',
    '-q -u --include-untracked -k --keep-index -m= --message=',
    'git stash; git stash -u',
    'git stash drop; git stash clear',
    { mostOperands: 0 },
  ),
  entry(
    'stash push',
    '-q -u --include-untracked -k --keep-index -m= --message=',
    'git stash push -m x; git stash push src',
  ),
  ...['list', 'show'].map((name) =>
    entry(`stash ${name}`, showOptions, `git stash ${name}; git stash ${name} -p`),
  ),
  ...['pop', 'apply'].map((name) =>
    entry(`stash ${name}`, '--index -q', `git stash ${name}; git stash ${name} --index`),
  ),
  entry(
    'fetch',
    '--all -p --prune -t --tags --no-tags -n -q -v --dry-run --depth=',
    'git fetch; git fetch origin main',
    'git fetch https://example.com/x.git; git fetch origin a:b; git fetch --upload-pack=x; git fetch ../x; git fetch -u',
    { operand: ref },
  ),
  entry(
    'pull',
    '--rebase --no-rebase --ff-only --ff --no-edit -q -v --prune -p',
    'git pull; git pull --rebase origin main',
    'git pull https://example.com/x.git; git pull -s x',
    { operand: ref },
  ),
  entry(
    'merge',
    '--no-ff --ff --ff-only --no-edit --abort --continue --squash --no-commit --stat -q -m=',
    'git merge main; git merge --no-ff -m x main; git merge --abort',
    'git merge -s x main; git merge --no-verify main',
    { operand: ref },
  ),
  entry(
    'rebase',
    '--abort --continue --skip --onto= --autostash -q',
    'git rebase main; git rebase --continue',
    'git rebase -x id main; git rebase --exec=id main; git rebase -i main',
    { operand: ref },
  ),
  ...['cherry-pick', 'revert'].map((name) =>
    entry(
      name,
      '-x -n --no-commit --no-edit --abort --continue --skip --quit',
      `git ${name} abc123; git ${name} --abort`,
      `git ${name} --strategy=x a`,
      { operand: ref },
    ),
  ),
  entry(
    'tag',
    '-l --list -n -# -a -m= --sort= --contains[=] --points-at=',
    'git tag; git tag v1; git tag -a v1 -m x',
    'git tag -d v1; git tag -f v1; git tag -F x v1',
  ),
  entry('rm', '-r --cached -q -n --dry-run', 'git rm README.md; git rm -r --cached docs', 'git rm -f x'),
  entry('mv', '-n --dry-run -k -v', 'git mv a.md b.md', 'git mv -f a b'),
  entry(
    'blame',
    '-L= -w -C -M -e -l -s -t --date= --porcelain',
    'git blame -L 1,9 README.md',
    'git blame --contents x README.md',
  ),
  entry(
    'ls-files',
    '-z -c --cached -m --modified -o --others -d --deleted -s --stage --exclude-standard',
    'git ls-files -m',
  ),
  entry('ls-tree', '-r -d -t -l -z --name-only --full-tree', 'git ls-tree -r HEAD'),
  entry(
    'rev-parse',
    '--short[=] --abbrev-ref --verify -q --show-toplevel --show-prefix --is-inside-work-tree --git-dir',
    'git rev-parse --abbrev-ref HEAD',
  ),
  entry(
    'reflog',
    showOptions,
    'git reflog; git reflog show main; git reflog -5',
    'git reflog expire --all; git reflog delete HEAD@{1}',
    { operand: /^(?!(expire|delete|drop)$)/ },
  ),
  entry(
    'describe',
    '--tags --all --long --always --dirty[=] --abbrev[=] --exact-match',
    'git describe --tags',
  ),
  entry('cat-file', '-e -p -t -s', 'git cat-file -p HEAD', 'git cat-file --textconv HEAD:x'),
  entry('show-ref', '--tags --heads --verify -q', 'git show-ref --heads'),
  entry('merge-base', '-a --all --is-ancestor --fork-point', 'git merge-base main HEAD'),
  entry('check-ignore', '-v -q -n', 'git check-ignore -v README.md'),
  entry('count-objects', '-v -H', 'git count-objects -vH'),
  entry(
    'grep',
    '-n -i -l -L -w -c -r -E -F -G -P -h -H -o -v -A= -B= -C= -e= --cached --untracked --heading --break --color[=] --no-color',
    'git grep -n x src; git grep -e x',
    'git grep -Oid x; git grep --open-files-in-pager=id x; git grep -f x',
  ),
  entry(
    'remote',
    '-v --verbose',
    'git remote; git remote -v',
    'git remote add x y; git remote set-url origin x; git remote remove x',
    { mostOperands: 0 },
  ),
  entry('remote get-url', '--push --all', 'git remote get-url origin'),
  entry('worktree list', '--porcelain -v', 'git worktree list', 'git worktree add docs/x'),
  entry(
    'submodule status',
    '--recursive --cached',
    'git submodule status',
    'git submodule update --init; git submodule foreach id',
  ),
  entry('version', '--build-options', 'git version'),
  entry(
    '--version',
    '',
    'git --version',
    'git; git config user.name x; git config --get user.name; git -c core.pager=id log; git -C docs status; git --git-dir=x log; git push; git clone https://example.com/x.git; git frobnicate; git lo',
  ),
];

/** Every command, with and without `--no-pager`. */
export const harmlessGit: readonly HarmlessCommand[] = [
  ...gitCommands,
  ...gitCommands.map((each) => ({
    ...each,
    command: each.command.replace(/^git /, 'git --no-pager '),
    covers: [],
    doesNotCover: [],
  })),
];
