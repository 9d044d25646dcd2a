import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuiltInToolCall, defaultLimits } from '@countersign/protocol';
import { readingContext } from '@countersign/testing';
import { fileTools } from '../packages/tool-runner/src/files/file-tools.test-data.ts';
import { compare, type Rounds, summaries } from './in-turns.ts';
import { summarise } from './measure.ts';
import { paced } from './pace.ts';
import type { Bench, Row } from './results.ts';

const files = paced(100_000, 10_000);
const rounds = paced(11, 3);
const MB = 1_000_000;
const filesInFolder = 100;
/** A content search finds this in one file of a hundred. */
const needle = 'needleInAHaystack';
/** A name search finds one file of a hundred. */
const wantedNames = '*.spec.ts';

/** For each of our tools: the program that we compare it with, and how many times as long ours may take. */
const promises: Readonly<Record<string, { readonly to: string; readonly mayTake: number }>> = {
  'search_files, content': { to: 'rg, content', mayTake: 1.3 },
  'search_files, names': { to: 'rg, names', mayTake: 1.3 },
  'list_directory, recursive': { to: 'find | head -1000', mayTake: 1.5 },
};

/** Searches and lists a tree of 100,000 files beside common programs; reads 100 MB by ranges. */
const filesBench: Bench = {
  name: `file tools, a tree of ${files.toLocaleString('en')} files`,
  async run(): Promise<readonly Row[]> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-bench-')));
    const root = join(folder, 'workspace');
    const executor = fileTools({
      root,
      stateFolder: join(folder, 'state'),
      limits: defaultLimits,
      home: folder,
      addedEnvironment: [],
    });
    const call = (wanted: BuiltInToolCall) => executor.execute(wanted, readingContext());
    try {
      mkdirSync(root);
      const held = await memoryOfRanges(root, call);
      makeLargeTree(root, files);
      return [...(await besidePrograms(root, call)), held];
    } finally {
      await executor.dispose();
      rmSync(folder, { recursive: true });
    }
  },
};
export default filesBench;

type Call = (call: BuiltInToolCall) => Promise<{ readonly [key: string]: unknown }>;

async function besidePrograms(root: string, call: Call): Promise<readonly Row[]> {
  // The same binary as ours.
  const runner = createRequire(import.meta.resolve('../packages/tool-runner/src/index.ts'));
  const { rgPath } = (await import(runner.resolve('@vscode/ripgrep'))) as { rgPath: string };
  const found = files / 100;
  const pipeline = "find . -printf '%p %s %T@\\n' | head -1000";
  const count = async (wanted: BuiltInToolCall) => (await call(wanted)).total_count;
  const loads: Readonly<Record<string, readonly [run: () => Promise<unknown>, expected: number]>> = {
    'rg, content': [() => countLinesOf(rgPath, ['-n', needle], root), found],
    'search_files, content': [() => count({ tool: 'search_files', params: { content: needle } }), found],
    'rg, names': [() => countLinesOf(rgPath, ['--files', '-g', wantedNames], root), found],
    'search_files, names': [() => count({ tool: 'search_files', params: { pattern: wantedNames } }), found],
    'find | head -1000': [() => countLinesOf('sh', ['-c', pipeline], root), 1_000],
    'list_directory, recursive': [
      () => count({ tool: 'list_directory', params: { path: '.', recursive: true, pattern: '*' } }),
      1_000,
    ],
  };
  const times = await timeInTurns(loads);
  return summaries(times).map((row): Row => {
    const promise = promises[row.name];
    if (!promise) return row;
    const { to, mayTake } = promise;
    return {
      ...row,
      comparisons: [{ to, ...compare(times, row.name, to), atLeast: twoPlaces(1 / mayTake) }],
    };
  });
}

/** Runs each load once a round; the first round only fills caches. Each load is too slow to repeat within a round. */
async function timeInTurns(
  loads: Readonly<Record<string, readonly [run: () => Promise<unknown>, expected: number]>>,
): Promise<Rounds> {
  const times = new Map<string, number[]>(Object.keys(loads).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, [run, expected]] of Object.entries(loads)) {
      const startedAt = performance.now();
      const answer = await run();
      const elapsed = (performance.now() - startedAt) * 1e6;
      if (answer !== expected) throw new Error(`${name}: ${answer} instead of ${expected}`);
      if (round > 0) times.get(name)?.push(elapsed);
    }
  }
  return times;
}

/** The largest growth of memory while a file of 100 MB is read repeatedly in pieces of 1 MB. */
async function memoryOfRanges(root: string, call: Call): Promise<Row> {
  const linesInPiece = 10_000;
  const pieces = 100;
  const path = join(root, 'large.log');
  for (let piece = 0; piece < pieces; piece += 1)
    appendFileSync(path, `${'x'.repeat(99)}\n`.repeat(linesInPiece));
  const read = async (piece: number) => {
    const start_line = piece * linesInPiece + 1;
    const params = { path: 'large.log', start_line, end_line: start_line + linesInPiece - 1 };
    const { content } = await call({ tool: 'read_file', params });
    if ((content as string).length !== linesInPiece * 100) throw new Error(`piece ${piece} is not whole`);
  };
  const readAll = async (times: number) => {
    let most = 0;
    for (let piece = 0; piece < times * pieces; piece += 1) {
      await read(piece % pieces);
      most = Math.max(most, process.memoryUsage.rss());
    }
    return most;
  };
  // The first reads fill the heap's young generation and the 16 MiB of results that are cached for a minute.
  const before = await readAll(2);
  const grown = (await readAll(3)) - before;
  rmSync(path);
  return { ...summarise('read_file, 100 MB by ranges: growth', [grown]), unit: 'bytes', limit: 10 * MB };
}

/** A tree like a large source tree: folders of a hundred short files, two levels deep. */
function makeLargeTree(root: string, files: number): void {
  const text = 'export const value = compute(1, 2, 3); // some words of text\n'.repeat(8);
  for (let folder = 0; folder < files / filesInFolder; folder += 1) {
    const path = join(root, `part-${folder % 30}`, `folder-${folder}`);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'file-0.spec.ts'), `${text}${needle}(${folder});\n${text}`);
    for (let file = 1; file < filesInFolder; file += 1) writeFileSync(join(path, `file-${file}.ts`), text);
  }
}

/** Runs a program to its end, reads all its output, and returns the number of lines. */
async function countLinesOf(program: string, args: readonly string[], cwd: string): Promise<number> {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  let lines = 0;
  child.stdout.on('data', (piece: Buffer) => {
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines += 1;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) throw new Error(`${program} ended with ${status}`);
  return lines;
}

const twoPlaces = (value: number): number => Math.round(value * 100) / 100;
