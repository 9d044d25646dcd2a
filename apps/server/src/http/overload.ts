import { Overloaded } from './refusals.ts';
import type { ServerParts } from './server-parts.ts';

/**
 * For what begins new work (a call, a message): not while so much waits to be written that everybody would wait for it.
 * What decides or ends work is always taken.
 */
export function refuseWhenOverloaded({ store, config }: Pick<ServerParts, 'store' | 'config'>): void {
  if (store.backlog >= config.maxBacklog) throw new Overloaded();
}
