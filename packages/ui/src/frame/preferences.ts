import { Observable } from '@countersign/approvals';
import { isOurs } from '@countersign/words';
import { useCallback, useEffect } from 'react';
import { useObservable } from '../live/observable.ts';
import type { LanguageCode } from '../words/words.ts';

/** What the person set on this device. */
export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly language: LanguageCode | null;
  readonly diffLayout: 'unified' | 'split';
  readonly notify: boolean;
  readonly projectId: string | null;
}

const initial: Preferences = {
  theme: 'system',
  language: null,
  diffLayout: 'unified',
  notify: false,
  projectId: null,
};

const storageKey = 'countersign.preferences';

/** One store for the page: preferences belong to the device, not to a component. */
export const preferences = new Observable<Preferences>(initial);

/** Loads the stored preferences. Unreadable or outdated ones count as empty. */
export function loadPreferences(storage: Pick<Storage, 'getItem'>): void {
  try {
    const kept = JSON.parse(storage.getItem(storageKey) ?? '{}') as Partial<Preferences>;
    preferences.set({ ...initial, ...pickKnown(kept) });
  } catch {
    preferences.set(initial);
  }
}

/** Stores each change. Without storage, changes last until the page is closed. */
export function keepPreferences(storage: Pick<Storage, 'setItem'>): () => void {
  return preferences.subscribe(() => {
    try {
      storage.setItem(storageKey, JSON.stringify(preferences.get()));
    } catch {
      // Private windows may refuse; the choice then holds for this page only.
    }
  });
}

function pickKnown(kept: Partial<Preferences>): Partial<Preferences> {
  const { theme, language, diffLayout, notify, projectId } = kept;
  return {
    ...(theme && ['system', 'light', 'dark'].includes(theme) && { theme }),
    ...(typeof language === 'string' && isOurs(language) && { language }),
    ...((diffLayout === 'unified' || diffLayout === 'split') && { diffLayout }),
    ...(typeof notify === 'boolean' && { notify }),
    ...(typeof projectId === 'string' && { projectId }),
  };
}

export function usePreference<Name extends keyof Preferences>(
  name: Name,
): readonly [Preferences[Name], (value: Preferences[Name]) => void] {
  const value = useObservable(preferences, (all) => all[name]);
  const set = useCallback(
    (next: Preferences[Name]) => preferences.update((all) => ({ ...all, [name]: next })),
    [name],
  );
  return [value, set];
}

/** Applies the chosen colour theme; the system's by default. */
export function useTheme(): void {
  const [theme] = usePreference('theme');
  useEffect(() => {
    const { dataset } = document.documentElement;
    if (theme === 'system') delete dataset.theme;
    else dataset.theme = theme;
  }, [theme]);
}
