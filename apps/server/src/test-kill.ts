import {
  type Bus,
  commitMoments,
  type FaultPoint,
  type FaultPoints,
  labelledCommits,
  runPoints,
} from '@countersign/engine';
import { CountersignError } from '@countersign/protocol';

/** Every point of a tool call and of a run where tests can kill the server. */
export const faultPoints: readonly FaultPoint[] = [
  ...labelledCommits.flatMap((label) => commitMoments.map((moment) => `${label}.${moment}` as const)),
  'hint.before',
  ...runPoints,
];

/**
 * For tests only: COUNTERSIGN_TEST_KILL_AT="approve.committed:2" kills this process, as `kill -9` does, when it
 * reaches that point for the second time. Refused unless COUNTERSIGN_TEST is 1, so that an environment copied from a
 * test cannot kill a real server.
 */
export function readKillPoint(
  env: Readonly<Record<string, string | undefined>>,
  kill: () => void = () => process.kill(process.pid, 'SIGKILL'),
): FaultPoints['reached'] {
  const wanted = env.COUNTERSIGN_TEST_KILL_AT;
  if (wanted === undefined || wanted === '') return undefined;
  if (env.COUNTERSIGN_TEST !== '1') throw wrong('it is for tests only, with COUNTERSIGN_TEST=1');
  const [, point, times] = /^([a-z_]+\.[a-z]+):([1-9]\d{0,5})$/.exec(wanted) ?? [];
  if (point === undefined) throw wrong('it is a point and a number, such as approve.committed:1');
  if (!(faultPoints as readonly string[]).includes(point)) {
    throw wrong(`there is no point "${point}", but ${faultPoints.join(', ')}`);
  }
  let left = Number(times);
  return (reached) => {
    if (reached === point && --left === 0) kill();
  };
}

const wrong = (problem: string): CountersignError =>
  new CountersignError('USAGE', {
    problem: `COUNTERSIGN_TEST_KILL_AT: ${problem}`,
    help: 'countersign serve --help',
  });

/** Adds the fault point `hint.before`: after a commit, before its events are published. */
export const killableBus = (bus: Bus, reached: FaultPoints['reached']): Bus =>
  reached
    ? {
        subscribe: (listener) => bus.subscribe(listener),
        publish(hint) {
          if (hint.kind === 'events') reached('hint.before');
          bus.publish(hint);
        },
      }
    : bus;
