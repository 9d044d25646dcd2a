import { expect, it } from 'vitest';
import { type FaultRunOptions, runFaults } from './fault-run.ts';

/** Short runs with fixed seeds; `npm run test:faults` runs longer, with any seed. */
const short = { users: 2, everyMs: 200, faultEveryMs: 1_500, quickLeases: true } as const;

const runs: readonly FaultRunOptions[] = [
  { ...short, database: 'sqlite', nodes: 1, seed: 21, ms: 12_000 },
  { ...short, database: 'postgres', nodes: 3, seed: 22, ms: 15_000 },
];

it.each(runs)(
  '[AP-2] [AP-8] [EX-2] [EX-6] [EV-2] [RE-3] [DA-4] $database, $nodes nodes: no promise is broken while everything fails',
  {
    timeout: 1_800_000,
  },
  async (options) => {
    const { violations, ends, faults, folder } = await runFaults(options);
    expect(violations, folder).toEqual([]);
    // The faults happened, and the work was done all the same.
    expect(Object.keys(faults).length).toBeGreaterThanOrEqual(4);
    expect(ends.completed).toBeGreaterThanOrEqual(5);
  },
);
