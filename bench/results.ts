import type { Measurement } from './measure.ts';

/** One line of the table; in nanoseconds for one operation, unless it has another unit. */
export interface Row extends Measurement {
  readonly unit?: 'bytes' | 'per second';
  /** What we promised: the maximum of the median, or its minimum where more is better. */
  readonly limit?: number;
  readonly comparisons?: readonly Comparison[];
  readonly note?: string;
}

/** The speed of this row relative to another: the median over rounds that measured both. */
export interface Comparison {
  readonly to: string;
  readonly times: number;
  readonly p10: number;
  readonly p90: number;
  /** What we promised: the minimum. */
  readonly atLeast?: number;
}

/** The default export of a `*.bench.ts`. */
export interface Bench {
  readonly name: string;
  run(): Promise<readonly Row[]>;
}

/** The results of one run: written to docs/bench/results.json, and drawn beside it. */
export interface Results {
  readonly machine: { readonly node: string; readonly cpu: string; readonly cores: number };
  /** ISO 8601. */
  readonly at: string;
  readonly quick: boolean;
  readonly benches: readonly { readonly name: string; readonly rows: readonly Row[] }[];
}

export const exceedsLimit = ({ median, limit, unit }: Row): boolean =>
  limit !== undefined && (unit === 'per second' ? median < limit : median > limit);

export const missesPromise = ({ times, atLeast }: Comparison): boolean =>
  atLeast !== undefined && times < atLeast;

/** True if a measurement is worse than we promised. */
export const breaksPromise = (row: Row): boolean =>
  exceedsLimit(row) || (row.comparisons ?? []).some(missesPromise);

/** A row's value with its unit. */
export function amount(value: number, unit: Row['unit']): string {
  if (unit === 'per second') return `${Math.round(value).toLocaleString('en')} /s`;
  return unit === 'bytes' ? size(value) : duration(value);
}

export function comparisonText(compared: Comparison): string {
  const { to, times, p10, p90, atLeast } = compared;
  const promise = atLeast === undefined ? '' : ` (≥ ${atLeast} ${missesPromise(compared) ? '✗' : '✓'})`;
  return `${times.toFixed(2)}× ${to} [${p10.toFixed(2)} – ${p90.toFixed(2)}]${promise}`;
}

function duration(ns: number): string {
  if (ns < 1e3) return `${ns.toFixed(0)} ns`;
  if (ns < 1e6) return `${(ns / 1e3).toPrecision(3)} µs`;
  if (ns < 1e9) return `${(ns / 1e6).toPrecision(3)} ms`;
  return `${(ns / 1e9).toPrecision(3)} s`;
}

function size(bytes: number): string {
  if (Math.abs(bytes) < 1e3) return `${bytes.toFixed(0)} B`;
  return Math.abs(bytes) < 1e6 ? `${(bytes / 1e3).toPrecision(3)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`;
}
