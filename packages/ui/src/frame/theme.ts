import { useEffect } from 'react';
import { usePreference } from './preferences.ts';

/** Applies the chosen colour theme; the system's by default. */
export function useTheme(): void {
  const [theme] = usePreference('theme');
  useEffect(() => {
    const { dataset } = document.documentElement;
    if (theme === 'system') delete dataset.theme;
    else dataset.theme = theme;
  }, [theme]);
}
