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
  /**
   * The server's decision, if it differs because the server sees the text but no disk. The stricter of the two
   * decisions counts.
   */
  readonly onServer?: Pick<CorpusLine, 'expect' | 'network'>;
}

const corpus = readFileSync(new URL('../corpus/command-lines.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((text) => text !== '')
  .map((text) => JSON.parse(text) as CorpusLine);

/**
 * The files that the lines name. The interpreter of a `.venv` is a link to a program outside, as `python3 -m venv`
 * makes it.
 */
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
  {
    op: 'file',
    path: 'tests/fixtures/cert.pem',
    content: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
  },
  { op: 'file', path: 'keys/server.pem', content: '-----BEGIN PRIVATE KEY-----\nMIIB\n' },
  { op: 'file', path: 'pyproject.toml', content: '[project]\nname = "demo"\n' },
  { op: 'file', path: 'Makefile', content: 'test:\n\tnpm test\n' },
];

/** A place that does not exist: the server decides by the text. */
const elsewhere = '/home/person/code/project';
const onServer = new ToolCallPolicy({ root: elsewhere, home: '/home/person' });

let workspace: TemporaryWorkspace;
let inRunner: ToolCallPolicy;

beforeAll(() => {
  workspace = temporaryWorkspace();
  workspace.apply(setup);
  inRunner = new ToolCallPolicy({ root: workspace.root, disk: realDisk, home: '/home/person' });
});
afterAll(() => workspace.remove());

/** The decision, and the reasons for a failure's message. */
function decide(policy: ToolCallPolicy, command: string) {
  const { verdict } = policy.decide('shell_exec', { command });
  const reasons = verdict.reasons.map(({ rule, operand }) => `${rule} ${operand ?? ''}`);
  return { decision: verdict.decision, network: !isRefused(verdict) && verdict.network, reasons };
}

describe('[RK-2] the corpus of real command lines', () => {
  it.each(corpus.map((entry) => [entry.id, entry.line, entry] as const))('%s: %s', (_id, line, entry) => {
    const decided = {
      runner: decide(inRunner, workspace.fill(line)),
      server: decide(onServer, line.replaceAll('{workspace}', elsewhere)),
    };
    const expected = (
      who: 'runner' | 'server',
      { expect: decision, network }: Pick<CorpusLine, 'expect' | 'network'>,
    ) => ({
      decision,
      network: network === true,
      reasons: decided[who].reasons,
    });
    expect(decided).toEqual({
      runner: expected('runner', entry),
      server: expected('server', entry.onServer ?? entry),
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
