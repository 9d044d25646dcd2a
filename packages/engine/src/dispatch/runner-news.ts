import type { RunnerRow } from '../rows.ts';
import type { Announcement, Reading, Unit } from '../store.ts';

/** Inside a unit: that a runner came, went or has other tools, as each project that it serves is told. */
export function* runnerNews(
  tx: Reading,
  runner: Pick<RunnerRow, 'user_id' | 'runner_id' | 'workspace' | 'capabilities' | 'connected'>,
  now: number,
): Unit<NonNullable<Announcement['events']>> {
  const { user_id, runner_id, workspace, capabilities, connected } = runner;
  const projects = (yield* tx.projectsOf(user_id)).filter((project) => project.workspace === workspace);
  return projects.map(({ id }) => ({
    projectId: id,
    event: {
      event: 'runner.changed',
      data: {
        project_id: id,
        runner_id,
        workspace,
        state: connected ? 'connected' : 'disconnected',
        capabilities: [...capabilities],
        timestamp: new Date(now).toISOString(),
      },
    },
  }));
}
