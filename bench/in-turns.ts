import { type Measurement, summarise } from './measure.ts';
import { paced } from './pace.ts';
import type { Comparison } from './results.ts';

/** Runs something `count` times in another process; resolves with milliseconds. */
export type Load = (count: number) => Promise<number>;

/** Nanoseconds per operation, by round: the same index is the same moment in every list. */
export type Rounds = ReadonlyMap<string, readonly number[]>;

/** Measures loads in turns, round by round, so that a temporary slowdown of the machine affects all of them. */
export async function measureInTurns(
  loads: Readonly<Record<string, Load>>,
  { rounds = paced(9, 3), roundMs = paced(500, 100), warmUpMs = paced(2_000, 200), least = 32 } = {},
): Promise<Rounds> {
  const found = new Map<string, number[]>();
  const counts = new Map<string, number>();
  for (const [name, load] of Object.entries(loads))
    counts.set(name, await warmUp(load, { warmUpMs, roundMs, least }));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, load] of Object.entries(loads)) {
      const count = counts.get(name) ?? 1;
      const samples = found.get(name) ?? [];
      samples.push(((await load(count)) / count) * 1e6);
      found.set(name, samples);
    }
  }
  return found;
}

/** Runs a load until it is compiled, and finds how many repetitions fill a round. */
async function warmUp(
  load: Load,
  { warmUpMs, roundMs, least }: { warmUpMs: number; roundMs: number; least: number },
): Promise<number> {
  const startedAt = performance.now();
  let count = least * 2;
  let elapsed = 0;
  do {
    elapsed = await load(count);
    count = Math.max(least, Math.round((count * roundMs) / elapsed));
  } while (performance.now() - startedAt < warmUpMs);
  return count;
}

export const summaries = (rounds: Rounds): Measurement[] =>
  [...rounds].map(([name, samples]) => summarise(name, samples));

/** The speed of `name` relative to `to`, for each round. */
export function compare(rounds: Rounds, name: string, to: string): Omit<Comparison, 'to'> {
  const own = rounds.get(name) ?? [];
  const others = rounds.get(to) ?? [];
  const ratios = own.map((sample, round) => (others[round] ?? Number.NaN) / sample);
  const { median: times, p10, p90 } = summarise(name, ratios);
  return { times, p10, p90 };
}
