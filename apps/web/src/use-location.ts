import { type Location, readLocation } from '@countersign/ui';
import { useMemo, useSyncExternalStore } from 'react';

const subscribe = (changed: () => void) => {
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
};

/** Parses the page's location from the part of the address after `#`. */
export function useLocation(): Location {
  const hash = useSyncExternalStore(subscribe, () => window.location.hash);
  return useMemo(() => readLocation(hash), [hash]);
}
