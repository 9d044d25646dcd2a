import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HistoryFilter, Store } from '@countersign/engine';
import { InProcessBus, openSqliteStore } from '@countersign/store';
import { historyOwner, seedHistory } from './history/seed.ts';
import { compare, measureInTurns, summaries } from './in-turns.ts';
import { paced } from './pace.ts';
import type { Bench, Comparison, Row } from './results.ts';

const [few, many] = ['10,000 rows', paced('1,000,000 rows', '100,000 rows')];
const sizes: Readonly<Record<string, number>> = { [few]: 10_000, [many]: paced(1_000_000, 100_000) };
/** A page of a large history may take twice as long as one of a small history. */
const atLeast = 0.5;

/** Pages of 50 calls, newest first, for each filter that people use. */
const pages: Readonly<Record<string, (rows: number) => Omit<HistoryFilter, 'limit'>>> = {
  newest: () => ({}),
  'in the middle': (rows) => ({ before: { createdAt: rows / 2, id: 'z' } }),
  'of a session': () => ({ sessionId: 'session-7' }),
  'of a tool': () => ({ toolName: 'write_file' }),
  'failed ones': () => ({ status: 'failed' }),
  'of high risk': () => ({ riskLevel: 'HIGH' }),
  'of a day': (rows) => ({ since: rows * 0.4, until: rows * 0.41 }),
};

const historyBench: Bench = {
  name: 'a page of history',
  async run(): Promise<readonly Row[]> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
    const stores = new Map<string, Store>();
    try {
      for (const [name, rows] of Object.entries(sizes)) {
        const path = join(folder, `${rows}.db`);
        await (await openSqliteStore({ path, bus: new InProcessBus() })).close(); // creates the tables
        seedHistory(path, rows);
        stores.set(name, await openSqliteStore({ path, bus: new InProcessBus() }));
      }
      return await measurePages(stores);
    } finally {
      for (const store of stores.values()) await store.close();
      rmSync(folder, { recursive: true });
    }
  },
};
export default historyBench;

async function measurePages(stores: ReadonlyMap<string, Store>): Promise<readonly Row[]> {
  const loads = Object.fromEntries(
    Object.entries(pages).flatMap(([page, filter]) =>
      [...stores].map(([size, store]) => {
        const asked = { ...filter(sizes[size] ?? 0), limit: 50 };
        return [`${page}, ${size}`, (count: number) => timeReads(store, asked, count)] as const;
      }),
    ),
  );
  const rounds = await measureInTurns(loads, { rounds: paced(15, 3), roundMs: 40, warmUpMs: paced(150, 50) });
  return summaries(rounds).map((row): Row => {
    if (!row.name.endsWith(many)) return row;
    const to = row.name.replace(many, few);
    const compared: Comparison = { to: few, ...compare(rounds, row.name, to), atLeast };
    return { ...row, comparisons: [compared] };
  });
}

async function timeReads(store: Store, filter: HistoryFilter, count: number): Promise<number> {
  const startedAt = performance.now();
  for (let place = 0; place < count; place += 1) {
    const rows = await store.read((tx) => tx.history(historyOwner, filter));
    if (rows.length !== filter.limit) throw new Error(`${rows.length} rows: ${JSON.stringify(filter)}`);
  }
  return performance.now() - startedAt;
}
