import { expect, it } from 'vitest';
import { faultKinds, type PlanOptions, planOf } from './plan.ts';
import { Random } from './random.ts';

const options: PlanOptions = {
  seed: 3,
  ms: 600_000,
  users: 3,
  nodes: 3,
  database: 'postgres',
  everyMs: 250,
  faultEveryMs: 1_000,
};
const faultsOf = (more: Partial<PlanOptions>) =>
  planOf({ ...options, ...more }).flatMap(({ action }) => (action.do === 'fault' ? [action.fault] : []));

it('is the same for the same seed, and another one for another', () => {
  expect(planOf(options)).toEqual(planOf(options));
  expect(planOf(options)).not.toEqual(planOf({ ...options, seed: 4 }));
});

it('contains every fault, node and person, ordered by time', () => {
  const plan = planOf(options);
  expect(plan.map(({ at }) => at)).toEqual(plan.map(({ at }) => at).sort((a, b) => a - b));
  expect(new Set(faultsOf({}).map(({ kind }) => kind))).toEqual(new Set(faultKinds));
  const nodes = faultsOf({}).flatMap((fault) => ('node' in fault ? [fault.node] : []));
  expect(new Set(nodes)).toEqual(new Set([0, 1, 2]));
  const accesses = plan.flatMap(({ action }) => (action.do === 'access-others' ? [action] : []));
  expect(accesses.length).toBeGreaterThan(0);
  expect(accesses.filter(({ user, other }) => user === other)).toEqual([]);
});

it('plans only the faults that SQLite can have', () => {
  const kinds = faultsOf({ database: 'sqlite', nodes: 1 }).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind.startsWith('database-'))).toEqual([]);
});

it('contains only the calls and faults that were asked for', () => {
  expect(new Set(faultsOf({ faults: ['cut'] }).map(({ kind }) => kind))).toEqual(new Set(['cut']));
  const calls = planOf({ ...options, calls: ['race'] }).flatMap(({ action }) =>
    action.do === 'call' ? [action.kind] : [],
  );
  expect(new Set(calls)).toEqual(new Set(['race']));
  expect(faultsOf({ faultEveryMs: Number.POSITIVE_INFINITY })).toEqual([]);
});

it('draws evenly, and by weight', () => {
  const random = new Random(1);
  const drawn = Array.from({ length: 10_000 }, () => random.weighted({ often: 3, seldom: 1 }));
  const often = drawn.filter((what) => what === 'often').length;
  expect(often).toBeGreaterThan(7_300);
  expect(often).toBeLessThan(7_700);
  const numbers = Array.from({ length: 1_000 }, () => random.between(1, 3));
  expect([...new Set(numbers)].sort()).toEqual([1, 2, 3]);
});
