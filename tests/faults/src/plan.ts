import { commitMoments, labelledCommits, runPoints } from '@countersign/engine';
import type { NetworkFaults } from '../../lab/src/load-balancer.ts';
import { Random } from './random.ts';

/** What people do about a call. The kind is the first part of the call's mark. */
export const callKinds = [
  'read', // harmless, needs no approval
  'append', // a file, approved
  'shell', // a command line, HIGH, approved
  'reject',
  'race', // one device approves while the other rejects
  'tamper', // the file changes between the card and the approval
  'withdraw', // the agent cancels while it waits for approval
  'long', // executes for a while
  'slow', // cancelled while it executes
  'ignore', // nobody answers
  'run', // made by the agent on the server, approved
  'rival', // a second program with the runner's id claims it too
] as const;
export type CallKind = (typeof callKinds)[number];

const callWeights: Readonly<Record<CallKind, number>> = {
  read: 4,
  append: 5,
  shell: 2,
  reject: 2,
  race: 2,
  tamper: 2,
  withdraw: 1,
  long: 1,
  slow: 1,
  ignore: 0.3,
  run: 2.5,
  rival: 2,
};

export type Fault =
  | { readonly kind: 'node-kill'; readonly node: number; readonly ms: number }
  /** Killed; when it is back, killed again at this labelled point: `approve.committed:1`. */
  | { readonly kind: 'node-kill-at-point'; readonly node: number; readonly killAt: string }
  /** As a rolling upgrade does it. */
  | { readonly kind: 'node-restart'; readonly node: number; readonly ms: number }
  | { readonly kind: 'node-pause'; readonly node: number; readonly ms: number }
  /** Shifts its wall clock by this much, also after a restart. */
  | { readonly kind: 'clock-jump'; readonly node: number; readonly offsetMs: number }
  | { readonly kind: 'runner-kill'; readonly user: number; readonly ms: number }
  /** Another machine takes its place: without a journal and with another id. */
  | { readonly kind: 'runner-replace'; readonly user: number; readonly ms: number }
  | { readonly kind: 'runner-pause'; readonly user: number; readonly ms: number }
  | { readonly kind: 'network'; readonly networkFaults: NetworkFaults; readonly ms: number }
  | { readonly kind: 'cut' }
  | { readonly kind: 'server-disk-full'; readonly ms: number }
  | { readonly kind: 'runner-disk-full'; readonly user: number; readonly ms: number }
  | { readonly kind: 'database-kill'; readonly ms: number }
  | { readonly kind: 'database-connections' }
  | { readonly kind: 'database-pause'; readonly ms: number }
  /** Sets its clock forward or back by this much. */
  | { readonly kind: 'database-clock'; readonly jumpMs: number };
export type FaultKind = Fault['kind'];

export type Action =
  | { readonly do: 'call'; readonly user: number; readonly kind: Exclude<CallKind, 'run'> }
  /** A message to the agent on the server. */
  | { readonly do: 'say'; readonly user: number }
  /** A person tries to access another person's data. */
  | { readonly do: 'access-others'; readonly user: number; readonly other: number }
  | { readonly do: 'fault'; readonly fault: Fault };

export interface PlannedAction {
  /** Milliseconds after the start. */
  readonly at: number;
  readonly action: Action;
}

export interface PlanOptions {
  readonly seed: number;
  readonly ms: number;
  readonly users: number;
  readonly nodes: number;
  readonly database: 'sqlite' | 'postgres';
  /** Average milliseconds between two actions of people. */
  readonly everyMs: number;
  /** Average milliseconds between two faults; Infinity: no faults. */
  readonly faultEveryMs: number;
  /** Only these kinds of calls; by default all. */
  readonly calls?: readonly CallKind[] | undefined;
  /** Only these kinds of faults; by default all that the database can have. */
  readonly faults?: readonly FaultKind[] | undefined;
}

