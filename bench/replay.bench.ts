import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, type Load, measureInTurns, summaries } from './in-turns.ts';
import { paced } from './pace.ts';
import { Child } from './processes/child.ts';
import { HttpClient } from './processes/http-client.ts';
import { seedEvents } from './replay/seed.ts';
import type { Bench, Row } from './results.ts';

const few = 10_000;
const many = paced(1_000_000, 100_000);
const named = (events: number): string => `of ${events.toLocaleString('en')} kept`;
/** How many events a client missed while it was away. */
const missed = [1, 100, 10_000] as const;
/** With a hundred times as many stored events, catching up may take twice as long. */
const atLeast = 0.5;

/** A client reconnects over HTTP with `Last-Event-ID` and waits for all events that it missed (EV-2). */
const replayBench: Bench = {
  name: 'replay: a client reconnects and catches up',
  async run(): Promise<readonly Row[]> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
    const servers: Child[] = [];
    try {
      const loads: Record<string, Load> = {};
      for (const events of [few, many]) {
        const own = join(folder, String(events));
        mkdirSync(own);
        await seedEvents(join(own, 'countersign.db'), events);
        const program = new URL('./replay/server.ts', import.meta.url);
        const server = await Child.start(program, { input: { folder: own }, log: join(own, 'log') });
        servers.push(server);
        const { address, token } = server.ready as { address: string; token: string };
        const client = new HttpClient(address, token);
        for (const count of missed) {
          const name = `${count.toLocaleString('en')} missed, ${named(events)}`;
          loads[name] = (times) => catchUp(client, { from: events - count, count, times });
        }
      }
      const rounds = await measureInTurns(loads, {
        rounds: paced(9, 3),
        roundMs: paced(300, 50),
        warmUpMs: paced(500, 50),
        least: 1,
      });
      return summaries(rounds).map((row): Row => {
        if (!row.name.endsWith(named(many))) return row;
        const to = row.name.replace(named(many), named(few));
        return { ...row, comparisons: [{ to: named(few), ...compare(rounds, row.name, to), atLeast }] };
      });
    } finally {
      for (const server of servers) await server.stop();
      rmSync(folder, { recursive: true });
    }
  },
};
export default replayBench;

async function catchUp(
  client: HttpClient,
  { from, count, times }: { from: number; count: number; times: number },
): Promise<number> {
  const startedAt = performance.now();
  for (let time = 0; time < times; time += 1) {
    let heard = 0;
    let whole = () => {};
    const all = new Promise<void>((resolve) => {
      whole = resolve;
    });
    const close = await client.listen(`/my/stream?last_event_id=${from}`, (event) => {
      if (event !== 'runner.changed') return;
      heard += 1;
      if (heard === count) whole();
    });
    await all;
    close();
  }
  return performance.now() - startedAt;
}
