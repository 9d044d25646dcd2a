/**
 * `npm run bench`: runs every `*.bench.ts` beside this file, or those whose file name contains an argument, and
 * prints one table. `--json` prints the rows as JSON instead.
 */
import { globSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { argv, version } from 'node:process';
import type { Measurement } from './measure.ts';

/** One line of the table; times in nanoseconds for one operation. */
export interface Row extends Measurement {
  /** The most that the median may cost, where we promised something. */
  readonly limit?: number;
}

/** What a `*.bench.ts` exports as `default`. */
export interface Bench {
  readonly name: string;
  run(): Promise<readonly Row[]>;
}

const words = argv.slice(2).filter((argument) => !argument.startsWith('--'));
const asJson = argv.includes('--json');
const files = globSync('*.bench.ts', { cwd: import.meta.dirname })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort();

const results: { bench: string; rows: readonly Row[] }[] = [];
for (const file of files) {
  const { default: bench } = (await import(`./${file}`)) as { default: Bench };
  if (!asJson) console.error(`measuring ${bench.name} …`);
  results.push({ bench: bench.name, rows: await bench.run() });
}

const machine = { node: version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism() };
if (asJson) console.log(JSON.stringify({ machine, unit: 'ns', results }, null, 2));
else if (results.length === 0) console.log('There is nothing to measure: no bench/*.bench.ts matches.');
else {
  console.log(`\nNode ${machine.node}, ${machine.cores} cores, ${machine.cpu}\n`);
  console.log(table(results));
}
const tooSlow = results
  .flatMap(({ rows }) => rows)
  .filter((row) => row.limit !== undefined && row.median > row.limit);
if (tooSlow.length > 0) process.exitCode = 1;

function table(results: readonly { bench: string; rows: readonly Row[] }[]): string {
  const header = ['', 'median', 'p10 – p90', 'per second', 'limit'];
  const lines = results.flatMap(({ bench, rows }) => [[bench], ...rows.map(cells)]);
  const widths = header.map((title, column) =>
    Math.max(
      title.length,
      ...lines.filter((line) => line.length > 1).map((line) => line[column]?.length ?? 0),
    ),
  );
  return [header, ...lines]
    .map((line) =>
      line
        .map((cell, column) => pad(cell, column, widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}

function cells({ name, median, p10, p90, limit }: Row): string[] {
  const verdict = limit === undefined ? '' : `${duration(limit)} ${median > limit ? '✗' : '✓'}`;
  return [`  ${name}`, duration(median), `${duration(p10)} – ${duration(p90)}`, perSecond(median), verdict];
}

function pad(cell: string, column: number, width: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function duration(ns: number): string {
  if (ns < 1e3) return `${ns.toFixed(0)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toPrecision(3)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toPrecision(3)} ms`;
  return `${(ns / 1e9).toPrecision(3)} s`;
}

function perSecond(ns: number): string {
  return Math.round(1e9 / ns).toLocaleString('en');
}
