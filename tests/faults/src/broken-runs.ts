import type { FaultRunOptions } from './fault-run.ts';
import type { Sabotage } from './sabotage.ts';

const few = { users: 1, ms: 3_000, everyMs: 100, faultEveryMs: 1_500, restMs: 20_000 } as const;
/** Where the harm is that something never ends, nobody need wait for it longer. */
const soon = { ...few, restMs: 12_000 } as const;

/** What brings each broken build to light soonest: the calls and the faults that its promise is about. */
export const brokenRuns: Readonly<Record<Sabotage, Partial<FaultRunOptions>>> = {
  lease: { ...soon, calls: ['long'], faults: ['runner-replace'], quickLeases: true },
  digest: { ...few, calls: ['tamper'], faults: ['cut'] },
  claim: { ...few, calls: ['rival'], faults: ['cut'] },
  event: { ...soon, calls: ['append', 'read'], faults: ['cut'] },
  decision: { ...soon, calls: ['race'], faults: ['cut'] },
  stranger: { ...few, users: 2, ms: 5_000, calls: ['append', 'withdraw'], faults: ['cut'] },
  audit: { ...few, calls: ['append', 'read'], faults: ['cut'] },
};
