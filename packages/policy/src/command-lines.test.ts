import { readFileSync } from 'node:fs';
import { realDisk, type SetupStep, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToolCallPolicy } from './tool-call-policy.ts';
import { isRefused } from './verdict.ts';

/** One line of `corpus/command-lines.jsonl`; its README says what the fields mean. */
interface CorpusLine {
  readonly id: string;
  readonly line: string;
  readonly kind: string;
  readonly expect: 'LOW' | 'MEDIUM' | 'HIGH' | 'REJECT';
  readonly network?: true;
  readonly source: string;
  readonly why?: string;
}

const corpus = readFileSync(new URL('../corpus/command-lines.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((text) => text !== '')
  .map((text) => JSON.parse(text) as CorpusLine);

/** What the lines name. The interpreter of a `.venv` is a link to a program outside, as `python3 -m venv` makes it. */
const setup: readonly SetupStep[] = [
  ...[
    'packages/web',
    'packages/core',
    'packages/types',
    'packages/cli',
    'plugin',
    'server',
    'streams/quickstart',
  ].map((path): SetupStep => ({ op: 'file', path: `${path}/package.json`, content: '{}' })),
  ...['core-rs', 'src/libraries/System.Text.Json', 'docs/old', 'dist', 'e2e'].map(
    (path): SetupStep => ({ op: 'dir', path }),
  ),
  ...['', 'backend/'].flatMap((folder): SetupStep[] => [
    { op: 'file', path: `${folder}.venv/pyvenv.cfg`, content: 'home = /usr/bin\n' },
    { op: 'symlink', path: `${folder}.venv/bin/python`, target: '/usr/bin/python3' },
    ...['activate', 'pip', 'prek', 'pytest'].map(
      (name): SetupStep => ({ op: 'file', path: `${folder}.venv/bin/${name}`, content: '' }),
    ),
  ]),
  ...['biome', 'eslint', 'jest', 'playwright', 'prettier', 'tsc', 'turbo', 'vitest'].map(
    (name): SetupStep => ({ op: 'file', path: `node_modules/.bin/${name}`, content: '' }),
  ),
  { op: 'file', path: '.env.example', content: 'API_KEY=\n' },
  ...['.env', '.env.local', '.env.development'].map(
    (path): SetupStep => ({ op: 'file', path, content: 'API_KEY=made-up\n' }),
  ),
  { op: 'file', path: 'tests/fixtures/cert.pem', content: '-----BEGIN CERTIFICATE-----\nMIIB\n' },
  { op: 'file', path: 'keys/server.pem', content: '-----BEGIN PRIVATE KEY-----\nMIIB\n' },
  { op: 'file', path: 'pyproject.toml', content: '[project]\nname = "demo"\n' },
  { op: 'file', path: 'Makefile', content: 'test:\n\tnpm test\n' },
];

let workspace: TemporaryWorkspace;
let policy: ToolCallPolicy;

beforeAll(() => {
  workspace = temporaryWorkspace();
  workspace.apply(setup);
  policy = new ToolCallPolicy({ root: workspace.root, disk: realDisk, home: '/home/person' });
});
afterAll(() => workspace.remove());

function decide(line: string): { decision: string; network: boolean; rules: string } {
  const { verdict } = policy.decide('shell_exec', { command: workspace.fill(line) });
  return {
    decision: verdict.decision,
    network: !isRefused(verdict) && verdict.network,
    rules: verdict.reasons.map(({ rule }) => rule).join(' '),
  };
}

describe('[RK-2] the corpus of real command lines', () => {
  it.each(corpus.map((entry) => [entry.id, entry.line, entry] as const))('%s: %s', (_id, _line, entry) => {
    const { rules, ...decided } = decide(entry.line);
    expect({ ...decided, rules }).toEqual({
      decision: entry.expect,
      network: entry.network === true,
      rules,
    });
  });

  it('has every line once, of known kinds, enough of each, and says where it was found', () => {
    const least = {
      read: 60,
      git: 50,
      node: 50,
      python: 50,
      build: 50,
      files: 30,
      network: 25,
      shell: 30,
      hostile: 20,
    };
    const count = (kind: string): number => corpus.filter((entry) => entry.kind === kind).length;
    expect(Object.entries(least).filter(([kind, enough]) => count(kind) < enough)).toEqual([]);
    expect(corpus.filter(({ kind }) => !Object.hasOwn(least, kind))).toEqual([]);
    expect(corpus.filter(({ source }) => source === '')).toEqual([]);
    expect(new Set(corpus.map(({ id }) => id)).size).toBe(corpus.length);
    expect(new Set(corpus.map(({ line }) => line)).size).toBe(corpus.length);
    const found = corpus.filter(({ source }) => !/^(usual form|written for)/.test(source));
    expect(found.length).toBeGreaterThanOrEqual(300);
  });
});
