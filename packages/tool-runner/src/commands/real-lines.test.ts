import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isRefused } from '@countersign/policy';
import { type BuiltInToolCall, defaultLimits, type ToolSuccess } from '@countersign/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RecordedLogger } from '../handler-fixture.test-data.ts';
import { findOwnNode, fixedPath, isFirstNode } from '../isolation/fixed-path.ts';
import { cannotIsolate } from '../isolation/isolation-fixture.test-data.ts';
import { findTool } from '../isolation/isolation-probe.ts';
import { openWorkspace, type WorkspaceParts } from '../open-workspace.ts';
import { landingFor } from './landing.test-data.ts';
import { makeWorld, realProjects, type World } from './real-projects.test-data.ts';

/** One line of `corpus/executed-lines.jsonl`; its README says what the fields mean. */
interface ExecutedLine {
  readonly project: string;
  readonly line: string;
  readonly needs?: readonly string[];
  readonly differs?: { readonly reason: string; readonly says: string };
}

const lines = readFileSync(new URL('../../corpus/executed-lines.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((text) => text !== '')
  .map((text) => JSON.parse(text) as ExecutedLine);

/** As in isolation, the person's Node comes first, if it is the one that runs these tests. */
const node = findOwnNode('/nowhere', '/nowhere');
const isPersons = node !== undefined && isFirstNode(node, process.env.PATH ?? '', '/nowhere');
const path = fixedPath(isPersons ? [node.programs] : [], node);

interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly tree: Readonly<Record<string, string>>;
}

/** What differs between two runs of the same command in the same place: times, durations, hashes, and the place itself. */
const normalise = (text: string): string =>
  text
    .replaceAll(
      new RegExp(`${realpathSync(tmpdir())}/countersign-real-\\w+/(isolated|plain)`, 'g'),
      '{parent}',
    )
    .replace(/\/tmp\/[\w./-]+/g, '{temporary}')
    .replace(/\b\d+(\.\d+)?\s?m?s\b/g, '{duration}')
    .replace(/(duration_ms)[: ]+[\d.]+/g, '$1 {duration}')
    .replace(/\b[0-9a-f]{7,40}\b/g, '{hash}');

const digest = (content: Buffer): string => createHash('sha256').update(content).digest('hex').slice(0, 12);

/** Entries whose content depends on the time, the place or the system. For these, only their existence is compared. */
const isOpaque = (name: string, content: Buffer): boolean =>
  /\.(pyc|db|log)$|^(CMakeCache\.txt|cmake_install\.cmake|LastTest\w*|CTestCostData\.txt)/.test(name) ||
  content.includes(0);

function treeOf(world: World, folder = ''): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const name of readdirSync(join(world.root, folder)).sort()) {
    const entry = join(folder, name);
    const full = join(world.root, entry);
    const stat = lstatSync(full);
    if (name === '.git') continue;
    if (stat.isDirectory()) Object.assign(tree, { [`${entry}/`]: '' }, treeOf(world, entry));
    else if (stat.isSymbolicLink()) tree[entry] = `-> ${normalise(readlinkSync(full))}`;
    else {
      const content = readFileSync(full);
      const said = isOpaque(name, content) ? 'binary' : digest(Buffer.from(normalise(content.toString())));
      tree[entry] = `${(stat.mode & 0o111) !== 0 ? 'executable ' : ''}${said}`;
    }
  }
  return tree;
}

/** The state of the repository as git prints it, because the repository's files contain times. */
function repositoryOf({ root, environment }: World): Record<string, string> {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, env: environment, encoding: 'utf8' });
  return {
    commits: withoutTimes(git('log', '--all', '--format=%T %s %D')),
    status: git('status', '--short', '--branch'),
    stashes: git('stash', 'list', '--format=%gs'),
    remote: withoutTimes(git('--git-dir=../remote.git', 'log', '--all', '--format=%T %s')),
  };
}

/** The order of git's log, and the commit that a stash names, depend on the second in which commits were made. */
const withoutTimes = (log: string): string =>
  log
    .replace(/(?<=^\S+ index on \S+: )[0-9a-f]+/gm, '…')
    .split('\n')
    .sort()
    .join('\n');

