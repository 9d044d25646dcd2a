import type { RiskLevel } from '@countersign/protocol';

/**
 * One reason why a command is as risky as it is, with its proof. `matches` and `doesNotMatch` are command lines
 * (quotes group words, nothing is expanded); a test runs every one of them.
 */
export interface CommandRule {
  readonly id: string;
  /** The command is at least this risky; REJECT refuses it without asking. */
  readonly risk: RiskLevel | 'REJECT';
  /** For the person on the approval card, as a sentence about the command: "starts other programs". */
  readonly why: string;
  /** Without network the command cannot do its work. */
  readonly network?: true;
  /** Only the person may approve a command that this applies to, not a grant or an allow rule. */
  readonly needsPerson?: true;
  readonly matches: readonly string[];
  readonly doesNotMatch: readonly string[];
}

export const onlyReads: CommandRule = {
  id: 'CMD-READ',
  risk: 'LOW',
  why: 'only reads inside the workspace',
  matches: [
    'cat README.md',
    'grep -rn TODO src',
    'ls -la',
    "find . -name '*.md'",
    'wc -l README.md',
    'head -3 README.md',
  ],
  doesNotMatch: ['find . -L', 'git status', 'tail -f logs/app.log'],
};

export const onlyPrints: CommandRule = {
  id: 'CMD-PRINT',
  risk: 'LOW',
  why: 'only prints text or a fact about this machine',
  matches: [
    'echo hello',
    "echo 'rm -rf /'",
    'pwd',
    'whoami',
    'date +%F',
    'node -v',
    'python3 --version',
    'git --version',
  ],
  doesNotMatch: ['date -f README.md', 'cat README.md', 'node --version -e 1', 'git --version status'],
};

export const unknownOption: CommandRule = {
  id: 'CMD-UNKNOWN-1',
  risk: 'MEDIUM',
  why: 'has an option that Countersign does not know, so its effect is not known either',
  matches: [
    'ls --frobnicate',
    'cat -Y README.md',
    'grep --in x README.md',
    'find . -frobnicate',
    'pwd --all',
  ],
  doesNotMatch: ['ls -la', 'grep --ignore x README.md', 'cat -- -Y', 'echo --frobnicate'],
};

export const unknownOptionOfPowerful: CommandRule = {
  id: 'CMD-UNKNOWN-2',
  risk: 'HIGH',
  why: 'has an option that Countersign does not know, and this program can run code',
  needsPerson: true,
  matches: [
    'git status --frobnicate',
    'npm test --frobnicate',
    'npm --audit=publish',
    'npm --no-depth=publish',
    'node --frobnicate src/app.js',
    'python3 -Z src/server.py',
  ],
  doesNotMatch: [
    'git status --short',
    'npm test',
    'node src/app.js --frobnicate',
    'python3 src/server.py -Z',
  ],
};

export const hardLinkedFile: CommandRule = {
  id: 'CMD-LINK-1',
  risk: 'MEDIUM',
  why: 'uses a file that has a second name, which may be outside the workspace',
  // Needs a disk; covered by a test of its own.
  matches: [],
  doesNotMatch: ['cat README.md'],
};

export const hiddenCertificate: CommandRule = {
  id: 'CMD-CERT-1',
  risk: 'MEDIUM',
  why: 'uses a certificate, which is hidden from commands that run unasked',
  matches: ['cat docs/cert.pem'],
  doesNotMatch: ['cat README.md', 'ls docs/cert.pem'],
};

export const hugeList: CommandRule = {
  id: 'CMD-MANY',
  risk: 'MEDIUM',
  why: 'names more than a thousand files',
  needsPerson: true,
  matches: [],
  doesNotMatch: ['cat README.md'],
};

export const tooManyDirectories: CommandRule = {
  id: 'CMD-MANY-2',
  risk: 'REJECT',
  why: 'changes its directory more often than any command needs to',
  matches: [`git${' -C docs/..'.repeat(51)} status`, `tar -cf z.tar${' -C .'.repeat(51)} docs`],
  doesNotMatch: [`git${' -C docs/..'.repeat(50)} status`],
};

/** Only reachable when the person's own policy file lifted exactly this path (RK-5), so it has no example line. */
export const sensitiveLifted: CommandRule = {
  id: 'CMD-LIFTED',
  risk: 'HIGH',
  why: 'uses a sensitive file that your own policy file allows',
  needsPerson: true,
  matches: [],
  doesNotMatch: ['cat README.md'],
};

