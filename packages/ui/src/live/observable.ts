import type { Observable } from '@countersign/approvals';
import { useSyncExternalStore } from 'react';

/** Subscribes a component to part of a store. `select` must return the same object while that part is unchanged. */
export function useObservable<T, Part>(store: Observable<T>, select: (value: T) => Part): Part {
  return useSyncExternalStore(
    store.subscribe,
    () => select(store.get()),
    () => select(store.get()),
  );
}
