import type { CommandRule } from '../rules.ts';

/** What git can do beyond its everyday use, and why that matters to a person. */

export const usesGit: CommandRule = {
  id: 'CMD-GIT-1',
  risk: 'MEDIUM',
  why: 'runs git in the workspace',
  matches: [
    'git status',
    'git log -3',
    "git commit -m 'x'",
    'git diff v1..v2',
    'git',
    'git fetch',
    'git --no-pager log --oneline',
  ],
  doesNotMatch: ['echo git', 'ls .git'],
};

/** Only in a shell line, where the runner takes the repository's configuration away (RN-6). */
export const readsRepository: CommandRule = {
  id: 'CMD-GIT-0',
  risk: 'LOW',
  why: 'only reads from the git repository',
  matches: [],
  doesNotMatch: ['git fetch'],
};

export const runsProgram: CommandRule = {
  id: 'CMD-GIT-2',
  risk: 'HIGH',
  why: 'makes git start a program of its choice',
  needsPerson: true,
  matches: [
    'git pull --upload-pack=id origin',
    'git rebase --exec id HEAD~3',
    'git rebase -xid HEAD~3',
    'git grep --open-files-in-pager=id x',
    'git grep -nOid x',
    'git grep --open x',
    'git diff --ext-diff',
    'git log --ext-diff -p',
    'git bisect run make',
    'git submodule foreach id',
    'git difftool -x id',
    'git push --receive-pack=id origin',
    'git push --exec=id origin',
    'git fetch --upload-pack id origin',
    'git fetch --upl=id',
    'git clone -u id https://example.com/x.git docs/x',
    'git archive --remote=origin --exec=id HEAD',
    'git ls-remote --exec=id origin',
    'git --exec-path=src status',
    'git merge -s ./x main',
    'git filter-branch --tree-filter id',
    'git mergetool',
    'git send-email x.patch',
    'git p4 sync',
    'git instaweb',
    'git cat-file --textconv HEAD:README.md',
    'git hook run pre-commit',
    'git -p log',
    'git cat-file --filters HEAD:README.md',
  ],
  doesNotMatch: [
    'git log --grep=--exec',
    'git merge -s ort main',
    'git grep -n x',
    'git bisect start',
    'git diff',
    'git submodule status',
    "git commit -m '--exec'",
  ],
};

export const setsConfiguration: CommandRule = {
  id: 'CMD-GIT-3',
  risk: 'HIGH',
  why: 'sets git configuration, which can make git start programs',
  needsPerson: true,
  matches: [
    'git -c core.editor=id commit',
    'git -ccore.pager=id log',
    'git --config-env=core.pager=X log',
    'git config core.fsmonitor ./x.sh',
    'git config alias.x !id',
    'git config --add user.name x',
    'git config --unset user.name',
    'git config set user.name x',
    'git config --edit',
    'git config --get --no-get core.fsmonitor ./x.sh',
    'git config -l --no-list core.fsmonitor ./x.sh',
    'git clone -c core.fsmonitor=id https://example.com/x.git docs/x',
    'git clone --config=core.pager=id https://example.com/x.git docs/x',
    'git clone --template=docs https://example.com/x.git docs/x',
    'git init --template=docs',
    'git submodule add https://example.com/x.git x',
    'git maintenance start',
  ],
  doesNotMatch: [
    'git config --get user.name',
    'git config --list',
    'git config user.name',
    'git config get user.name',
    'git config -l',
    'git config --no-get --get user.name x',
    'git commit -c HEAD',
  ],
};

export const losesWork: CommandRule = {
  id: 'CMD-GIT-4',
  risk: 'HIGH',
  why: 'can lose work that git cannot bring back',
  matches: [
    'git reset --hard',
    'git reset --har HEAD~1',
    'git clean -fd',
    'git clean -n',
    'git branch -D main',
    'git branch -d -f x',
    'git branch --delete --force x',
    'git checkout -f',
    'git checkout -- README.md',
    'git checkout .',
    'git checkout HEAD README.md',
    'git checkout main src/app.ts',
    "git checkout '*.ts'",
    'git checkout ./README.md',
    'git checkout src/',
    'git restore README.md',
    'git switch --discard-changes main',
    'git switch -C x',
    'git stash drop',
    'git stash clear',
    'git rm -f README.md',
    'git reflog expire --all',
    'git gc --prune=now',
    'git update-ref -d refs/heads/x',
    'git worktree remove --force docs/x',
    'git tag -d v1',
    'git branch -M main',
    'git prune',
    'git filter-branch --all',
    'git checkout -B x',
    'git checkout --orphan=x --no-orphan main',
    'git checkout --pathspec-from-file=docs/notes.txt',
    'git restore --staged --no-staged README.md',
    'git sparse-checkout clean --force',
  ],
  doesNotMatch: [
    'git reset HEAD README.md',
    'git reset --soft HEAD~1',
    'git branch -d x',
    'git checkout main',
    'git checkout -',
    'git checkout -b x',
    'git checkout -b x origin/main',
    'git checkout --track origin/main',
    'git restore --staged README.md',
    'git stash',
    'git stash pop',
    'git rm README.md',
    'git gc',
    'git branch --list',
  ],
};

export const pushes: CommandRule = {
  id: 'CMD-GIT-5',
  risk: 'HIGH',
  why: 'changes a repository on another machine, where it cannot be undone from here',
  network: true,
  matches: [
    'git push',
    'git push origin main',
    'git push --force',
    'git push -n',
    'git -C src push',
    'git svn dcommit',
    'git lfs push origin main',
  ],
  doesNotMatch: ['git log --grep=push', 'git stash push', 'git fetch', 'git commit -m push'],
};

