import type { PendingDecisions } from './approve/pending-decisions.ts';
import type { StoredPolicies } from './approve/stored-policies.ts';
import type { CallAssignments } from './dispatch/call-assignments.ts';
import type { RunnerRegistry } from './dispatch/runners.ts';
import type { Signals } from './dispatch/signals.ts';
import type { FaultPoints } from './fault-points.ts';
import type { RunnerPresence } from './nodes/runner-presence.ts';
import type { Outcomes } from './settle/outcomes.ts';
import type { Bus, Store } from './store.ts';
import type { Clock } from './waiting.ts';

/** What the engine is given: database, bus and clock. */
export interface Edges extends FaultPoints {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  /** Called when a background task fails. */
  readonly onError: (error: unknown) => void;
}

/**
 * The parts that several others use. `Engine` makes each of them once, in this order; a part uses only those above it.
 */
export interface EngineParts extends Edges {
  readonly policies: StoredPolicies;
  readonly outcomes: Outcomes;
  readonly runners: RunnerRegistry;
  readonly presence: RunnerPresence;
  readonly signals: Signals;
  readonly decisions: PendingDecisions;
  readonly assignments: CallAssignments;
}