const faultWeights: Readonly<Record<FaultKind, number>> = {
  'node-kill': 4,
  'node-kill-at-point': 3,
  'node-restart': 1,
  'node-pause': 2,
  'clock-jump': 1,
  'runner-kill': 3,
  'runner-replace': 1,
  'runner-pause': 1,
  network: 4,
  cut: 2,
  'server-disk-full': 1,
  'runner-disk-full': 1,
  'database-kill': 1,
  'database-connections': 2,
  'database-pause': 1,
  'database-clock': 1,
};
const killPoints = [
  ...labelledCommits.flatMap((label) => commitMoments.map((moment) => `${label}.${moment}`)),
  'hint.before',
  ...runPoints,
];
export const faultKinds = Object.keys(faultWeights) as FaultKind[];
const onlyPostgres: readonly FaultKind[] = [
  'database-kill',
  'database-connections',
  'database-pause',
  'database-clock',
];

/** Everything that people, agents and faults will do, and when. The seed decides all of it before the run starts. */
export function planOf(options: PlanOptions): PlannedAction[] {
  const { seed, ms, everyMs, faultEveryMs } = options;
  const people = new Random(seed);
  const fate = new Random(seed ^ 0x9e3779b9);
  const planned = [
    ...atRandomTimes(people, ms, everyMs, () => randomAction(people, options)),
    ...atRandomTimes(fate, ms, faultEveryMs, () => ({
      do: 'fault' as const,
      fault: randomFault(fate, options),
    })),
  ];
  return planned.sort((a, b) => a.at - b.at);
}

function atRandomTimes(random: Random, ms: number, everyMs: number, make: () => Action): PlannedAction[] {
  const planned: PlannedAction[] = [];
  for (let at = random.between(0, everyMs); at < ms; at += random.between(1, 2 * everyMs)) {
    planned.push({ at, action: make() });
  }
  return planned;
}

function randomAction(random: Random, { users, calls = callKinds }: PlanOptions): Action {
  const user = random.between(0, users - 1);
  const other = (user + random.between(1, Math.max(users - 1, 1))) % users;
  if (users > 1 && random.chance(0.1)) return { do: 'access-others', user, other };
  const kind = random.weighted(only(callWeights, calls));
  return kind === 'run' ? { do: 'say', user } : { do: 'call', user, kind };
}

function randomFault(random: Random, { users, nodes, database, faults }: PlanOptions): Fault {
  const chosen =
    faults ?? faultKinds.filter((kind) => database === 'postgres' || !onlyPostgres.includes(kind));
  const kind = random.weighted(only(faultWeights, chosen));
  // Each fault draws the same count of random numbers, so that another kind changes little else.
  const [node, user] = [random.between(0, nodes - 1), random.between(0, users - 1)];
  const [short, long] = [random.between(200, 2_500), random.between(1_000, 12_000)];
  const offsetMs = random.pick([-3_600_000, -60_000, -5_000, 5_000, 60_000, 280_000]);
  const jumpMs = random.pick([-15_000, -3_000, 3_000, 20_000, 60_000, 280_000]);
  const killAt = `${random.pick(killPoints)}:${random.between(1, 3)}`;
  const share = random.next();
  switch (kind) {
    case 'node-kill':
    case 'node-restart':
      return { kind, node, ms: short };
    case 'node-kill-at-point':
      return { kind, node, killAt };
    case 'node-pause':
      return { kind, node, ms: long };
    case 'clock-jump':
      return { kind, node, offsetMs };
    case 'runner-kill':
    case 'runner-replace':
      return { kind, user, ms: short };
    case 'runner-pause':
    case 'runner-disk-full':
      return { kind, user, ms: long };
    case 'database-pause':
      return { kind, ms: 2 * long }; // sometimes longer than any timeout
    case 'database-clock':
      return { kind, jumpMs };
    case 'network': {
      const networkFaults = {
        lost: 0.1 * share,
        unanswered: 0.1 * share,
        duplicated: 0.2 * share,
        delayed: 0.3,
        delayMs: short,
      };
      return { kind, networkFaults, ms: long };
    }
    case 'server-disk-full':
    case 'database-kill':
      return { kind, ms: short };
    case 'cut':
    case 'database-connections':
      return { kind };
  }
}

function only<K extends string>(
  weights: Readonly<Record<K, number>>,
  chosen: readonly K[],
): Readonly<Record<K, number>> {
  return Object.fromEntries(chosen.map((kind) => [kind, weights[kind]])) as Record<K, number>;
}
