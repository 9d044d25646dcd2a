import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TemporaryPostgres, temporaryPostgres } from '@countersign/testing';
import { summarise } from './measure.ts';
import { BenchCluster, type BenchRunner, callOf, type Person } from './nodes/cluster.ts';
import { paced } from './pace.ts';
import type { HttpClient } from './processes/http-client.ts';
import type { Bench, Row } from './results.ts';

const people = 16;
const sessions = 4;
const inFlight = 64;
const rounds = paced(7, 2);
const eventsEach = paced(200, 10);
const calls = paced(2_000, 100);
const streams = paced(2_000, 100);
const approvals = people * sessions * paced(9, 2);
/** With fewer events per second, LISTEN and NOTIFY would have to be replaced (issue 9). */
const leastEvents = 5_000;

/** One node and three on one PostgreSQL that waits for its disk; each request goes to another node than the last. */
const nodesBench: Bench = {
  name: 'several nodes on one PostgreSQL',
  async run(): Promise<readonly Row[]> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
    const postgres = await temporaryPostgres({ flushes: true });
    const log = join(folder, 'log');
    const clusters: BenchCluster[] = [];
    try {
      for (const nodes of [1, 3])
        clusters.push(await BenchCluster.start(postgres, { nodes, people, sessions, log }));
      const [one, three] = clusters as [BenchCluster, BenchCluster];
      const both = { '1 node': one, '3 nodes': three };
      const each = await inTurns(both, 'events, one in a commit', events(1));
      const together = await inTurns(both, 'events, ten in a commit', events(10));
      const made = await inTurns(both, `calls, ${inFlight} in flight`, await callers(clusters));
      const rows = [...each, ...together.map((row): Row => ({ ...row, limit: leastEvents })), ...made];
      for (const [name, cluster] of Object.entries(both)) rows.push(await held(cluster, name));
      rows.push(await overload(postgres, log));
      return rows;
    } finally {
      for (const cluster of clusters) await cluster.stop();
      await postgres.stop();
      rmSync(folder, { recursive: true });
    }
  },
};
export default nodesBench;

/** Work of a whole cluster; resolves with operations per second. */
type Work = (cluster: BenchCluster) => Promise<number>;

async function inTurns(
  clusters: Readonly<Record<string, BenchCluster>>,
  what: string,
  work: Work,
): Promise<Row[]> {
  const found = new Map<string, number[]>();
  // The first round only warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, cluster] of Object.entries(clusters)) {
      const rate = await work(cluster);
      if (round > 0) found.set(name, [...(found.get(name) ?? []), rate]);
    }
  }
  const rows: Row[] = [];
  for (const [name, samples] of found) {
    const note = await (clusters[name] as BenchCluster).memory();
    rows.push({ ...summarise(`${what}, ${name}`, samples), unit: 'per second', note });
  }
  return rows;
}

/** Every node writes for all people, and each person listens on every node, until all events have arrived. */
const events =
  (inCommit: number) =>
  async (cluster: BenchCluster): Promise<number> => {
    let heard = 0;
    const closing: (() => void)[] = [];
    for (const { tokens } of cluster.people)
      for (const client of cluster.clients(tokens.person))
        closing.push(
          await client.listen('/my/stream', (event) => {
            if (event === 'runner.changed') heard += 1;
          }),
        );
    const written = people * eventsEach * cluster.nodes.length;
    const expected = written * cluster.nodes.length;
    const startedAt = performance.now();
    const projects = cluster.people.map(({ project }) => project);
    await Promise.all(
      cluster.nodes.map((node) => node.ask('sendEvents', { projects, each: eventsEach, inCommit })),
    );
    await until(
      () => heard >= expected,
      () => `${heard} of ${expected} events were heard`,
    );
    const rate = (written / (performance.now() - startedAt)) * 1000;
    for (const close of closing) close();
    return rate;
  };

/** Calls from request to result: requested at one node, executed by a runner at another, reported to a third. */
async function callers(clusters: readonly BenchCluster[]): Promise<Work> {
  for (const cluster of clusters)
    for (const [place, person] of cluster.people.entries()) await cluster.run(person, place + 1);
  return async (cluster) => {
    const all = cluster.people.map(({ tokens }) => cluster.clients(tokens.person));
    let left = calls;
    const startedAt = performance.now();
    await Promise.all(
      Array.from({ length: inFlight }, async (_, lane) => {
        while (left > 0) {
          left -= 1;
          const person = cluster.people[lane % people] as Person;
          const client = all[lane % people]?.[left % cluster.nodes.length] as HttpClient;
          const body = callOf(person, Math.floor(lane / people) % sessions);
          const answer = (await client.post('/my/tools/execute', body)) as {
            status: string;
            tool_id: string;
          };
          if (answer.status !== 'completed') await ended(client, answer.tool_id);
        }
      }),
    );
    return (calls / (performance.now() - startedAt)) * 1000;
  };
}

