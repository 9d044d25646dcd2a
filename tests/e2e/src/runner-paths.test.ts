import { cpSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type SecurityCase,
  securityCases,
  startSwapping,
  startSwappingLink,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RunnerServer, RunnerStory } from './runner/runner-story.ts';

/** `security/paths.jsonl` from the agent's request to the disk and back: nothing outside is changed or shown. */

let server: RunnerServer;
let files: TemporaryWorkspace;
let story: RunnerStory;
let pristine: string;

beforeAll(async () => {
  files = temporaryWorkspace();
  server = await RunnerServer.start();
  story = await RunnerStory.open(server, 'paths', { folders: files });
  pristine = join(story.parent, 'pristine');
  cpSync(files.root, pristine, { recursive: true });
  await story.startRunner();
});
afterAll(async () => {
  await story?.close();
  await server?.close();
  files?.remove();
});

/** The runner keeps the folder; each case replaces what is in it and beside it. */
beforeEach(() => {
  for (const folder of [files.root, files.outside])
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  cpSync(pristine, files.root, { recursive: true });
});

type Try = readonly [tool: string, times: number, params: (n: number) => object];

const cases = securityCases('paths');

/** Our parameter names for the neutral names in the cases (VA-9). */
const ourNames: Readonly<Record<string, string>> = {
  destination: 'dest',
  query: 'content',
  regex: 'content',
  glob: 'pattern',
};
const argumentsOf = ({ input }: SecurityCase): object =>
  Object.fromEntries(
    Object.entries(files.fill(input.args) as object).map(([name, value]) => [ourNames[name] ?? name, value]),
  );

/** Everything in a folder: names, kinds, contents and modification times. */
function stateOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const stat = lstatSync(path);
      const content = stat.isSymbolicLink()
        ? readlinkSync(path)
        : stat.isFile() && stat.size < 100_000
          ? readFileSync(path, 'latin1')
          : '';
      return `${name} ${stat.mode} ${stat.size} ${stat.mtimeMs} ${stat.ino} ${content}`;
    });
}

describe('[VA-9] security/paths.jsonl through the server', () => {
  it.each(
    cases
      .filter(({ input }) => !input.race)
      .map((testCase) => [testCase.id, testCase.why, testCase] as const),
  )('%s %s', async (_id, _why, testCase) => {
    files.apply(testCase.input.setup ?? []);
    const outside = stateOf(files.outside);
    const inside = stateOf(files.root);
    const hosts = readFileSync('/etc/hosts', 'utf8');
    const startedAt = performance.now();
    const params = argumentsOf(testCase);
    const ended = await story.call(testCase.input.tool, params);
    // It must not hang; a busy machine may take four times as long.
    expect(performance.now() - startedAt).toBeLessThan(4 * (testCase.input.assert?.max_ms ?? 5_000));

    expect(stateOf(files.outside)).toEqual(outside);
    expect(readFileSync('/etc/hosts', 'utf8')).toBe(hosts);
    // A search result repeats the query; the content of outside or sensitive files must not appear.
    expect(JSON.stringify([ended, story.runner.log])).not.toMatch(/CANARY-|T=CANARY/);
    const isDone = ended.status === 'completed';
    if (testCase.expect === 'REJECT') {
      expect([isDone, ended.code]).toEqual([false, expect.any(String)]);
      expect(stateOf(files.root)).toEqual(inside);
      return;
    }
    // An edit whose text is missing, or there twice, was allowed but could not be done.
    if (!isDone) expect(ended.code).toMatch(/^EDIT_/);
    else if (testCase.expect === 'ALLOW') expect(stateOf(files.root)).toEqual(inside);
    else expect(stateOf(files.root)).not.toEqual(inside);
    if (!['MEDIUM', 'HIGH'].includes(testCase.expect)) return;
    expect((await story.look(ended.toolId)).execution.risk_level).toBe(testCase.expect);
  });
});

