import type { BrokenBuild } from './broken-builds.ts';
import type { FaultRunOptions } from './fault-run.ts';

const few = { users: 1, ms: 3_000, everyMs: 150, faultEveryMs: 1_500, faults: ['cut'] } as const;
const atOnce = (finding: RegExp) => ({ finding, forMs: 0 });
/** Longer than any lease, and longer than the work that is left when faults end. */
const forLong = (finding: RegExp) => ({ finding, forMs: 20_000 });

/** For each broken build: the calls and faults that expose it soonest, and the violation that must be found. */
export const brokenBuildRuns = {
  lease: {
    ...few,
    calls: ['long'],
    forced: 'runner-replace-in-call',
    quickLeases: true,
    seeks: forLong(/is still executing/),
  },
  takeover: {
    ...few,
    database: 'postgres',
    nodes: 2,
    calls: ['run'],
    forced: 'node-kill-in-run',
    seeks: forLong(/run \S+ has not ended/),
  },
  digest: {
    ...few,
    calls: ['tamper'],
    seeks: atOnce(/was changed on "base 2", which no card had shown/),
  },
  claim: { ...few, calls: ['rival'], seeks: atOnce(/was done 2 times, not [01]…1/) },
  event: {
    ...few,
    calls: ['append', 'read'],
    seeks: atOnce(/the person's event \d+ is \d+ and should be \d+/),
  },
  decision: { ...few, calls: ['race'], seeks: atOnce(/was decided \d+ times/) },
  stranger: {
    ...few,
    users: 2,
    ms: 5_000,
    calls: ['append', 'withdraw'],
    seeks: atOnce(/when they tried to (read|cancel|report|start) what is another person's/),
  },
  audit: { ...few, calls: ['append', 'read'], seeks: atOnce(/audit row \d+: The row does not follow/) },
} as const satisfies Readonly<Record<BrokenBuild, Partial<FaultRunOptions>>>;
