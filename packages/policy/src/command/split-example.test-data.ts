/** Splits an example of a rule into words: quotes group, nothing else is special. For tests. */
export function splitExample(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|((?:[^\s'"]|'[^']*'|"[^"]*")+)/g)].map(
    ([, single, double, plain]) =>
      single ?? double ?? (plain as string).replace(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  );
}