/** Each call succeeded inside, or was refused with one of these codes. */
const possible =
  /^(completed|PATH_OUTSIDE_WORKSPACE|FILE_NOT_FOUND|NOT_A_DIRECTORY|APPROVAL_STALE|COMMAND_FAILED|WRITE_FAILED|READ_FAILED)$/;

describe('[VA-1] while a folder and a link to the outside are swapped all the time', () => {
  const [race] = cases.filter(({ input }) => input.race);
  it(`${race?.id}: read_file, 1,000 times`, async () => {
    if (!race?.input.race) throw new Error('there is no race case');
    files.apply(race.input.setup ?? []);
    const outside = stateOf(files.outside);
    const stopSwapping = await startSwapping(files, race.input.race);
    let left = 1_000;
    const seen = new Map<string, number>();
    const lane = async () => {
      while (left > 0) {
        left -= 1;
        const { status, code, result, message } = await story.callAtOnce('read_file', {
          path: 'cur/secret.txt',
        });
        expect(JSON.stringify([result, message])).not.toContain('CANARY-OUTSIDE');
        const outcome = code ?? status;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
    };
    try {
      await Promise.all(Array.from({ length: 16 }, lane));
    } finally {
      await stopSwapping();
    }
    expect(stateOf(files.outside)).toEqual(outside);
    expect([...seen.values()].reduce((sum, count) => sum + count, 0)).toBe(1_000);
    expect([...seen.keys()].filter((outcome) => !possible.test(outcome))).toEqual([]);
  });

  /** The other tools fewer times, since they are slower. The unit tests of the executors make 10,000 calls. */
  const reads: readonly Try[] = [
    ['list_directory', 100, () => ({ path: 'cur' })],
    ['search_files', 50, () => ({ path: 'cur', content: 'INSIDE|CANARY' })],
    ['execute_command', 30, () => ({ command: 'cat', args: ['cur/secret.txt'] })],
  ];
  const writes: readonly Try[] = [
    ['write_file', 60, (n) => ({ path: `cur/new-${n}.md`, content: 'hi\n' })],
    ['edit_file', 40, () => ({ path: 'cur/secret.txt', old: 'S', new: 'S!' })],
    ['copy_file', 40, (n) => ({ source: 'cur/secret.txt', dest: `copy-${n}.md` })],
    ['create_directory', 40, (n) => ({ path: `cur/directory-${n}` })],
    ['delete_file', 40, () => ({ path: 'cur/secret.txt' })],
  ];

  it.each(reads)('%s, %d times', async (...tried) => {
    if (!race?.input.race) throw new Error('there is no race case');
    files.apply(race.input.setup ?? []);
    await tryOften(tried, await startSwapping(files, race.input.race));
  });

  it.each(writes)('%s, %d times', async (...tried) => {
    files.apply(race?.input.setup ?? []);
    const targets = [join(files.root, 'cur.real'), files.outside];
    await tryOften(tried, await startSwappingLink(join(files.root, 'cur'), targets));
    for (const name of readdirSync(files.root).filter((one) => one.startsWith('copy-')))
      expect(readFileSync(join(files.root, name), 'utf8')).toBe('INSIDE\n');
  });

  async function tryOften([tool, times, paramsOf]: Try, stopSwapping: () => Promise<void>): Promise<void> {
    const outside = stateOf(files.outside);
    const seen = new Map<string, number>();
    try {
      for (let n = 0; n < times; n += 1) {
        if (tool === 'edit_file' || tool === 'delete_file') story.write('cur.real/secret.txt', 'INSIDE\n');
        const { status, code, result, message } = await story.call(tool, paramsOf(n));
        expect(JSON.stringify([result, message])).not.toContain('CANARY-OUTSIDE');
        const outcome = code ?? status;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
    } finally {
      await stopSwapping();
    }
    expect(stateOf(files.outside)).toEqual(outside);
    expect([...seen.keys()].filter((outcome) => !possible.test(outcome))).toEqual([]);
  }
});
