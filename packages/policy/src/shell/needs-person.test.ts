import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { ShellValidator } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});

const needsPerson = (line: string): { line: string; decision: string; needsPerson: boolean } => {
  const { verdict, needsPerson } = validator.check(line);
  return { line, decision: verdict.decision, needsPerson };
};

/** Out of the workspace, into a place that executes later, into what others execute, or only known when it runs. */
const PERSON = [
  'cp README.md .git/h*ks/pre-commit',
  'cp README.md .g?t/hooks/pre-commit',
  'cp x .github/work*/ci.yml',
  'tee .vsc*/tasks.json < a',
  'cp -r evil/.git .',
  'cp conf/.envrc .',
  'mv x/.vscode .',
  'cp -t .git/hooks x',
  'mv .git/hooks x',
  'echo x > "$D/pre-commit"',
  'echo x > "$OUT"',
  'env LD_PRELOAD=./x.so ls',
  'LD_PRELOAD=./x.so ls',
  'PATH=. ls',
  'export PATH=$PATH:x',
  '$X',
  'eval "$X"',
  'git config core.hooksPath x',
  'git config --get --no-get core.hooksPath x',
  'git config -l --no-list core.hooksPath x',
  'git -c core.pager=x log',
  'git init --template=t',
  'tar xf a.tar',
  'unzip a.zip',
  "python3 -c 'print(1)'",
  'cat /etc/hosts',
  'sort -o .envrc f',
  'echo x > .git/hooks/a',
  'rm -rf .git',
  'curl -o .envrc x',
  'sed -i s/a/b/ .husky/pre-commit',
  'bash -c "$(cat x)"',
  'ssh h ls',
  'node -e 1',
  "perl -pi -e 's/a/b/' f",
  "npx -c 'PATH=. ls'",
  'ls | sh',
  "find . -name '*.ts' -exec sed -i s/a/b/ {} +",
  'crontab x',
  'alias ls=x',
  'chmod +x .git/hooks/x',
  'ln -sf ../../x .git/hooks/pre-commit',
  'dd if=a of=.git/config',
  'awk \'BEGIN{print "x" > ".envrc"}\'',
  'rm -rf .*',
  'git config --global core.editor x',
  'rsync -a x/ .git/hooks/',
  'wget -P .git/hooks http://h/x',
  'GIT_SSH_COMMAND=x git fetch',
  'GIT_CONFIG_COUNT=1 git log',
  'cat .*',
  'awk \'BEGIN{system("ls")}\'',
  'tar xf a.tar -C .mvn',
  'unzip a.zip -d .vs',
  '7z x a.7z -o.git/hooks',
  'cd .h*; echo x > hgrc',
  'split f .mvn/x',
  'xxd -r f .cirrus.yml',
  'ed .cirrus.yml < s',
];

/** What a grant or an allow rule may answer for. */
const GRANTABLE = [
  'npm test',
  'ls -la',
  'cat README.md',
  'git status && git diff --stat',
  "git commit -m 'x'",
  'git push origin main',
  'make -j4',
  'rm -rf dist',
  'rm -rf *',
  'for f in *.md; do wc -l "$f"; done',
  'NODE_ENV=test npm test',
  'echo x > out.txt',
  'cp a b',
  'mv a b',
  'tar czf a.tgz src',
  'tar xf a.tgz -C out',
  'curl -fsSL https://x/y.json | jq .',
  'bash scripts/build.sh',
  './x.sh',
  "sed -i 's/a/b/' *.py",
  'rm *.json',
  "find . -name '*.tmp' -delete",
  'git fetch',
  'npm ci',
  "trap 'rm -f x' EXIT",
  'ls > /dev/null 2>&1',
  "awk '{print $1}' f",
  'grep -rn foo src',
  'mkdir -p a/b',
  'cd src && ls',
  'x=1; echo $x',
  'echo $HOME',
  'date',
  'python3 x.py',
  'node a.js',
  'npx vitest run',
  'touch src/*.ts',
  'git add -A',
  'echo a | tee b.txt',
  'cp *.md docs/',
];

describe('[RK-5] lines that no grant and no allow rule may answer for', () => {
  it.each(PERSON)('needs a person: %s', (line) => {
    expect(needsPerson(line)).toEqual({ line, decision: 'HIGH', needsPerson: true });
  });
  it.each(GRANTABLE)('may be granted: %s', (line) => {
    expect(needsPerson(line)).toEqual({ line, decision: 'HIGH', needsPerson: false });
  });
});
