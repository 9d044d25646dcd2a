import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { summarise } from './measure.ts';
import { paced } from './pace.ts';
import { Child } from './processes/child.ts';
import { HttpClient } from './processes/http-client.ts';
import type { Bench, Row } from './results.ts';

interface MemoryUse {
  readonly inUse: number;
  readonly resident: number;
}

/** A thousand sessions, each with its first approval and `furtherEach` more. */
const sessions = 1_000;
const furtherEach = paced(9, 1);
const approvals = sessions * (1 + furtherEach);
const streams = paced(2_000, 200);
/** Each round starts a new server. */
const rounds = paced(3, 1);
/** We promised at most 3 KB for a pending approval. */
const bytesOfApproval = 3_000;

/** Memory of the server for pending approvals and open streams. */
const memoryBench: Bench = {
  name: 'memory of the server, each above idle',
  async run(): Promise<readonly Row[]> {
    const found: (readonly Row[])[] = [];
    for (let round = 0; round < rounds; round += 1) found.push(await measureOnce());
    const places = (found.at(-1) ?? []).entries();
    return [...places].map(([place, row]): Row => {
      const samples = found.map((rows) => rows[place]?.median ?? Number.NaN);
      return { ...row, ...summarise(row.name, samples) };
    });
  },
};
export default memoryBench;

async function measureOnce(): Promise<readonly Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
  const program = new URL('./memory/server.ts', import.meta.url);
  const flags = ['--expose-gc'];
  const server = await Child.start(program, { input: { folder }, log: join(folder, 'log'), flags });
  try {
    // First allocate what is allocated only once: compiled code, prepared statements, the database cache.
    await server.ask('wait', { each: 1, content: 'x' });
    await listenAndCount(server, 100);
    return [await pendingApprovals(server), await openStreams(server)];
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

async function pendingApprovals(server: Child): Promise<Row> {
  const before = await server.ask<MemoryUse>('held');
  const waiting = await server.ask<number>('wait', {
    each: furtherEach,
    content: 'The quick brown fox. '.repeat(20),
  });
  const added = sessions * furtherEach;
  if (waiting !== approvals) throw new Error(`${waiting} approvals wait`);
  return row(`an approval that waits, of ${approvals}`, before, await server.ask<MemoryUse>('held'), added, {
    limit: bytesOfApproval,
  });
}

async function openStreams(server: Child): Promise<Row> {
  const before = await server.ask<MemoryUse>('held');
  const { told, milliseconds, close } = await listenAndCount(server, streams);
  const after = await server.ask<MemoryUse>('held');
  close();
  return row(`a stream that listens, of ${streams}`, before, after, streams, {
    note: `${told} of ${streams} got the event, the last after ${milliseconds.toFixed(0)} ms`,
  });
}

/** Opens streams of all people in turns, sends each person an event, and counts who receives it. */
async function listenAndCount(server: Child, count: number) {
  const { address, tokens } = server.ready as { address: string; tokens: string[] };
  const clients = tokens.map((token) => new HttpClient(address, token));
  let told = 0;
  const opened: Promise<() => void>[] = [];
  for (let place = 0; place < count; place += 1) {
    const client = clients[place % clients.length] as HttpClient;
    opened.push(client.listen('/my/stream', (event) => (told += event === 'runner.changed' ? 1 : 0)));
    if (place % 50 === 49) await Promise.all(opened);
  }
  const closing = await Promise.all(opened);
  const startedAt = performance.now();
  await server.ask('sendEvents');
  while (told < count && performance.now() - startedAt < 10_000) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const milliseconds = performance.now() - startedAt;
  return { told, milliseconds, close: () => closing.forEach((close) => void close()) };
}

function row(
  name: string,
  before: MemoryUse,
  after: MemoryUse,
  count: number,
  more: Pick<Row, 'limit' | 'note'>,
): Row {
  const each = (after.inUse - before.inUse) / count;
  const resident = `${((after.resident - before.resident) / count / 1000).toFixed(1)} kB resident`;
  const note = more.note === undefined ? resident : `${more.note}; ${resident}`;
  return { name, unit: 'bytes', median: each, p10: each, p90: each, ...more, note };
}
