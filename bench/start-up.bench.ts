import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { measureSlow } from './measure.ts';
import type { Bench, Row } from './results.ts';

const second = 1e9;
// The grammar is a dependency of policy, so resolve it from there.
const grammar = pathToFileURL(
  createRequire(import.meta.resolve('@countersign/policy')).resolve('unbash'),
).href;
const launcher = fileURLToPath(new URL('../apps/cli/bin/countersign.mjs', import.meta.url));

/** Server, runner and page until a person could sign in (UI-4); then stopped. */
const ready = 'countersign up, ready and stopped';

/** Start-up time of a bare Node, the shell grammar, the policy, and the command. */
const startUpBench: Bench = {
  name: 'start-up, a process each time',
  async run(): Promise<readonly Row[]> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
    const load = (url: string) => () => node(['--input-type=module', '-e', `await import('${url}')`], folder);
    const check = (input: string) => () =>
      node([launcher, 'policy', 'check', '--workspace', folder], folder, input);
    try {
      const rows = await measureSlow(
        {
          'node alone': () => node(['-e', ''], folder),
          'the shell grammar (unbash)': load(grammar),
          'the whole policy': load(import.meta.resolve('@countersign/policy')),
          'policy check, 1 call': check(calls(1)),
          'policy check, 10,000 calls': check(calls(10_000)),
          [ready]: () => upUntilReady(folder),
        },
        { runs: 7 },
      );
      const isLimited = (name: string) => name.includes('10,000') || name === ready;
      return rows.map((row) => (isLimited(row.name) ? { ...row, limit: 2 * second } : row));
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};
export default startUpBench;

async function node(args: readonly string[], cwd: string, input = ''): Promise<void> {
  const child = spawn(process.execPath, args, { cwd, stdio: ['pipe', 'ignore', 'inherit'] });
  child.stdin.end(input);
  const [status] = (await once(child, 'exit')) as [number];
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`);
}

async function upUntilReady(home: string): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: home, COUNTERSIGN_WEB_FOLDER: home };
  const up = spawn(process.execPath, [launcher, 'up', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(up, 'exit');
  await Promise.race([once(up.stdout, 'data'), ended]);
  up.kill('SIGTERM');
  const [status] = (await ended) as [number];
  if (status !== 0) throw new Error(`countersign up ended with ${status}`);
}

/** Calls as JSON Lines: every tenth is a shell line, the others are file tools and commands. */
function calls(count: number): string {
  return Array.from({ length: count }, (_, i) => JSON.stringify(callNumber(i))).join('\n');
}

function callNumber(i: number): { id: number; tool: string; args: object } {
  if (i % 10 === 0)
    return {
      id: i,
      tool: 'shell_exec',
      args: { command: `cd src && grep -n "x${i}" *.ts | sort | head -5 > out${i}.txt` },
    };
  if (i % 3 === 0)
    return {
      id: i,
      tool: 'execute_command',
      args: { command: 'git', args: ['log', '--oneline', `-${(i % 9) + 1}`] },
    };
  if (i % 3 === 1)
    return { id: i, tool: 'execute_command', args: { command: 'grep', args: ['-rn', `x${i}`, '.'] } };
  return { id: i, tool: 'write_file', args: { path: `src/a${i}.ts`, content: 'x' } };
}
