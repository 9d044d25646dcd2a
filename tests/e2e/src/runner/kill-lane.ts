import { readdirSync } from 'node:fs';
import { pause, until } from '../patience.ts';
import { killPlans, type Outcome } from './kill-plans.ts';
import type { MortalStep } from './mortal-steps.ts';
import { Desk, type DeskOptions, type Ended, type RunnerServer } from './runner-story.ts';

/** A call in which the runner dies: at a step, or so many milliseconds after the decision. */
export interface Kill {
  readonly plan: string;
  readonly at: MortalStep | number;
}

/** One workspace over many lives of its runner. */
export class KillLane {
  readonly #desk: Desk;
  readonly #earlier: string[] = [];
  kills = 0;

  private constructor(desk: Desk) {
    this.#desk = desk;
  }

  static async open(server: RunnerServer, userId: string, options: DeskOptions): Promise<KillLane> {
    const desk = await Desk.open(server, userId, options);
    desk.write('README.md', '# Hello\n');
    desk.write('app.ts', 'export const answer = 42;\n');
    desk.git('init', '--quiet', '--initial-branch=main');
    desk.git('add', 'README.md');
    desk.git('commit', '--quiet', '-m', 'first');
    desk.git('init', '--quiet', '--bare', `${desk.outside}/remote.git`);
    desk.git('-C', `${desk.outside}/remote.git`, 'config', 'core.logAllRefUpdates', 'always');
    desk.git('remote', 'add', 'origin', `${desk.outside}/remote.git`);
    return new KillLane(desk);
  }

  /** Dies each of these deaths in turn, and answers with what is wrong after which of them. */
  async live(kills: readonly (Kill & { readonly n: number })[]): Promise<string[]> {
    const problems: string[] = [];
    await this.#desk.startRunner({ prepareNext: true });
    for (const kill of kills) {
      try {
        await this.#die(kill);
      } catch (error) {
        problems.push(`call ${kill.n}, ${kill.plan}:${kill.at}: ${(error as Error).message}`);
        if (!this.#desk.runner.isRunning) await this.#desk.startRunner({ prepareNext: true });
      }
    }
    return problems;
  }

  close(): Promise<void> {
    return this.#desk.close();
  }

  async #die({ plan: name, at, n }: Kill & { readonly n: number }): Promise<void> {
    const plan = killPlans[name];
    if (!plan) throw new Error('there is no such plan');
    const desk = this.#desk;
    if (plan.keepsProcess) {
      await desk.runner.end();
      await desk.startRunner({ prepareNext: true });
    }
    const params = plan.prepare(desk, n);
    if (typeof at !== 'number') {
      await desk.runner.dieAt({ step: at, onlyReads: plan.onlyReads, earlier: this.#earlier });
    }
    const dying = desk.runner;
    const doom = () => (typeof at === 'number' ? pause(at).then(() => dying.end()) : undefined);
    let doomed = plan.onlyReads ? doom() : undefined;
    // An agent whose call only reads waits for it, over the death of the runner.
    const asking = desk.ask(plan.tool, params);
    if (!plan.onlyReads) {
      const toolId = await asking;
      if (typeof toolId !== 'string') throw new Error(`refused: ${toolId.message}`);
      const card = await desk.card(toolId);
      doomed = doom();
      await desk.approve(card);
    }
    const how = await Promise.race([dying.ended, pause(20_000).then(() => 'it lives on')]);
    await doomed;
    if (how !== 'SIGKILL') throw new Error(`it did not die there: ${how}\n${dying.log}`);
    this.kills += 1;
    await desk.startRunner({ prepareNext: true });
    const toolId = await asking;
    if (typeof toolId !== 'string') throw new Error(`refused: ${toolId.message}`);
    this.#earlier.push(toolId);
    const ended = await desk.untilFinal(toolId);
    this.#check(ended, {
      n,
      name,
      expected: typeof at === 'number' ? undefined : plan.steps[at],
    });
    // A job that the second life started, because the first had not come to it, is still there: rightly.
    if (ended.result?.job_id) {
      const killed = await desk.call('shell_kill', { job_id: ended.result.job_id });
      this.#earlier.push(killed.toolId);
    }
    await this.#nothingIsLeft(n);
  }

  #check(
    ended: Ended,
    { n, name, expected }: { n: number; name: string; expected: Outcome | undefined },
  ): void {
    const outcome = outcomeOf(ended);
    const effects = killPlans[name]?.effects(this.#desk, n) ?? 0;
    const told = `${ended.status} ${ended.code ?? ''} ${ended.message}, done ${effects} times`;
    if (outcome === undefined) throw new Error(`it ended otherwise than it may: ${told}`);
    if (effects > 1) throw new Error(`it was done twice: ${told}`);
    if (outcome === 'completed' && effects !== 1) throw new Error(`it was not done: ${told}`);
    if (outcome === 'not done' && effects !== 0) throw new Error(`it was done: ${told}`);
    if (expected !== undefined && outcome !== expected) throw new Error(`it should be ${expected}: ${told}`);
  }

  /** No file of the runner in the workspace, and no process of the call. */
  async #nothingIsLeft(n: number): Promise<void> {
    const leftovers = readdirSync(this.#desk.root).filter((name) => name.startsWith('.') && name !== '.git');
    const locks = readdirSync(this.#desk.at('.git')).filter((name) => name.endsWith('.lock'));
    if (leftovers.length + locks.length > 0) throw new Error(`left behind: ${leftovers} ${locks}`);
    const marks = [`shell-${n}.log`, `job-${n}.log`, `command-${n}.js`];
    const left = () => this.#desk.processes().filter((line) => marks.some((mark) => line.includes(mark)));
    await until(() => left().length === 0, { otherwise: () => `still running: ${left()}` });
  }
}

function outcomeOf({ status, code, message }: Ended): Outcome | undefined {
  if (status === 'completed') return 'completed';
  if (code === 'WRITE_FAILED') return 'not done';
  return code === 'RUNNER_LOST' && message.includes('outcome unknown') ? 'unknown' : undefined;
}
