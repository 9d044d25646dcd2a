import { describe, expect, it } from 'vitest';
import { type faultPoints, killableBus, readKillPoint } from './test-kill.ts';

function killsAt(at: string, reached: readonly (typeof faultPoints)[number][]): number {
  let kills = 0;
  const reach = readKillPoint({ COUNTERSIGN_TEST: '1', COUNTERSIGN_TEST_KILL_AT: at }, () => {
    kills += 1;
  });
  for (const point of reached) reach?.(point);
  return kills;
}

describe('COUNTERSIGN_TEST_KILL_AT', () => {
  it('kills once, at that time of that point', () => {
    expect(killsAt('approve.committed:2', ['approve.committed', 'approve.before'])).toBe(0);
    expect(killsAt('approve.committed:2', ['approve.committed', 'approve.committed'])).toBe(1);
    expect(
      killsAt('approve.committed:1', ['approve.committed', 'approve.committed', 'approve.committed']),
    ).toBe(1);
  });

  it('is nothing unless it is set', () => {
    expect(readKillPoint({})).toBeUndefined();
    expect(readKillPoint({ COUNTERSIGN_TEST: '1', COUNTERSIGN_TEST_KILL_AT: '' })).toBeUndefined();
  });

  it.each([
    [{ COUNTERSIGN_TEST_KILL_AT: 'approve.committed:1' }, 'for tests only'],
    [{ COUNTERSIGN_TEST: '0', COUNTERSIGN_TEST_KILL_AT: 'approve.committed:1' }, 'for tests only'],
    [{ COUNTERSIGN_TEST: '1', COUNTERSIGN_TEST_KILL_AT: 'approve.committed' }, 'a point and a number'],
    [{ COUNTERSIGN_TEST: '1', COUNTERSIGN_TEST_KILL_AT: 'approve.committed:0' }, 'a point and a number'],
    [{ COUNTERSIGN_TEST: '1', COUNTERSIGN_TEST_KILL_AT: 'approve.after:1' }, 'there is no point'],
  ])('refuses %j', (env, problem) => {
    expect(() => readKillPoint(env)).toThrow(problem);
  });

  it('has a point between a commit and its hint', () => {
    const told: string[] = [];
    const bus = { publish: () => void told.push('told'), subscribe: () => () => {} };
    const watched = killableBus(bus, (point) => told.push(point));
    watched.publish({ kind: 'events', userId: 'ada', newest: 1 });
    watched.publish({ kind: 'settled', toolId: 'call-1' });
    expect(told).toEqual(['hint.before', 'told', 'told']);
    expect(killableBus(bus, undefined)).toBe(bus);
  });
});