async function ended(client: HttpClient, toolId: string): Promise<void> {
  await until(
    async () => (await client.statusOf(toolId)) === 'completed',
    () => `${toolId} does not end`,
    50,
  );
}

/** Open streams and pending approvals at the same time. */
async function held(cluster: BenchCluster, name: string): Promise<Row> {
  const before = await cluster.memory();
  const startedAt = performance.now();
  const closing: (() => void)[] = [];
  for (let place = 0; place < streams; place += 1) {
    const { tokens } = cluster.people[place % people] as Person;
    const client = cluster.clients(tokens.person)[place % cluster.nodes.length] as HttpClient;
    closing.push(await client.listen('/my/stream', () => {}));
  }
  const rate = (streams / (performance.now() - startedAt)) * 1000;
  for (let place = 0; place < approvals; place += 1) {
    const person = cluster.people[place % people] as Person;
    const client = cluster.clients(person.tokens.person)[place % cluster.nodes.length] as HttpClient;
    const call = callOf(person, Math.floor(place / people) % sessions);
    await client.post('/my/tools/execute', {
      ...call,
      tool_name: 'write_file',
      tool_params: { path: `notes-${place}.md`, content: 'x' },
    });
  }
  const note = `${streams} streams and ${approvals} approvals that wait: ${before}, then ${await cluster.memory()}`;
  for (const close of closing) close();
  return { ...summarise(`streams opened, ${name}`, [rate]), unit: 'per second', note };
}

/** More requests than a node admits: refused ones are told when to retry, and every accepted one ends. */
async function overload(postgres: TemporaryPostgres, log: string): Promise<Row> {
  const settings = { requestsPerSecond: 2, maxStreams: 6 };
  const cluster = await BenchCluster.start(postgres, { nodes: 3, people: 4, sessions, log, settings });
  try {
    const runners: BenchRunner[] = [];
    for (const [place, person] of cluster.people.entries()) runners.push(await cluster.run(person, place));
    const asked = paced(8_000, 1_500);
    const answers = new Map<string, number>();
    const accepted: string[] = [];
    const note = (what: string) => answers.set(what, (answers.get(what) ?? 0) + 1);
    const all = cluster.people.map(({ tokens }) => cluster.clients(tokens.person));
    const clientOf = (person: number, node: number) =>
      (all[person % 4] as readonly HttpClient[])[node % 3] as HttpClient;
    const opened = await Promise.all(
      Array.from({ length: 48 }, (_, place) =>
        clientOf(place, place)
          .listen('/my/stream', () => {})
          .then(
            () => '200',
            (error: Error) => /\b(\d{3})\b/.exec(error.message)?.[1] ?? error.message,
          ),
      ),
    );
    for (const one of opened) note(`a stream ${one}`);
    const startedAt = performance.now();
    let left = asked;
    await Promise.all(
      Array.from({ length: inFlight }, async (_, lane) => {
        while (left > 0) {
          left -= 1;
          const person = cluster.people[lane % 4] as Person;
          const client = clientOf(lane, left);
          const { status, text, retryAfter } = await client.ask(
            '/my/tools/execute',
            callOf(person, lane % sessions),
          );
          if (status === 200) accepted.push((JSON.parse(text) as { tool_id: string }).tool_id);
          note(status === 429 && retryAfter !== undefined ? '429 with Retry-After' : String(status));
        }
      }),
    );
    const rate = (accepted.length / (performance.now() - startedAt)) * 1000;
    // Each call was given to a runner, none twice, and its result was accepted.
    const reported = () => runners.reduce((sum, runner) => sum + runner.reported.size, 0);
    await until(
      () => reported() >= accepted.length,
      () => `${reported()} of ${accepted.length} calls have ended`,
    );
    const lost = accepted.filter((id) => !runners.some((runner) => runner.reported.has(id))).length;
    if (lost > 0) throw new Error(`${lost} calls were accepted and lost`);
    const twice = runners.reduce((sum, { given }) => sum + given.length - new Set(given).size, 0);
    if (twice > 0) throw new Error(`${twice} calls were given twice`);
    const said = [...answers]
      .map(([what, count]) => `${what}: ${count}`)
      .toSorted()
      .join(', ');
    const name = `overload, 3 nodes: accepted of ${asked.toLocaleString('en')}, none lost`;
    return { ...summarise(name, [rate]), unit: 'per second', note: said };
  } finally {
    await cluster.stop();
  }
}

async function until(
  holds: () => boolean | Promise<boolean>,
  otherwise: () => string,
  everyMs = 1,
): Promise<void> {
  const startedAt = performance.now();
  while (!(await holds())) {
    if (performance.now() - startedAt > 60_000) throw new Error(otherwise());
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
