import {
  type CustomTool,
  canonicalJson,
  isCustomToolName,
  type Limits,
  type MachinePolicy,
  type RunnerCapability,
  timing,
} from '@countersign/protocol';
import { raisePolicyVersion } from '../approve/policy-rows.ts';
import { isoTime, makeEvent } from '../record/announcements.ts';
import type { RunnerRow } from '../rows.ts';
import type { Announcement, Reading, Transaction, Unit } from '../store.ts';
import { type Clock, Deadlines } from '../waiting.ts';

/** The id of a runner's row. It includes the person, because two people may choose the same runner id. */
export const runnerKey = (userId: string, runnerId: string): string => `${runnerId}@${userId}`;

/** What a runner reports about its machine. */
export interface RunnerReport {
  /** The tools that the person registered there (RN-8). */
  readonly tools: readonly CustomTool[];
  /** The runner's own limits (TL-3). */
  readonly limits: Partial<Limits>;
  /** The person's policy file there (RK-5). */
  readonly policy: MachinePolicy;
}

/**
 * The latest report of a workspace's runner. It is kept while the runner is disconnected. If two programs served the
 * workspace, the later report counts.
 */
export function* latestRunnerReport(tx: Reading, userId: string, workspace: string): Unit<RunnerReport> {
  const runners = (yield* tx.runnersOf(userId)).filter((runner) => runner.workspace === workspace);
  const [newest] = runners.toSorted(
    (a, b) => Number(b.connected) - Number(a.connected) || b.last_seen_at - a.last_seen_at,
  );
  // Another version may have stored names that this version refuses.
  const tools = (newest?.custom_tools ?? []).filter(({ name }) => isCustomToolName(name));
  return { tools, limits: newest?.limits ?? {}, policy: newest ? machinePolicyOf(newest) : {} };
}

/** A disconnected machine cannot check its policy file again, so the `allow` rules of that file do not count. */
function machinePolicyOf({ policy, connected }: RunnerRow): MachinePolicy {
  if (connected || !policy.policy) return policy;
  return { policy: { version: 1, rules: policy.policy.rules.filter(({ effect }) => effect !== 'allow') } };
}

/** Stores a runner's report and tells clients if anything in it changed. Returns whether it did. */
export function* storeRunnerReport(
  tx: Transaction,
  userId: string,
  runnerId: string,
  report: Partial<RunnerReport>,
  now: number,
): Unit<boolean> {
  const { tools, limits, policy } = report;
  if (!tools && !limits && !policy) return false;
  const key = runnerKey(userId, runnerId);
  const row = yield* tx.get('runners', key);
  if (!row) return false;
  const areOtherTools = tools !== undefined && canonicalJson(row.custom_tools) !== canonicalJson(tools);
  const areOtherLimits = limits !== undefined && canonicalJson(row.limits) !== canonicalJson(limits);
  const isOtherPolicy = policy !== undefined && canonicalJson(row.policy) !== canonicalJson(policy);
  if (!areOtherTools && !areOtherLimits && !isOtherPolicy) return false;
  yield* tx.update('runners', key, {
    ...(areOtherTools && { custom_tools: tools }),
    ...(areOtherLimits && { limits }),
    ...(isOtherPolicy && { policy }),
  });
  // Other nodes have cached policies, and calls that wait were judged by the old rules.
  if (isOtherPolicy) yield* raisePolicyVersion(tx, userId, now);
  tx.announce(userId, {
    events: yield* runnerChangedEvents(tx, row, now),
    audit: [
      ...(areOtherTools
        ? [{ action: 'tools.registered', subject: runnerId, data: { tools: tools.map(({ name }) => name) } }]
        : []),
      ...(areOtherLimits ? [{ action: 'runner.limits', subject: runnerId, data: { ...limits } }] : []),
      ...(isOtherPolicy
        ? [
            {
              action: 'runner.policy',
              subject: runnerId,
              data: { rules: policy.policy?.rules.length ?? null },
            },
          ]
        : []),
    ],
  });
  return true;
}

/** Inside a unit: the events that tell each project of a runner that it connected, disconnected or has other tools. */
export function* runnerChangedEvents(
  tx: Reading,
  runner: Pick<RunnerRow, 'user_id' | 'runner_id' | 'workspace' | 'capabilities' | 'connected'>,
  now: number,
): Unit<NonNullable<Announcement['events']>> {
  const { user_id, runner_id, workspace, capabilities, connected } = runner;
  const state = connected ? 'connected' : 'disconnected';
  const projects = (yield* tx.projectsOf(user_id)).filter((project) => project.workspace === workspace);
  return projects.map(({ id: project_id }) => ({
    projectId: project_id,
    event: makeEvent('runner.changed', {
      project_id,
      runner_id,
      workspace,
      state,
      capabilities,
      timestamp: isoTime(now),
    }),
  }));
}

