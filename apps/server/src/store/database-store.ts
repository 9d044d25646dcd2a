import type { Store } from '@countersign/engine';
import type { RetentionLimits, Swept } from './retention.ts';

/** What both databases offer besides the engine's store. */
export interface DatabaseStore extends Store {
  /** Removes what is past its time, in small bites between other units (EV-2, DA-3). */
  sweep(limits: RetentionLimits): Promise<Swept>;
}
