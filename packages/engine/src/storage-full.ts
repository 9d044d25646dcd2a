import { CountersignError } from '@countersign/protocol';

/**
 * A unit was not written because the storage has no room, or takes nothing for another reason. Nothing of it was kept.
 * It may be repeated once there is room; until then every unit fails like this, so it is not a failure of the work
 * itself.
 */
export class StorageFull extends CountersignError {
  constructor(values: { readonly problem: string; readonly remedy: string }, options: { cause: unknown }) {
    super('STORAGE_FULL', values, options);
  }
}
