import type { CallResponse } from '@countersign/client';

export type MetricsResponse = CallResponse<'metrics'>;
type Point = MetricsResponse['series'][number];

export const outcomes = ['success', 'error', 'rejected', 'other'] as const;
export type Outcome = (typeof outcomes)[number];
export type OutcomeCounts = Readonly<Record<Outcome, number>>;

type Counted = Pick<Point, 'total_calls' | 'success_count' | 'error_count' | 'rejected_count'>;

/** Counts calls by outcome. `other` calls have expired, were cancelled or are still under way. */
export function outcomeCounts(counted: readonly Counted[]): OutcomeCounts {
  const sum = (pick: (one: Counted) => number) => counted.reduce((total, one) => total + pick(one), 0);
  const success = sum((one) => one.success_count);
  const error = sum((one) => one.error_count);
  const rejected = sum((one) => one.rejected_count);
  const other = Math.max(0, sum((one) => one.total_calls) - success - error - rejected);
  return { success, error, rejected, other };
}

export const totalOf = (counts: OutcomeCounts): number =>
  outcomes.reduce((total, outcome) => total + counts[outcome], 0);

export interface PlotColumn {
  readonly from: number;
  readonly counts: OutcomeCounts;
}

/** The end of a plot: now, or the latest call if the server's clock is ahead of this machine's. */
export const endOf = ({ series }: Pick<MetricsResponse, 'series'>, now: number): number =>
  series.reduce((end, { from }) => Math.max(end, Date.parse(from)), now);

/** One column per time bucket up to `now`. The server leaves out buckets without calls: they become empty columns. */
export function plotColumns(
  { series, since, bucket_seconds }: MetricsResponse,
  now: number,
): readonly PlotColumn[] {
  const lengthMs = bucket_seconds * 1000;
  const first = Math.min(Date.parse(since), ...series.map(({ from }) => Date.parse(from)));
  const count = Math.max(1, Math.ceil((now - first + 1) / lengthMs));
  const points = Array.from({ length: count }, (): Point[] => []);
  for (const point of series) points[Math.floor((Date.parse(point.from) - first) / lengthMs)]?.push(point);
  return points.map((inside, index) => ({ from: first + index * lengthMs, counts: outcomeCounts(inside) }));
}

export interface Line {
  readonly name: string;
  readonly points: readonly { readonly at: number; readonly ms: number }[];
}

/** Maximum number of lines in a plot: people cannot tell more apart. */
const maxLines = 4;

/** One line of average times for each of the tools with the most calls. */
export function linesOf(
  { series, tools }: MetricsResponse,
  field: 'avg_execution_time_ms' | 'avg_approval_wait_ms',
): readonly Line[] {
  return [...tools]
    .sort((a, b) => b.total_calls - a.total_calls)
    .map(({ tool_name }) => ({
      name: tool_name,
      points: series.flatMap((point) => {
        const ms = point[field];
        return point.tool_name === tool_name && ms !== null ? [{ at: Date.parse(point.from), ms }] : [];
      }),
    }))
    .filter(({ points }) => points.length > 0)
    .slice(0, maxLines);
}

/** The end of an axis of counts. It is even, so that the middle of the axis is a whole number. */
export function wholeMax(count: number): number {
  const max = niceMax(count);
  return max % 2 === 0 ? max : max + 1;
}

/** The next round number above a value, as the end of an axis. */
export function niceMax(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((one) => one * power >= value) ?? 10;
  return step * power;
}
