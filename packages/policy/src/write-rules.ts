import type { RiskLevel } from '@countersign/protocol';
import { type Refused, refuse } from './verdict.ts';
import { extensionsOf } from './workspace-path.ts';

/** How risky it is to write a file, by its last extension, case ignored (RK-2, TL-4). */
export interface WriteRule {
  readonly id: string;
  readonly effect: RiskLevel | 'REJECT';
  readonly extensions: ReadonlySet<string> | 'any other';
  readonly why: string;
  readonly matches: readonly string[];
  readonly doesNotMatch: readonly string[];
}

const set = (words: string): ReadonlySet<string> => new Set(words.split(' '));

/** The first matching rule applies. */
export const writeRules: readonly WriteRule[] = [
  {
    id: 'WRITE-1',
    effect: 'REJECT',
    extensions: set('.exe .bin .so .dll .dylib .sys'),
    why: 'is an executable binary by its extension',
    matches: ['tool.exe', 'x.BIN', 'm.so', 'setup.exe.', 'a/b.dylib', 'a.txt:b.exe', 'a.exe:b.txt'],
    doesNotMatch: ['exe.md', 'notes.so.txt', 'bin'],
  },
  {
    id: 'WRITE-2',
    effect: 'MEDIUM',
    extensions: set(
      '.txt .md .json .py .js .ts .jsx .tsx .mjs .cjs .vue .html .css .scss .svg .xml .csv .sql .yaml .yml .toml .rst .java .kt .go .rs .rb .php .c .h .cpp .hpp .cs .swift .lua .el',
    ),
    why: 'changes a source or document file',
    matches: ['notes.md', 'src/a.TS', 'x.test.js', 'data/b.json', 'app.css'],
    doesNotMatch: ['Makefile', 'run.sh', 'a.md.bak', '.md'],
  },
  {
    id: 'WRITE-3',
    effect: 'HIGH',
    extensions: set('.sh .bash .zsh .bat .cmd .ps1 .conf .config .cfg .ini .service .desktop'),
    why: 'changes a script or a configuration, which can change what other programs do',
    matches: ['deploy.sh', 'a.md:x.sh', 'nginx.conf', 'app.config', 'x.ps1'],
    doesNotMatch: ['sh.md', 'config.json'],
  },
  {
    id: 'WRITE-4',
    effect: 'HIGH',
    extensions: 'any other',
    why: 'changes a file of a kind that is not known to be plain text or source',
    matches: ['Makefile', 'Dockerfile', 'data.unknown', 'noextension'],
    doesNotMatch: ['README.md', 'a.sh', 'a.exe'],
  },
];

/** The strictest rule for any extension of the path; a name with a colon has two. */
export function writeRuleFor(path: string): WriteRule {
  const rules = extensionsOf(path).map((extension) =>
    writeRules.find(({ extensions }) => extensions === 'any other' || extensions.has(extension)),
  ) as WriteRule[]; // always found: the last rule matches any extension
  const order = ['REJECT', 'HIGH', 'MEDIUM', 'LOW'];
  return rules.reduce((a, b) => (order.indexOf(a.effect) <= order.indexOf(b.effect) ? a : b));
}

/** TL-4: refuses to write a file whose `name` has the extension of an executable binary. `shown` is for the person. */
export function refuseBinary(name: string, shown: string): Refused | undefined {
  const rule = writeRuleFor(name);
  if (rule.effect !== 'REJECT') return undefined;
  const extension = name.slice(name.lastIndexOf('.'));
  const reason = { rule: rule.id, why: `"${shown}" ${rule.why}`, operand: shown };
  return refuse('EXTENSION_REFUSED', { path: shown, extension }, reason);
}
