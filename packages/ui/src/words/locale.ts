/** Two letters, such as `en`: of what was asked for, else of the environment, as programs in a terminal do it. Also of a language that we do not speak. */
export function languageOf(env: Readonly<Record<string, string | undefined>>, asked?: string): string {
  const locale = asked ?? (env.LC_ALL || env.LC_MESSAGES || env.LANG || '');
  return locale.slice(0, 2).toLowerCase();
}
