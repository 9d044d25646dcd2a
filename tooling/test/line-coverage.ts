/** Line coverage of code that Vitest does not count: Emacs Lisp, and code that runs only inside a real editor. */

export interface CoveredFile {
  readonly path: string;
  /** Number of lines that count. */
  readonly lines: number;
  /** Lines that were not reached. */
  readonly missed: readonly number[];
}

/** The part of Istanbul's report on a file that line coverage needs. */
export interface StatementCounts {
  readonly statementMap: Readonly<Record<string, { readonly start: { readonly line: number } }>>;
  readonly s: Readonly<Record<string, number>>;
}

/** Each line on which a statement begins, and whether one of them ran. */
export type Lines = Map<number, boolean>;

/** Merges one report into `lines`. */
export function addLines(lines: Lines, { statementMap, s }: StatementCounts): Lines {
  for (const [id, { start }] of Object.entries(statementMap))
    lines.set(start.line, (s[id] ?? 0) > 0 || lines.get(start.line) === true);
  return lines;
}

export function coveredFile(path: string, lines: Lines): CoveredFile {
  const missed = [...lines].flatMap(([line, isReached]) => (isReached ? [] : line));
  return { path, lines: lines.size, missed: missed.sort((a, b) => a - b) };
}

/** Prints a table; returns the failures. */
export function checkLineCoverage(name: string, files: readonly CoveredFile[], atLeast: number): string[] {
  for (const { path, lines, missed } of files)
    console.log(`${percent(lines, missed.length).padStart(8)}  ${path}  ${ranges(missed).slice(0, 120)}`);
  const lines = files.reduce((sum, file) => sum + file.lines, 0);
  const missed = files.reduce((sum, file) => sum + file.missed.length, 0);
  const reached = percent(lines, missed);
  console.log(`Lines of ${name}: ${reached} (${lines - missed}/${lines})`);
  if (lines > 0 && (lines - missed) * 100 >= lines * atLeast) return [];
  return [`coverage of ${name}: ${reached} of its lines, which is less than ${atLeast} %`];
}

const percent = (lines: number, missed: number): string =>
  lines === 0 ? 'none' : `${(((lines - missed) * 100) / lines).toFixed(2)} %`;

/** For example `3-5,9`. */
function ranges(lines: readonly number[]): string {
  const found: [number, number][] = [];
  for (const line of lines) {
    const last = found.at(-1);
    if (last && line === last[1] + 1) last[1] = line;
    else found.push([line, line]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}
