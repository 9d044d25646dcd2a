import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { summarise } from './measure.ts';
import { paced } from './pace.ts';
import { Child } from './processes/child.ts';
import type { Bench, Row } from './results.ts';

const approvals = paced(3_000, 300);
const streams = paced(500, 100);
const rounds = paced(5, 1);
/** We promised at most 1 s for the snapshot, and 50 ms for other requests while many streams open. */
const snapshotMs = 1_000;
const othersMs = 50;

/** A person opens a page while much is pending, and what other requests notice of it (EV-2). */
const streamsBench: Bench = {
  name: 'streams: opened while much is pending',
  async run(): Promise<readonly Row[]> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
    const children: Child[] = [];
    const start = async (program: string, input: unknown): Promise<Child> => {
      const options = { input, log: join(folder, 'log') };
      children.push(await Child.start(new URL(`./streams/${program}.ts`, import.meta.url), options));
      return children.at(-1) as Child;
    };
    try {
      const server = await start('server', { folder, approvals });
      const { address, token } = server.ready as { address: string; token: string };
      const listeners = await start('listeners', { address, token });
      const prober = await start('prober', { address });
      const one = await openTimes(listeners, 1);
      const { probes, lasted } = await openMany(listeners, prober);
      const ms = (time: number) => time * 1e6;
      const pending = approvals.toLocaleString('en');
      return [
        {
          ...summarise(`a stream opened with ${pending} pending, until it has them all`, one.map(ms)),
          limit: ms(snapshotMs),
        },
        {
          ...summarise(
            `/healthz at p99 while ${streams} streams open with ${pending} pending`,
            probes.map(ms),
          ),
          limit: ms(othersMs),
          note: `all ${streams} had their snapshot after ${(median(lasted) / 1_000).toFixed(1)} s`,
        },
      ];
    } finally {
      for (const child of children) await child.stop();
      rmSync(folder, { recursive: true });
    }
  },
};
export default streamsBench;

interface Opened {
  readonly milliseconds: readonly number[];
  readonly requests: number;
}

/** Time to open one stream, in each of several rounds; the server caches nothing between rounds. */
async function openTimes(listeners: Child, times: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (let round = 0; round < rounds + 1; round += 1) {
    const { milliseconds } = await opened(listeners, times);
    if (round > 0) found.push(...milliseconds); // the first round prepares statements
  }
  return found;
}

async function openMany(listeners: Child, prober: Child) {
  const probes: number[] = [];
  const lasted: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await prober.ask('start');
    const { milliseconds } = await opened(listeners, streams);
    const times = await prober.ask<number[]>('stop');
    probes.push(quantile(times, 0.99));
    lasted.push(Math.max(...milliseconds));
  }
  return { probes, lasted };
}

async function opened(listeners: Child, count: number): Promise<Opened> {
  const found = await listeners.ask<Opened>('open', { streams: count });
  if (found.milliseconds.length !== count || found.requests !== count * approvals)
    throw new Error(`${found.milliseconds.length} of ${count} streams got ${found.requests} requests`);
  return found;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
const median = (values: readonly number[]): number => quantile(values, 0.5);