/** A runner, as the node that has its stream knows it. */
export interface ConnectedRunner {
  readonly id: string;
  readonly userId: string;
  readonly workspace: string;
  readonly capabilities: readonly string[];
  /** Tells two programs with the same runner id apart; undefined if the runner does not send it. */
  readonly instance?: string | undefined;
}

/**
 * The runners that this node knows, and when it last heard each (EX-7, EX-10). A lease ends 30 s after the last sign of
 * life, even if the stream still looks open. Other nodes may have heard the runner later: its row shows that (0014).
 */
export class RunnerRegistry {
  readonly #runners = new Map<string, ConnectedRunner>();
  /** Runners that an earlier process had given calls to, until they reconnect. */
  readonly #expected = new Map<string, ConnectedRunner>();
  readonly #leases: Deadlines;
  readonly #clock: Clock;
  /** When each runner was last heard, if that is not stored yet; `at` is monotonic. */
  readonly #unstored = new Map<string, { readonly userId: string; readonly runnerId: string; at: number }>();

  constructor(clock: Clock, onLost: (runner: ConnectedRunner) => void) {
    this.#clock = clock;
    this.#leases = new Deadlines(clock, (key) => {
      const runner = this.#runners.get(key) ?? this.#expected.get(key);
      this.#runners.delete(key);
      this.#expected.delete(key);
      if (runner) onLost(runner);
    });
  }

  connect(runner: ConnectedRunner): void {
    const key = keyOf(runner.userId, runner.id);
    this.#runners.set(key, runner);
    this.#expected.delete(key);
    this.alive(runner.userId, runner.id);
  }

  /** Call when another node gave the runner up, or has it now. */
  forget(userId: string, runnerId: string): void {
    const key = keyOf(userId, runnerId);
    this.#runners.delete(key);
    this.#expected.delete(key);
    this.#leases.clear(key);
  }

  /** The runner is lost unless it is heard within this time. It gets no calls before it reconnects. */
  expect(runner: ConnectedRunner, withinMs: number): void {
    const key = keyOf(runner.userId, runner.id);
    if (this.#runners.has(key)) return;
    this.#expected.set(key, runner);
    this.#leases.set(key, withinMs);
  }

  /** Any request of a runner is a sign of life. */
  alive(userId: string, runnerId: string): void {
    const key = keyOf(userId, runnerId);
    if (this.#runners.has(key) || this.#expected.has(key))
      this.#leases.set(key, timing.runnerLeaseSeconds * 1000);
    const at = this.#clock.monotonic();
    const unstored = this.#unstored.get(key);
    if (unstored) unstored.at = at;
    else this.#unstored.set(key, { userId, runnerId, at });
  }

  /** The runners heard since the last call. Sorted, so that all nodes lock rows in the same order. */
  takeUnstored(): readonly { readonly userId: string; readonly runnerId: string; readonly ageMs: number }[] {
    const now = this.#clock.monotonic();
    const signs = [...this.#unstored].sort(([a], [b]) => (a < b ? -1 : 1));
    const taken = signs.map(([, { userId, runnerId, at }]) => ({ userId, runnerId, ageMs: now - at }));
    this.#unstored.clear();
    return taken;
  }

  find(userId: string, runnerId: string): ConnectedRunner | undefined {
    return this.#runners.get(keyOf(userId, runnerId));
  }

  /** Picks a runner of the workspace that this node knows, preferably `preferred`. It must have the capability `able`. */
  pick(
    userId: string,
    workspace: string,
    preferred: string | null,
    able?: RunnerCapability,
  ): ConnectedRunner | undefined {
    const fits = (runner: ConnectedRunner): boolean =>
      runner.userId === userId &&
      runner.workspace === workspace &&
      (able === undefined || runner.capabilities.includes(able));
    const wanted = preferred === null ? undefined : this.find(userId, preferred);
    if (wanted && fits(wanted)) return wanted;
    for (const runner of this.#runners.values()) if (fits(runner)) return runner;
    return undefined;
  }

  all(): { readonly userId: string; readonly runnerId: string }[] {
    return [...this.#runners.values()].map(({ userId, id }) => ({ userId, runnerId: id }));
  }

  close(): void {
    this.#leases.close();
    this.#runners.clear();
    this.#expected.clear();
    this.#unstored.clear();
  }
}

const keyOf = (userId: string, runnerId: string): string => `${userId}\u0000${runnerId}`;
