import { type CustomTool, canonicalJson, isCustomToolName, type Limits } from '@countersign/protocol';
import { isoTime, makeEvent } from '../record/make-event.ts';
import type { RunnerRow } from '../rows.ts';
import type { Announcement, Reading, Transaction, Unit } from '../store.ts';

/** The row of a person's runner. People choose the ids of their runners, so two may choose the same. */
export const runnerKey = (userId: string, runnerId: string): string => `${runnerId}@${userId}`;

/** What a runner tells of its machine. */
export interface ToldByRunner {
  /** The tools that the person registered there (RN-8). */
  readonly tools: readonly CustomTool[];
  /** Its own bounds (TL-3). */
  readonly limits: Partial<Limits>;
}

/**
 * What the runner of a workspace told last. It is kept while the runner is away, as the catalogue is; where two programs
 * served the workspace, the later one knows.
 */
export function* toldByRunner(tx: Reading, userId: string, workspace: string): Unit<ToldByRunner> {
  const runners = (yield* tx.runnersOf(userId)).filter((runner) => runner.workspace === workspace);
  const [newest] = runners.toSorted(
    (a, b) => Number(b.connected) - Number(a.connected) || b.last_seen_at - a.last_seen_at,
  );
  // A row may have been written by another version.
  const tools = (newest?.custom_tools ?? []).filter(({ name }) => isCustomToolName(name));
  return { tools, limits: newest?.limits ?? {} };
}

/**
 * Keeps what a runner told, where it told something. Whoever lists tools hears that they are others now, or are described
 * by other bounds. Answers whether something changed.
 */
export function* rememberTold(
  tx: Transaction,
  userId: string,
  runnerId: string,
  told: Partial<ToldByRunner>,
  now: number,
): Unit<boolean> {
  const { tools, limits } = told;
  if (!tools && !limits) return false;
  const key = runnerKey(userId, runnerId);
  const row = yield* tx.get('runners', key);
  if (!row) return false;
  const areOtherTools = tools !== undefined && canonicalJson(row.custom_tools) !== canonicalJson(tools);
  const areOtherLimits = limits !== undefined && canonicalJson(row.limits) !== canonicalJson(limits);
  if (!areOtherTools && !areOtherLimits) return false;
  yield* tx.update('runners', key, {
    ...(areOtherTools && { custom_tools: tools }),
    ...(areOtherLimits && { limits }),
  });
  tx.announce(userId, {
    events: yield* runnerNews(tx, row, now),
    audit: [
      ...(areOtherTools
        ? [{ action: 'tools.registered', subject: runnerId, data: { tools: tools.map(({ name }) => name) } }]
        : []),
      ...(areOtherLimits ? [{ action: 'runner.limits', subject: runnerId, data: { ...limits } }] : []),
    ],
  });
  return true;
}

/** Inside a unit: that a runner came, went or has other tools, as each project that it serves is told. */
export function* runnerNews(
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
