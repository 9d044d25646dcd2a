import { Observable } from '@countersign/approvals';
import { isLanguageCode } from '@countersign/words';
import { useCallback, useEffect } from 'react';
import { useObservable } from '../live/observable.ts';
import type { LanguageCode } from '../words/words.ts';

/** The person's settings on this device. */
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

/** The only store of preferences, which all components share. */
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

/** Stores each change. Returns a function that stops this. */
export function keepPreferences(storage: Pick<Storage, 'setItem'>): () => void {
  return preferences.subscribe(() => {
    try {
      storage.setItem(storageKey, JSON.stringify(preferences.get()));
    } catch {
      // A private window may refuse: the change then lasts until the page is closed.
    }
  });
}

function pickKnown(kept: Partial<Preferences>): Partial<Preferences> {
  const { theme, language, diffLayout, notify, projectId } = kept;
  return {
    ...(theme && ['system', 'light', 'dark'].includes(theme) && { theme }),
    ...(typeof language === 'string' && isLanguageCode(language) && { language }),
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
