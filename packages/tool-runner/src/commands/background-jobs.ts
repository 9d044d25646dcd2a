import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { CountersignError } from '@countersign/protocol';
import type { ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { listeningPorts } from '../ports/listening-ports.ts';
import { KeptOutput } from './command-output.ts';
import { follow, notes, statusOf, waitForEnd } from './run-to-end.ts';

/** Limit per session. */
export const maxRunningJobs = 8;
/** Limit per session. An ended job is remembered with its output. */
const maxRememberedJobs = 32;
/** Limit for all sessions together, because each job keeps up to some megabytes of output. */
const maxRememberedInTotal = 64;

export interface JobState {
  readonly stdout: string;
  readonly stderr: string;
  readonly isCut: boolean;
  readonly isRunning: boolean;
  /** Null while the job runs, or if a signal ended it. */
  readonly exitCode: number | null;
  /** TCP ports on which it listens, for the other commands of its conversation. */
  readonly ports: readonly number[];
}

/** A port on which a background job listens. */
export interface JobPort {
  readonly port: number;
  readonly job_id: string;
  readonly session_id: string;
  /** The shell line of the job. */
  readonly command: string;
}

interface Job {
  readonly command: string;
  readonly child: ChildProcess;
  readonly stdout: KeptOutput;
  readonly stderr: KeptOutput;
  readonly isOver: Promise<void>;
  isRunning: boolean;
}

/** Shell lines that continue after the call that started them. A job is visible only to its session. */
export class BackgroundJobs {
  readonly #starter: IsolatingStarter;
  readonly #outputBytes: number;
  readonly #sessions = new Map<string, Map<string, Job>>();

  constructor(starter: IsolatingStarter, outputBytes: number) {
    this.#starter = starter;
    this.#outputBytes = outputBytes;
  }

  start(session: string, request: ProcessRequest): string {
    const jobs = this.#sessions.get(session) ?? new Map<string, Job>();
    if ([...jobs.values()].filter(({ isRunning }) => isRunning).length >= maxRunningJobs)
      throw new CountersignError('EXECUTION_FAILED', {
        problem: `this session has ${maxRunningJobs} background jobs already; end one with shell_kill first`,
      });
    const child = this.#starter.start(request);
    const stdout = new KeptOutput(this.#outputBytes);
    const stderr = new KeptOutput(this.#outputBytes);
    const secrets = this.#starter.networkUse(child)?.secrets;
    const ends = [
      follow(child.stdout, secrets, (chunk) => stdout.push(chunk)),
      follow(child.stderr, secrets, (chunk) => stderr.push(chunk)),
    ];
    const endOutput = (): void => {
      for (const end of ends) end();
    };
    const command = request.args.at(-1) ?? '';
    const job: Job = {
      command,
      child,
      stdout,
      stderr,
      isRunning: true,
      isOver: this.#follow(child, endOutput, () => job),
    };
    const id = `job_${randomUUID()}`;
    jobs.set(id, job);
    this.#sessions.delete(session); // keeps the least recently used session first
    this.#sessions.set(session, jobs);
    forgetOldest(jobs, jobs.size - maxRememberedJobs);
    this.#forgetOtherSessions();
    return id;
  }

  get isAnyRunning(): boolean {
    return [...this.#sessions.values()].some((jobs) => [...jobs.values()].some(({ isRunning }) => isRunning));
  }

  look(session: string, id: string): JobState {
    const { child, stdout, stderr, isRunning } = this.#find(session, id);
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      isCut: stdout.isCut || stderr.isCut,
      isRunning,
      exitCode: isRunning ? null : exitCodeOf(child),
      ports: portsOf({ child, isRunning }),
    };
  }

  /** The ports of all running jobs, those of the newest job first. */
  ports(): readonly JobPort[] {
    const jobs = [...this.#sessions].flatMap(([session_id, known]) =>
      [...known].map(([job_id, job]) => ({ session_id, job_id, job })),
    );
    return jobs
      .toReversed()
      .flatMap(({ session_id, job_id, job }) =>
        portsOf(job).map((port) => ({ port, job_id, session_id, command: job.command })),
      );
  }

  /** Stops a job if it still runs. Resolves with the exit code when all its processes have ended. */
  async end(session: string, id: string): Promise<number | null> {
    const job = this.#find(session, id);
    if (job.isRunning) {
      void this.#starter.stop(job.child);
      await job.isOver;
    }
    return exitCodeOf(job.child);
  }

  /** Ends the jobs of a conversation that has ended. */
  async endSession(session: string): Promise<void> {
    const jobs = this.#sessions.get(session) ?? new Map<string, Job>();
    await Promise.all([...jobs.keys()].map((id) => this.end(session, id)));
    this.#sessions.delete(session);
  }

  async endAll(): Promise<void> {
    const all = [...this.#sessions.entries()].flatMap(([session, jobs]) =>
      [...jobs.keys()].map((id) => this.end(session, id)),
    );
    await Promise.all(all);
    this.#sessions.clear();
  }

  #forgetOtherSessions(): void {
    let remembered = [...this.#sessions.values()].reduce((sum, { size }) => sum + size, 0);
    for (const [session, jobs] of this.#sessions) {
      remembered -= forgetOldest(jobs, remembered - maxRememberedInTotal);
      if (jobs.size === 0) this.#sessions.delete(session);
    }
  }

  async #follow(child: ChildProcess, endOutput: () => void, jobOf: () => Job): Promise<void> {
    let problem: string[] = [];
    try {
      await waitForEnd(this.#starter, child, 'bash');
    } catch (error) {
      problem = [`${(error as Error).message}\n`];
    }
    endOutput();
    const job = jobOf();
    for (const line of [...problem, ...notes(this.#starter, child, job.stderr.text())])
      job.stderr.push(Buffer.from(line));
    job.isRunning = false;
  }

  #find(session: string, id: string): Job {
    const job = this.#sessions.get(session)?.get(id);
    if (!job) throw new CountersignError('JOB_NOT_FOUND', { job: id });
    return job;
  }
}

const portsOf = ({ child, isRunning }: Pick<Job, 'child' | 'isRunning'>): readonly number[] =>
  isRunning && child.pid !== undefined && process.platform === 'linux' ? listeningPorts(child.pid) : [];

function exitCodeOf(child: ChildProcess): number | null {
  const status = statusOf(child);
  return 'exitCode' in status ? status.exitCode : null;
}

/** Forgets up to `count` jobs that have ended, the oldest first. Returns how many it forgot. */
function forgetOldest(jobs: Map<string, Job>, count: number): number {
  const ended = [...jobs].filter(([, { isRunning }]) => !isRunning).slice(0, Math.max(count, 0));
  for (const [id] of ended) jobs.delete(id);
  return ended.length;
}
