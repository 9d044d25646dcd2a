import { paced } from './pace.ts';

/**
 * Measures how long one operation takes. Alternatives are measured in turns, in many short batches, so that a temporary
 * slowdown of the machine affects all of them. The spread shows how far to trust the median.
 */

/** One alternative. It returns a value, so that the optimiser cannot drop the work. */
export type Operation = () => unknown;

export interface MeasureOptions {
  /** How many batches of each alternative are timed. */
  readonly batches?: number;
  /** How long one batch should take: long compared with the clock's resolution, short compared with slowdowns. */
  readonly batchMs?: number;
  readonly warmUpMs?: number;
}

/** Nanoseconds for one operation. */
export interface Measurement {
  readonly name: string;
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
}

/** Times synchronous alternatives against each other. Results are in the order of the alternatives. */
export function measure(
  alternatives: Readonly<Record<string, Operation>>,
  { batches = paced(40, 10), batchMs = 10, warmUpMs = paced(200, 50) }: MeasureOptions = {},
): readonly Measurement[] {
  const runs = Object.entries(alternatives).map(([name, operation]) => {
    const perBatch = warmUp(operation, { warmUpMs, batchMs });
    return { name, operation, perBatch, samples: [] as number[] };
  });
  for (let batch = 0; batch < batches; batch += 1) {
    for (const { operation, perBatch, samples } of runs) {
      samples.push((timeBatch(operation, perBatch) / perBatch) * 1e6);
    }
  }
  return runs.map(({ name, samples }) => summarise(name, samples));
}

/** Times alternatives that take milliseconds or more, such as starting a process. Each sample is one run. */
export async function measureSlow(
  alternatives: Readonly<Record<string, () => Promise<unknown>>>,
  { runs: whole = 15 }: { readonly runs?: number } = {},
): Promise<readonly Measurement[]> {
  const runs = paced(whole, Math.min(whole, 3));
  const samples = new Map(Object.keys(alternatives).map((name) => [name, [] as number[]]));
  // The first round only fills caches.
  for (let round = 0; round <= runs; round += 1) {
    for (const [name, operation] of Object.entries(alternatives)) {
      const startedAt = performance.now();
      await operation();
      const elapsed = (performance.now() - startedAt) * 1e6;
      if (round > 0) samples.get(name)?.push(elapsed);
    }
  }
  return [...samples].map(([name, values]) => summarise(name, values));
}

/** Runs an operation until it is compiled, and finds how many repetitions fill one batch. */
function warmUp(operation: Operation, { warmUpMs, batchMs }: { warmUpMs: number; batchMs: number }): number {
  const startedAt = performance.now();
  let count = 1;
  let elapsed = 0;
  do {
    elapsed = timeBatch(operation, count);
    if (elapsed < batchMs)
      count = Math.ceil(count * Math.min(10, (batchMs / Math.max(elapsed, 0.001)) * 1.1));
  } while (performance.now() - startedAt < warmUpMs || elapsed < batchMs / 2);
  return Math.max(1, Math.round((count * batchMs) / elapsed));
}

/** Receives what operations return, so that the optimiser must compute it. */
const sink = { value: undefined as unknown };

/** Milliseconds for `count` operations. */
function timeBatch(operation: Operation, count: number): number {
  const startedAt = performance.now();
  for (let index = 0; index < count; index += 1) sink.value = operation();
  return performance.now() - startedAt;
}

export function summarise(name: string, samples: readonly number[]): Measurement {
  const sorted = [...samples].sort((left, right) => left - right);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return { name, median: at(0.5), p10: at(0.1), p90: at(0.9) };
}