export const reachesRemote: CommandRule = {
  id: 'CMD-GIT-6',
  risk: 'MEDIUM',
  why: 'talks to another machine',
  network: true,
  matches: [
    'git fetch',
    'git pull --rebase',
    'git ls-remote origin',
    'git clone https://example.com/x.git docs/x',
    'git remote update',
    'git submodule update',
  ],
  doesNotMatch: ['git status', 'git log', 'git remote -v', 'git submodule status'],
};

export const commandTransport: CommandRule = {
  id: 'CMD-GIT-7',
  risk: 'REJECT',
  why: 'uses an address that is itself a command',
  matches: [
    "git clone 'ext::sh -c id' docs/x",
    "git fetch 'ext::sh -c id'",
    "git remote add x 'ext::sh -c id'",
    'git pull fd::3',
    'git ls-remote ext::id',
    'git clone -- -oProxyCommand=id docs/x',
  ],
  doesNotMatch: ['git clone https://example.com/ext.git docs/x', 'git remote add x git@example.com:a/b.git'],
};

export const otherRepository: CommandRule = {
  id: 'CMD-GIT-8',
  risk: 'HIGH',
  why: 'uses another repository, whose configuration decides what runs',
  needsPerson: true,
  matches: [
    'git --git-dir=docs/.git log',
    'git --work-tree docs status',
    'git --bare log',
    'git -C docs --git-dir x log',
    'git --namespace=x log',
  ],
  doesNotMatch: ['git status', 'git -C docs status', 'git log --git-dir'],
};

export const writesFile: CommandRule = {
  id: 'CMD-GIT-9',
  risk: 'HIGH',
  why: 'writes its output to a file of its choice',
  matches: [
    'git diff --output=x',
    'git log -p --outp x',
    'git archive -o x.zip HEAD',
    'git archive --output=x.zip HEAD',
    'git bundle create x HEAD',
    'git format-patch -o docs HEAD~1',
    'git apply --build-fake-ancestor=x x.patch',
  ],
  doesNotMatch: ['git diff', 'git log --oneline', 'git format-patch --stdout HEAD~1', 'git archive --list'],
};

export const readsFile: CommandRule = {
  id: 'CMD-GIT-10',
  risk: 'MEDIUM',
  why: 'takes text, names or patterns from a file',
  matches: [
    'git commit -F docs/notes.txt',
    'git commit -t docs/notes.txt',
    'git tag -F docs/notes.txt v1',
    'git add --pathspec-from-file=docs/notes.txt',
    'git blame --contents docs/notes.txt README.md',
    'git diff -Odocs/notes.txt',
    'git ls-files -X .gitignore',
  ],
  doesNotMatch: ["git commit -m 'x'", 'git add docs/notes.txt', 'git blame README.md'],
};

export const unsafePatch: CommandRule = {
  id: 'CMD-GIT-11',
  risk: 'REJECT',
  why: 'lets a patch write outside the workspace',
  matches: ['git apply --unsafe-paths x.patch', 'git apply --unsafe x.patch'],
  doesNotMatch: ['git apply x.patch', 'git apply --check x.patch'],
};

export const machineSettings: CommandRule = {
  id: 'CMD-GIT-12',
  risk: 'HIGH',
  why: 'reads or changes git settings of the person or the machine, outside the workspace',
  needsPerson: true,
  matches: ['git config --global --list', 'git config --system -l', 'git config --glob user.name'],
  doesNotMatch: ['git config --local --list', 'git config --list'],
};

export const unknownSubcommand: CommandRule = {
  id: 'CMD-GIT-13',
  risk: 'HIGH',
  why: 'is a git command or alias that Countersign does not know',
  needsPerson: true,
  matches: ['git frobnicate', 'git st', 'git flow init'],
  doesNotMatch: ['git status', 'git help st', 'git commit -m st'],
};

export const changesRemote: CommandRule = {
  id: 'CMD-GIT-14',
  risk: 'MEDIUM',
  why: 'changes the git configuration: where this repository fetches from and pushes to',
  needsPerson: true,
  matches: [
    'git remote add origin https://example.com/x.git',
    'git remote set-url --push origin https://example.com/x.git',
    'git remote rename origin old',
  ],
  doesNotMatch: ['git remote -v', 'git remote get-url origin', 'git fetch origin', 'git remote update'],
};

/**
 * A push's card lists the commits that are missing in `refs/remotes`, so writing those refs by hand can hide commits.
 */
export const writesKnownBranches: CommandRule = {
  id: 'CMD-GIT-15',
  risk: 'MEDIUM',
  why: 'writes by hand what is known of branches on another machine; a push would then show fewer commits than it sends',
  needsPerson: true,
  matches: [
    'git update-ref refs/remotes/origin/main HEAD',
    'git update-ref main-worktree/refs/remotes/origin/main HEAD',
    'git update-ref --stdin',
    'git symbolic-ref refs/remotes/origin/main refs/heads/main',
    'git fetch . HEAD:refs/remotes/origin/main',
    'git pull . +main:refs/remotes/origin/main',
    'git fetch . --refmap=main:refs/remotes/origin/main main',
  ],
  doesNotMatch: [
    'git update-ref refs/heads/x HEAD',
    'git symbolic-ref HEAD',
    'git fetch origin main',
    'git fetch origin main:main',
    'git rev-parse refs/remotes/origin/main',
  ],
};
