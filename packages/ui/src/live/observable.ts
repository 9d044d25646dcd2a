import type { Observable } from '@countersign/approvals';
import { useSyncExternalStore } from 'react';

/** The part of a store that a component shows. `select` must give the same object while nothing in it changed. */
export function useObservable<T, Part>(store: Observable<T>, select: (value: T) => Part): Part {
  return useSyncExternalStore(
    store.subscribe,
    () => select(store.get()),
    () => select(store.get()),
  );
}
