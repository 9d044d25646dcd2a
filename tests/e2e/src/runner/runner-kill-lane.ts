import { readdirSync } from 'node:fs';
import type { KillStep } from '../../../lab/src/kill-steps.ts';
import { pause, until } from '../../../lab/src/waiting.ts';
import { killPlans, type Outcome } from './kill-plans.ts';
import { type Ended, type RunnerServer, RunnerStory, type RunnerStoryOptions } from './runner-story.ts';

/** A call during which the runner is killed: at a step, or some milliseconds after the decision. */
export interface Kill {
  readonly plan: string;
  readonly at: KillStep | number;
}

/** One workspace over many runner processes. */
export class RunnerKillLane {
  readonly #story: RunnerStory;
  readonly #earlier: string[] = [];
  kills = 0;

  private constructor(story: RunnerStory) {
    this.#story = story;
  }

  static async open(
    server: RunnerServer,
    userId: string,
    options: RunnerStoryOptions,
  ): Promise<RunnerKillLane> {
    const story = await RunnerStory.open(server, userId, options);
    story.write('README.md', '# Hello\n');
    story.write('app.ts', 'export const answer = 42;\n');
    story.git('init', '--quiet', '--initial-branch=main');
    story.git('add', 'README.md');
    story.git('commit', '--quiet', '-m', 'first');
    story.git('init', '--quiet', '--bare', `${story.outside}/remote.git`);
    story.git('-C', `${story.outside}/remote.git`, 'config', 'core.logAllRefUpdates', 'always');
    story.git('remote', 'add', 'origin', `${story.outside}/remote.git`);
    return new RunnerKillLane(story);
  }

  /** Kills the runner at each of these in turn; returns the problems and after which kill they appeared. */
  async live(kills: readonly (Kill & { readonly n: number })[]): Promise<string[]> {
    const problems: string[] = [];
    await this.#story.startRunner({ prepareNext: true });
    for (const kill of kills) {
      try {
        await this.#die(kill);
      } catch (error) {
        problems.push(`call ${kill.n}, ${kill.plan}:${kill.at}: ${(error as Error).message}`);
        if (!this.#story.runner.isRunning) await this.#story.startRunner({ prepareNext: true });
      }
    }
    return problems;
  }

  close(): Promise<void> {
    return this.#story.close();
  }

  async #die({ plan: name, at, n }: Kill & { readonly n: number }): Promise<void> {
    const plan = killPlans[name];
    if (!plan) throw new Error('there is no such plan');
    const story = this.#story;
    if (plan.keepsProcess) {
      await story.runner.end();
      await story.startRunner({ prepareNext: true });
    }
    const params = plan.prepare(story, n);
    if (typeof at !== 'number') {
      await story.runner.killAt({ step: at, onlyReads: plan.onlyReads, earlier: this.#earlier });
    }
    const dying = story.runner;
    const doom = () => (typeof at === 'number' ? pause(at).then(() => dying.end()) : undefined);
    let doomed = plan.onlyReads ? doom() : undefined;
    // An agent waits for a call that only reads, even while the runner is killed.
    const asking = story.ask(plan.tool, params);
    if (!plan.onlyReads) {
      const toolId = await asking;
      if (typeof toolId !== 'string') throw new Error(`refused: ${toolId.message}`);
      const card = await story.card(toolId);
      doomed = doom();
      await story.approve(card);
    }
    const how = await Promise.race([dying.ended, pause(20_000).then(() => 'it lives on')]);
    await doomed;
    if (how !== 'SIGKILL') throw new Error(`it did not die there: ${how}\n${dying.log}`);
    this.kills += 1;
    await story.startRunner({ prepareNext: true });
    const toolId = await asking;
    if (typeof toolId !== 'string') throw new Error(`refused: ${toolId.message}`);
    this.#earlier.push(toolId);
    const ended = await story.untilFinal(toolId);
    this.#check(ended, {
      n,
      name,
      expected: typeof at === 'number' ? undefined : plan.steps[at],
    });
    // A job that the second process started, because the first had not reached it, may still run.
    if (ended.result?.job_id) {
      const killed = await story.call('shell_kill', { job_id: ended.result.job_id });
      this.#earlier.push(killed.toolId);
    }
    await this.#nothingIsLeft(n);
  }

  #check(
    ended: Ended,
    { n, name, expected }: { n: number; name: string; expected: Outcome | undefined },
  ): void {
    const outcome = outcomeOf(ended);
    const effects = killPlans[name]?.effects(this.#story, n) ?? 0;
    const told = `${ended.status} ${ended.code ?? ''} ${ended.message}, done ${effects} times`;
    if (outcome === undefined) throw new Error(`it ended otherwise than it may: ${told}`);
    if (effects > 1) throw new Error(`it was done twice: ${told}`);
    if (outcome === 'completed' && effects !== 1) throw new Error(`it was not done: ${told}`);
    if (outcome === 'not done' && effects !== 0) throw new Error(`it was done: ${told}`);
    if (expected !== undefined && outcome !== expected) throw new Error(`it should be ${expected}: ${told}`);
  }

  /** The runner left no file in the workspace and no process of the call. */
  async #nothingIsLeft(n: number): Promise<void> {
    const leftovers = readdirSync(this.#story.root).filter((name) => name.startsWith('.') && name !== '.git');
    const locks = readdirSync(this.#story.at('.git')).filter((name) => name.endsWith('.lock'));
    if (leftovers.length + locks.length > 0) throw new Error(`left behind: ${leftovers} ${locks}`);
    const marks = [`shell-${n}.log`, `job-${n}.log`, `command-${n}.js`];
    const left = () => this.#story.processes().filter((line) => marks.some((mark) => line.includes(mark)));
    await until(() => left().length === 0, { otherwise: () => `still running: ${left()}` });
  }
}

function outcomeOf({ status, code, message }: Ended): Outcome | undefined {
  if (status === 'completed') return 'completed';
  if (code === 'WRITE_FAILED' || code === 'LAYER_DROPPED') return 'not done';
  return code === 'RUNNER_LOST' && message.includes('outcome unknown') ? 'unknown' : undefined;
}
