import { env } from 'node:process';
import type { TestDatabase } from '../../../lab/src/test-database.ts';
import { type LaneReport, type Life, ServerKillLane } from './server-kill-lane.ts';
import { livesFor, quickLives, slowLives } from './server-lives.ts';

/** Lanes that work at once, one per core. Lanes that only wait come on top. */
const workingLanes = 2;
/** A lane starts with an empty database after this many kills. */
const killsOfALane = 35;

/**
 * The loop on one kind of database. `FAULTS_SEED=7` shuffles the points anew; `FAULTS_AT=claim.written:2,…` kills only
 * at these points, to reproduce a failure.
 */
export async function killLoop(
  name: string,
  openDatabase: () => TestDatabase | Promise<TestDatabase>,
  /** Only this many kills, and no slow ones. */
  { atMost }: { readonly atMost?: number } = {},
): Promise<LaneReport> {
  const seed = Number(env.FAULTS_SEED ?? 1);
  const chosen = env.FAULTS_AT?.split(',').map(livesFor);
  const points = chosen ?? quickLives(seed).slice(0, atMost);
  const perLane = atMost === undefined ? killsOfALane : Math.ceil(atMost / workingLanes);
  const quick = chunks(points, perLane).map((lives) => lives.flat());
  const slow = chosen || atMost !== undefined ? [] : [...slowLives];
  const startedAt = performance.now();
  const reports: LaneReport[] = [];

  const failed = new AbortController();
  const take = async (lanes: (readonly Life[])[]): Promise<void> => {
    for (let lives = lanes.shift(); lives && !failed.signal.aborted; lives = lanes.shift()) {
      reports.push(await runLives(lives, openDatabase, `seed ${seed}`, failed));
    }
  };
  const lanes = await Promise.allSettled([
    ...Array.from({ length: workingLanes }, () => take(quick)),
    ...slow.map((lives) => take([lives])),
  ]);
  for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason;
  const report = {
    kills: reports.reduce((sum, { kills }) => sum + kills, 0),
    unreached: reports.flatMap(({ unreached }) => unreached),
  };
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(`${name}: ${report.kills} kills in ${seconds} s, seed ${seed}`);
  return report;
}

async function runLives(
  lives: readonly Life[],
  openDatabase: () => TestDatabase | Promise<TestDatabase>,
  story: string,
  failed: AbortController,
): Promise<LaneReport> {
  const lane = await ServerKillLane.open(await openDatabase());
  try {
    return await lane.live(lives, failed.signal, ({ killAt }, index) => {
      if (env.FAULTS_AT !== undefined) console.log(`${index}: ${killAt ?? 'the last life'}`);
    });
  } catch (error) {
    failed.abort(); // stops the other lanes
    (error as Error).message = `${story}, ${(error as Error).message}`;
    throw error;
  } finally {
    await lane.close();
  }
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}
