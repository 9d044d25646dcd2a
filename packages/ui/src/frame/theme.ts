import { useEffect } from 'react';
import { usePreference } from './preferences.ts';

/** Puts the person's choice of colours on the page; without one, the system's counts. */
export function useTheme(): void {
  const [theme] = usePreference('theme');
  useEffect(() => {
    const { dataset } = document.documentElement;
    if (theme === 'system') delete dataset.theme;
    else dataset.theme = theme;
  }, [theme]);
}
