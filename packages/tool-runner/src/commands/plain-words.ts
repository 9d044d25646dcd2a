/**
 * The words of a shell line that is one plain command: words and quotes, and nothing that a shell would expand, redirect,
 * join or assign. Undefined for any other line.
 */
export function plainWords(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let rest = line.trim();
  while (rest !== '') {
    const [found] = /^(?:[\w@%+=:,./^-]|(?<=[\w^])~|'[^']*'|"[^"$`\\!]*")+/.exec(rest) ?? [];
    if (found === undefined) return undefined;
    words.push(
      found.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ''),
    );
    rest = rest.slice(found.length);
    if (rest !== '' && !/^[ \t]/.test(rest)) return undefined;
    rest = rest.trimStart();
    if (rest.startsWith('\n')) return undefined;
  }
  return words.length === 0 || /^\w+=/.test(words[0] ?? '') ? undefined : words;
}
