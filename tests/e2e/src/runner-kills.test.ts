import { env } from 'node:process';
import { expect, it } from 'vitest';
import type { KillStep } from '../../lab/src/kill-steps.ts';
import { killPlans } from './runner/kill-plans.ts';
import { type Kill, RunnerKillLane } from './runner/runner-kill-lane.ts';
import { RunnerServer, whyNotAs } from './runner/runner-story.ts';

/**
 * `RUNNER_KILLS=300` adds kills at random moments; `RUNNER_KILLS_SEED=7` shuffles anew; `RUNNER_KILLS_AT=
 * "append:renamed,shell:120"` kills only there, to reproduce a failure.
 */
const seed = Number(env.RUNNER_KILLS_SEED ?? 1);
const atRandom = Number(env.RUNNER_KILLS ?? 20);
const ordinaryUid = 65_534;
/** One runner as the user of the tests, and one as an ordinary user where that is possible. */
const users = [undefined, whyNotAs(ordinaryUid) === undefined ? ordinaryUid : undefined];

it('[EX-6] [RN-3] kill -9 of the runner in each kind of tool: no call runs twice, is lost or half written', {
  timeout: 900_000 + atRandom * 15_000,
}, async () => {
  const kills = chosenKills().map((kill, n) => ({ ...kill, n }));
  const server = await RunnerServer.start();
  const startedAt = performance.now();
  const opened = await Promise.all(users.map((uid, i) => RunnerKillLane.open(server, `lane-${i}`, { uid })));
  try {
    const problems = await Promise.all(
      opened.map((lane, i) => lane.live(kills.filter(({ n }) => n % users.length === i))),
    );
    const died = opened.reduce((sum, lane) => sum + lane.kills, 0);
    console.log(`${died} kills in ${Math.round((performance.now() - startedAt) / 1000)} s, seed ${seed}`);
    expect(problems.flat()).toEqual([]);
    expect(died).toBe(kills.length);
    const open = "('completed', 'failed', 'rejected', 'timeout', 'cancelled')";
    expect(
      await server.database.query(`select id, status from tool_executions where status not in ${open}`),
    ).toEqual([]);
    expect(await server.database.query("select id from approvals where status = 'pending'")).toEqual([]);
  } finally {
    await Promise.all(opened.map((lane) => lane.close()));
    await server.close();
  }
});

function chosenKills(): Kill[] {
  if (env.RUNNER_KILLS_AT !== undefined) return env.RUNNER_KILLS_AT.split(',').map(killFrom);
  const next = random(seed);
  const names = Object.keys(killPlans);
  const labelled = Object.entries(killPlans).flatMap(([plan, { steps }]) =>
    Object.keys(steps).map((step): Kill => ({ plan, at: step as KillStep })),
  );
  const others = Array.from({ length: atRandom }, (_, i): Kill => {
    const plan = names[i % names.length] as string;
    return { plan, at: next(killPlans[plan]?.within ?? 1) };
  });
  const all = [...labelled, ...others];
  for (let i = all.length - 1; i > 0; i--) {
    const j = next(i + 1);
    [all[i], all[j]] = [all[j] as Kill, all[i] as Kill];
  }
  return all;
}

function killFrom(text: string): Kill {
  const [plan = '', at = ''] = text.split(':');
  return { plan, at: /^\d+$/.test(at) ? Number(at) : (at as KillStep) };
}

/** Random numbers; the same seed gives the same numbers (xorshift). */
function random(from: number): (below: number) => number {
  let state = from * 2_654_435_761 + 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}
