import { useSyncExternalStore } from 'react';

/** As in the style sheets: a phone, or the side bar of an editor. */
const narrow = '(max-width: 800px)';

function subscribe(changed: () => void): () => void {
  const query = matchMedia(narrow);
  query.addEventListener('change', changed);
  return () => query.removeEventListener('change', changed);
}

/** Whether there is no room for two columns of code. */
export const useIsNarrow = (): boolean => useSyncExternalStore(subscribe, () => matchMedia(narrow).matches);
