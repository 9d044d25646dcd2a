/** Takes values that the person configured as secrets out of what a server says: they go neither to a log nor out. */
export function maskerOf(secrets: readonly string[]): (text: string) => string {
  const spellings = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  const longestFirst = [...new Set(spellings)].sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((masked, secret) => masked.replaceAll(secret, '[masked]'), text);
}
