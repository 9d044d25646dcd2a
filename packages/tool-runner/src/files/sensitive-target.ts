import { sensitivePlaces } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';

/**
 * Refuses what was opened when it is sensitive where it really is (VA-2). The policy looked at the names that lead
 * there; a link on the way may have been swapped since. `real` is below the root; `path` is what the call said.
 * `lifted` are the real paths that the person's own policy file lifts.
 */
export function refuseSensitive(real: string, path: string, lifted: ReadonlySet<string> = nothing): void {
  const place = sensitivePlaces.find(real);
  if (place && !lifted.has(real)) throw new CountersignError('PATH_SENSITIVE', { path, kind: place.kind });
}

const nothing: ReadonlySet<string> = new Set();