export const handsSecret: CommandRule = {
  id: 'CMD-SECRET-1',
  risk: 'HIGH',
  why: 'hands a file with secrets to the program that it starts',
  needsPerson: true,
  matches: ['node --env-file=.env src/app.js', 'node --env-file-if-exists=.env.local src/app.js'],
  doesNotMatch: ['node --env-file=data/x.conf src/app.js', 'node src/app.js'],
};

/** Only reachable in a shell line. */
export const makesSecret: CommandRule = {
  id: 'CMD-SECRET-2',
  risk: 'HIGH',
  why: 'makes a file with secrets from its template',
  needsPerson: true,
  matches: [],
  doesNotMatch: ['cat README.md'],
};

export const unpacksOverExecutingPlaces: CommandRule = {
  id: 'CMD-LATER-2',
  risk: 'HIGH',
  why: 'unpacks into a directory that holds places whose content another program executes later',
  needsPerson: true,
  matches: [
    'tar xf bundle.tar',
    'tar -C docs -xf bundle.tar -C ..',
    'tar xf bundle.tar docs/a.md -C docs',
    'tar xf bundle.tar --one-top-level=.',
    'unzip archive.zip',
    'unzip -o archive.zip -d .',
    'unzip archive.zip -d docs -d .',
  ],
  doesNotMatch: [
    'tar tf bundle.tar',
    'tar xf bundle.tar -C docs',
    'tar xOf bundle.tar',
    'tar xf bundle.tar --one-top-level=docs',
    'unzip archive.zip -d docs',
    'unzip -l archive.zip',
    'tar cf z.tar docs',
  ],
};

export const writesToExecutingPlace: CommandRule = {
  id: 'CMD-LATER-1',
  risk: 'HIGH',
  why: 'writes to a place whose content another program executes later',
  needsPerson: true,
  matches: [
    'gcc -o .git/hooks/pre-commit main.c',
    'tar -xf bundle.tar -C .vscode',
    'git diff --output=.envrc',
    'python3 -m pytest --html=.git/hooks/pre-commit',
    'python3 -m pytest --debug .git/hooks/pre-commit',
    'python3 -m pytest --cov-report html:.husky',
    'python3 -m ruff check -o .envrc',
  ],
  doesNotMatch: [
    'python3 -m flake8 --exclude .git src',
    'python3 -m mypy --exclude=.vscode src',
    'gcc -o app main.c',
    'cat .git/config',
    'git log .github/workflows',
  ],
};

export const sensitiveGlob: CommandRule = {
  id: 'CMD-GLOB-1',
  risk: 'REJECT',
  why: 'has a file pattern that picks sensitive files',
  matches: [
    "grep -rn = '--include=.env*' .",
    "grep -r x --include '*.pem' .",
    "grep -r x '--include=.[e]nv' .",
    "unzip -p archive.zip '.en?'",
    "git diff -- '.env*'",
    "git show HEAD -- ':(glob)**/.env'",
  ],
  doesNotMatch: [
    "grep -r x '--include=*.json' .",
    "grep -r x '--exclude=.env*' .",
    "git diff -- '*.ts'",
    "git diff -- ':!.env'",
  ],
};

export const unclearGlob: CommandRule = {
  id: 'CMD-GLOB-2',
  risk: 'MEDIUM',
  why: 'has a file pattern that also picks sensitive files',
  matches: ["grep -r x '--include=.*' .", "grep -r x '--include=c*' ."],
  doesNotMatch: [
    "grep -r x '--include=*' .",
    "grep -r x '--include=*.js*' .",
    "grep -r x '--include=Makefile' .",
  ],
};

/** MEDIUM unless the person's policy file says HIGH. */
export const addedProgram: CommandRule = {
  id: 'CMD-ADDED',
  risk: 'MEDIUM',
  why: 'is a program that your own policy file allows; Countersign does not know its options',
  matches: [],
  doesNotMatch: ['cat README.md'],
};

export const outsideArgument: CommandRule = {
  id: 'CMD-ARG-1',
  risk: 'HIGH',
  why: 'hands a path outside the workspace to a script',
  needsPerson: true,
  matches: ['node src/app.js ../x', 'python3 scripts/gen.py --out=/srv/x', 'npm run build -- /etc/hosts'],
  doesNotMatch: ['node src/app.js docs/guide.md', 'python3 scripts/gen.py -c x.ini'],
};
