/**
 * `npm run bench`: runs every `*.bench.ts` beside this file, or those whose file name contains an argument, and
 * prints one table. `--json` prints the rows as JSON instead.
 */
import { globSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { argv, version } from 'node:process';
import type { Measurement } from './measure.ts';

/** One line of the table; times in nanoseconds for one operation, unless it counts bytes. */
export interface Row extends Measurement {
  readonly unit?: 'bytes';
  /** The most that the median may cost, where we promised something. */
  readonly limit?: number;
  readonly comparisons?: readonly Comparison[];
  readonly note?: string;
}

/** How many times as fast as another row: the median over rounds in which both were measured. */
export interface Comparison {
  readonly to: string;
  readonly times: number;
  readonly p10: number;
  readonly p90: number;
  /** What we promised. */
  readonly atLeast?: number;
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
if (results.flatMap(({ rows }) => rows).some(breaksPromise)) process.exitCode = 1;

function breaksPromise({ median, limit, comparisons = [] }: Row): boolean {
  return (limit !== undefined && median > limit) || comparisons.some(isShort);
}

function isShort({ times, atLeast }: Comparison): boolean {
  return atLeast !== undefined && times < atLeast;
}

function table(results: readonly { bench: string; rows: readonly Row[] }[]): string {
  const header = ['', 'median', 'p10 – p90', 'per second', 'limit', 'compared'];
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

function cells({ name, median, p10, p90, limit, unit, comparisons = [], note = '' }: Row): string[] {
  const amount = unit === 'bytes' ? size : duration;
  const verdict = limit === undefined ? '' : `${amount(limit)} ${median > limit ? '✗' : '✓'}`;
  const rate = unit === 'bytes' ? '' : perSecond(median);
  const compared = [...comparisons.map(comparison), note].filter((text) => text !== '').join(', ');
  return [`  ${name}`, amount(median), `${amount(p10)} – ${amount(p90)}`, rate, verdict, compared];
}

function comparison(compared: Comparison): string {
  const { to, times, p10, p90, atLeast } = compared;
  const promise = atLeast === undefined ? '' : ` (≥ ${atLeast} ${isShort(compared) ? '✗' : '✓'})`;
  return `${times.toFixed(2)}× ${to} [${p10.toFixed(2)} – ${p90.toFixed(2)}]${promise}`;
}

function pad(cell: string, column: number, width: number): string {
  return column === 0 || column === 5 ? cell.padEnd(width) : cell.padStart(width);
}

function duration(ns: number): string {
  if (ns < 1e3) return `${ns.toFixed(0)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toPrecision(3)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toPrecision(3)} ms`;
  return `${(ns / 1e9).toPrecision(3)} s`;
}

function size(bytes: number): string {
  if (Math.abs(bytes) < 1e3) return `${bytes.toFixed(0)} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toPrecision(3)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`;
}

function perSecond(ns: number): string {
  return Math.round(1e9 / ns).toLocaleString('en');
}