function stateOf(project: string, world: World): Record<string, string> {
  return { ...treeOf(world), ...(project === 'git' ? repositoryOf(world) : {}) };
}

function copyWorld(from: World, to: World): void {
  for (const folder of ['workspace', 'remote.git']) {
    if (!existsSync(join(dirname(from.root), folder))) continue;
    rmSync(join(dirname(to.root), folder), { recursive: true, force: true });
    cpSync(join(dirname(from.root), folder), join(dirname(to.root), folder), {
      recursive: true,
      verbatimSymlinks: true,
    });
  }
}

describe.skipIf(cannotIsolate).each(Object.entries(realProjects))(
  '[RN-5] lines in a real project: %s',
  (name, project) => {
    let parent: string;
    let runner: WorkspaceParts;
    let isolated: World;
    let plain: World;

    beforeAll(() => {
      parent = mkdtempSync(join(realpathSync(tmpdir()), 'countersign-real-'));
      isolated = makeWorld(join(parent, 'isolated'), project, path);
      plain = makeWorld(join(parent, 'plain'), project, path);
      const { root, home } = isolated;
      const limits = defaultLimits;
      const stateFolder = join(parent, 'state');
      runner = openWorkspace(
        {
          workspace: { root, home, stateFolder, limits, addedEnvironment: [] },
          configFolder: join(parent, 'config'),
        },
        new RecordedLogger(),
      );
    });
    afterAll(async () => {
      await runner.dispose();
      rmSync(parent, { recursive: true, force: true });
    });

    /** Runs an approved line with the risk and the network that its card shows. */
    async function runIsolated(command: string): Promise<{ outcome: Outcome; result: object }> {
      const params = { command, timeout: 200 };
      const { verdict, details } = runner.verdict.decide('shell_exec', params);
      if (isRefused(verdict)) {
        const outcome = { exitCode: null, stdout: '', tree: stateOf(name, isolated) };
        return { outcome, result: { error: verdict.message } };
      }
      const result = await runner.builtIn.execute({ tool: 'shell_exec', params } as BuiltInToolCall, {
        toolId: 'tool-1',
        attempt: 1,
        sessionId: 'session-1',
        riskLevel: verdict.decision,
        network: verdict.network,
        details,
        signal: new AbortController().signal,
        onProgress: () => {},
        changes: { begin: () => {} },
        landing: landingFor(runner),
      });
      const { exit_code, stdout } = result as ToolSuccess<'shell_exec'>;
      return {
        outcome: { exitCode: exit_code, stdout: normalise(stdout), tree: stateOf(name, isolated) },
        result,
      };
    }

    function runPlain(command: string): Outcome {
      const { status, stdout } = spawnSync('bash', ['--noprofile', '--norc', '-c', command], {
        cwd: plain.root,
        env: plain.environment,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      return { exitCode: status, stdout: normalise(stdout), tree: stateOf(name, plain) };
    }

    it.each(lines.filter((entry) => entry.project === name).map((entry) => [entry.line, entry] as const))(
      '%s',
      async (line, { needs = [], differs }) => {
        const missing = needs.filter((program) => findTool(program) === undefined);
        if (missing.length > 0) {
          console.warn(`Left out, because ${missing.join(' and ')} is not installed: ${line}`);
          return;
        }
        const expected = runPlain(line);
        const { outcome, result } = await runIsolated(line);
        const isSame = isDeepStrictEqual(outcome, expected);
        // Both continue from the plain shell's state, so that one difference is not counted again.
        if (!isSame) copyWorld(plain, isolated);
        if (differs === undefined) expect({ ...outcome, result }).toEqual({ ...expected, result });
        else {
          expect(isSame, 'it works now: remove `differs`').toBe(false);
          expect(JSON.stringify(result)).toContain(differs.says);
        }
      },
    );
  },
);

it('runs 131 lines, each in a project that there is, of which at most 3 differ', () => {
  expect(lines.length).toBeGreaterThanOrEqual(131);
  expect(lines.filter(({ differs }) => differs).length).toBeLessThanOrEqual(3);
  expect(lines.filter(({ project }) => !Object.hasOwn(realProjects, project))).toEqual([]);
  expect(lines.filter(({ differs }) => differs && (differs.reason === '' || differs.says === ''))).toEqual(
    [],
  );
});
