import { faultPoints } from '../../../../apps/server/src/test-kill.ts';
import type { Life } from './server-kill-lane.ts';

/** At which occurrence of each point the server is killed; a repeated number is repeated on other states. */
const times: Readonly<Record<string, readonly number[]>> = {
  record: [1, 3, 6, 9],
  preview: [1, 3, 5, 7],
  approve: [1, 2, 3, 4],
  reject: [1, 1, 1, 1, 1],
  expire: [1, 1, 1],
  claim: [1, 2, 3, 4],
  result: [1, 3, 4, 5, 6],
  cancel: [1, 2, 3],
  lease: [],
  give: [1, 1, 1],
  retry: [1, 1, 1, 1],
  no_runner: [],
  runner: [1, 1, 1],
  run: [1, 2, 1, 2],
  stop: [1, 1, 1, 1, 1],
  hint: [1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78],
  'run.taken': [1, 2, 2, 2],
  model: [1, 2, 3, 3],
  step: [1, 2, 3, 3],
  tool: [1, 2, 3, 3],
};

/** Each point at each of its occurrences, with the processes that it needs, in an order that the seed decides. */
export function quickLives(seed: number): Life[][] {
  const killsAt = faultPoints.flatMap((point) =>
    (times[point] ?? times[point.split('.')[0] ?? ''] ?? []).map((time) => `${point}:${time}`),
  );
  return shuffle(killsAt, seed).map(livesFor);
}

/** A process that reaches this point, and the one that it needs before. */
export function livesFor(killAt: string): Life[] {
  const [label] = killAt.split('.');
  switch (label) {
    case 'expire':
      // The unanswered request is near its deadline when the next process starts.
      return [
        {
          killAt: undefined,
          plans: ['expire'],
          runs: false,
          leavesWork: true,
          during: (lane) => lane.untilStored("select id from approvals where status = 'pending'"),
        },
        { killAt },
      ];
    case 'give':
      return [
        {
          killAt,
          plans: ['read'],
          runs: false,
          runnerComesLate: true,
          during: (lane) =>
            lane.untilStored(
              "select id from tool_executions where status = 'approved' and runner_id is null",
            ),
        },
      ];
    case 'retry':
      return [{ killAt, plans: ['flaky', 'approve'] }];
    default:
      return [{ killAt }];
  }
}

/**
 * Slow points: a runner that goes away for good (30 s), and one that never comes (60 s). Each next process finds the
 * call as the one before left it. They mostly wait, so they run beside the others.
 */
export const slowLives: readonly (readonly Life[])[] = [
  [
    {
      killAt: 'lease.before:1',
      plans: ['lost'],
      runs: false,
      async during(lane) {
        await lane.untilStored("select id from tool_executions where status = 'executing'");
        lane.runner.disconnect();
      },
    },
    { killAt: 'lease.written:1', goesOn: true },
    { killAt: 'lease.committed:1', goesOn: true },
  ],
  [lifeWithoutRunner('no_runner.before:1'), { killAt: 'no_runner.committed:1', goesOn: true }],
  [lifeWithoutRunner('no_runner.written:1'), { killAt: 'no_runner.committed:1', goesOn: true }],
];

/** A call for which no runner connects. */
function lifeWithoutRunner(killAt: string): Life {
  return { killAt, plans: ['nobody'], runs: false, runnerStaysAway: true };
}

/** Shuffles; the same seed gives the same order (xorshift). */
function shuffle<T>(items: readonly T[], seed: number): T[] {
  const shuffled = [...items];
  let state = seed * 2_654_435_761 + 1;
  const next = (below: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = next(i + 1);
    [shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T];
  }
  return shuffled;
}
