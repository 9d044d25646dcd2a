import { ApiError } from '@countersign/client';
import { type OpenAiCompatibleServer, openAiCompatibleServer } from '@countersign/testing';
import { findAuditProblems, findProblems } from '../../../lab/src/invariants.ts';
import { RemotePerson } from '../../../lab/src/remote-person.ts';
import { RemoteRunner } from '../../../lab/src/remote-runner.ts';
import { freePort, ServerProcess } from '../../../lab/src/server-process.ts';
import type { TestDatabase } from '../../../lab/src/test-database.ts';
import { signToken } from '../../../lab/src/tokens.ts';
import { pause, until } from '../../../lab/src/waiting.ts';
import { actAsPlanned, plannedEnds, planOf, runnerScript, scriptedModel } from './workload.ts';

export interface LaneReport {
  readonly kills: number;
  /** Points that the workload did not reach; the server was then killed from outside. */
  readonly unreached: readonly string[];
}

/** One process of the server, arranged so that it reaches a point. */
export interface Life {
  /** Such as `approve.committed:1`; undefined: not killed. */
  readonly killAt: string | undefined;
  /** The plans of the calls to make; by default `usualPlans`. */
  readonly plans?: readonly string[];
  /** Whether the agent runs too; by default yes. */
  readonly runs?: boolean;
  /** The runner reconnects only after the calls are made. */
  readonly runnerComesLate?: boolean;
  /** The runner does not reconnect. */
  readonly runnerStaysAway?: boolean;
  /** Runs once the calls are made. */
  readonly during?: (lane: ServerKillLane) => Promise<unknown>;
  /** Continues the work of the process before. */
  readonly goesOn?: boolean;
  /** Does not finish its work: the server is killed from outside, and the next process finds it. */
  readonly leavesWork?: boolean;
}

const usualPlans = ['read', 'approve', 'reject', 'withdraw', 'slow', 'stale', 'edit'];
/** How often a process gets new work until it reaches its point. */
const batchesOfALife = 4;
/** Includes leases, retries and the 30 s of grace after a slow start (AP-3). */
const workMs = 240_000;
const expiresSoonMs = 3_000;
/** Time for the server to reach the point after a commit, once the database shows that all is done. */
const pointDelayMs = 500;

const userId = 'ada';
const lastLife: Life = { killAt: undefined };

/**
 * One database and its people over many processes of the server: each finishes the work of the one before, gets new
 * work, and is killed at its point. The person's and the runner's programs survive and reconnect.
 */
export class ServerKillLane {
  readonly database: TestDatabase;
  readonly person: RemotePerson;
  readonly #port: number;
  readonly #baseUrl: string;
  readonly #model: OpenAiCompatibleServer;
  readonly #unsettled: Set<string>;
  readonly #storedSteps = new Set<string>();
  readonly #problems: string[] = [];
  readonly #accepted: string[] = [];
  #spare = new ServerProcess();
  #server: ServerProcess | undefined;
  #sending = new Set<Promise<unknown>>();
  #batch = 0;
  #projectId = '';
  #runner: RemoteRunner | undefined;
  #isOver = false;

  private constructor(database: TestDatabase, port: number, model: OpenAiCompatibleServer) {
    this.#baseUrl = `http://127.0.0.1:${port}`;
    this.database = database;
    this.#port = port;
    this.#model = model;
    this.person = new RemotePerson(this.#baseUrl, signToken(userId, 'person'));
    this.#unsettled = actAsPlanned(this.person, () => this.#isOver).unsettled;
    model.script(
      scriptedModel((key) => {
        if (this.#storedSteps.has(key)) this.#problems.push(`the model was asked again for ${key}`);
      }),
    );
  }

  get runner(): RemoteRunner {
    if (!this.#runner) throw new Error('There is no project yet');
    return this.#runner;
  }

  static async open(database: TestDatabase): Promise<ServerKillLane> {
    const lane = new ServerKillLane(database, await freePort(), await openAiCompatibleServer());
    await lane.#startServer(undefined);
    const { project } = await lane.person.client.createProject({
      body: { name: 'p', workspace: '/workspace' },
    });
    lane.#projectId = project.project_id;
    lane.#runner = new RemoteRunner({
      baseUrl: lane.#baseUrl,
      token: signToken(userId, 'runner'),
      projectId: project.project_id,
      ...runnerScript,
    });
    await Promise.all([lane.person.connect(), lane.runner.connect()]);
    // In a project that never had a runner, a plain listener would be told to execute (EV-3).
    await lane.untilStored('select id from runners');
    return lane;
  }

  /** Runs all of these processes in turn. Throws at the first problem, and names the process that showed it. */
  async live(
    lives: readonly Life[],
    signal: AbortSignal,
    onLife: (life: Life, index: number) => void = () => {},
  ): Promise<LaneReport> {
    let kills = 0;
    const unreached: string[] = [];
    await this.#killServer();
    for (const [index, life] of [...lives, lastLife].entries()) {
      if (signal.aborted) break;
      onLife(life, index);
      const story = `life ${index}, ${life.killAt ?? 'the last one'}`;
      try {
        const died = await this.#liveOnce(life);
        if (life.leavesWork) await this.#killServer();
        if (life.killAt === undefined) continue;
        kills += 1;
        if (!died) {
          unreached.push(life.killAt);
          await this.#killServer();
        }
      } catch (error) {
        throw new Error(`${story}: ${(error as Error).message}\n${this.#server?.log.slice(-4000) ?? ''}`, {
          cause: error,
        });
      }
    }
    await this.#expectWholeAudit();
    return { kills, unreached };
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.person.close();
    this.runner.close();
    await Promise.all([this.#server?.kill(), this.#spare.kill(), this.#model.close()]);
    await this.database.close();
  }

  /** Runs one server process. Returns whether it died at its point. */
  async #liveOnce(life: Life): Promise<boolean> {
    await this.#rememberStoredSteps();
    // On PostgreSQL another server could hold a run until its lease ends; here there is no other server.
    await this.database.query("update runs set lease_until = 0 where status = 'running' returning id");
    await this.#expireWithin(expiresSoonMs);
    if (life.runnerComesLate || life.runnerStaysAway) {
      this.runner.disconnect();
      // Long enough ago that its lease is over: on a shared database a lease outlives its server.
      await this.database.query('update runners set connected = (1 = 0) returning id');
    }
    const server = await this.#startServer(life.killAt);
    const isAway = life.runnerComesLate || life.runnerStaysAway || life.goesOn;
    if (!isAway && !this.runner.isThere) void this.runner.connect();
    const working = this.#work(life, server);
    const isOver = working.then(() => (life.killAt === undefined ? undefined : pause(pointDelayMs)));
    const died = await Promise.race([server.ended.then(() => true), isOver.then(() => false)]);
    if (!died) return false;
    await working.catch(() => {});
    const errors = server.log.split('\n').filter((line) => line !== '' && !line.includes('tool call failed'));
    if (errors.length > 0) throw new Error('the server logged errors');
    return true;
  }

  async #work(life: Life, server: ServerProcess): Promise<void> {
    const batches = life.killAt === undefined || life.goesOn ? 1 : batchesOfALife;
    for (let batch = 0; batch < batches && server.isRunning; batch++) {
      const waits = life.runnerComesLate || life.runnerStaysAway || life.goesOn;
      if (!waits) await this.#finishWork();
      if (!life.goesOn) await this.#makeCalls(life);
      // Work without a response continues with the next process.
      await Promise.race([life.during?.(this), server.ended]);
      if (life.runnerComesLate) await Promise.race([this.runner.connect(), server.ended]);
      if (!life.leavesWork) await this.#finishWork();
    }
  }

  /** Makes the calls. A call that is lost with the server is not repeated. */
  async #makeCalls({ plans = usualPlans, runs = true }: Life): Promise<void> {
    const batch = ++this.#batch;
    const { client } = this.person;
    const params = { project_id: this.#projectId };
    const newSession = async () => (await client.createSession({ params, body: {} })).session.session_id;
    const call = async (session_id: string, path: string) => {
      const isRead = ['read', 'flaky', 'nobody'].includes(planOf(path));
      const tool_params = isRead ? { path } : { path, content: 'x' };
      const tool_name = isRead ? 'read_file' : 'write_file';
      const { tool_id } = await client.executeTool({ body: { tool_name, tool_params, session_id } });
      this.#accepted.push(tool_id);
    };
    const say = async (content: string) => {
      const session_id = await newSession();
      await client.sendMessage({ params, body: { content, session_id } });
    };
    await this.#send(async () => {
      const session = await newSession();
      for (const plan of plans) void this.#send(() => call(session, `${plan}-${batch}.md`));
    });
    if (!runs) return;
    void this.#send(() => say(`work ${batch}`));
    void this.#send(() => say(`stop ${batch}`));
  }

  /** Brings the deadline of unanswered requests near. The server reads it when it starts. */
  async #expireWithin(ms: number): Promise<void> {
    await this.database.query(
      `update approvals set deadline_at = $1 where status = 'pending' and tool_id in
        (select id from tool_executions where cast(tool_params as text) like '%expire-%') returning id`,
      Date.now() + ms,
    );
  }

  /** Waits until a query finds a row. For use in `during`. */
  async untilStored(sql: string): Promise<void> {
    const isThere = async () => (await this.database.query(sql)).length > 0;
    await until(async () => this.#server?.isRunning === false || (await isThere()), {
      otherwise: () => `nothing was stored: ${sql}`,
    });
  }

  /** Sends once: no response means that the server died, and a person would look before repeating. */
  #send(send: () => Promise<unknown>): Promise<unknown> {
    const sent = send().catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 0)
        this.#problems.push(`refused: ${String(error)}`);
    });
    this.#sending.add(sent);
    return sent.finally(() => this.#sending.delete(sent));
  }

  /** Waits until every call and run has ended and every event arrived, then checks that all ended as planned. */
  async #finishWork(): Promise<void> {
    const server = this.#server;
    await until(async () => server?.isRunning === false || (await this.#isIdle()), {
      within: workMs,
      otherwise: async () => `the work does not end: ${await this.#describe()}`,
    });
    if (server?.isRunning === false) throw new Error('the server died');
    const { database, person, runner } = this;
    const problems = [
      ...this.#problems,
      ...(await findProblems(userId, { database, person, runner, withAudit: this.#batch % 10 === 0 })),
      ...(await this.#findOddEnds()),
    ];
    if (problems.length > 0 && server?.isRunning) throw new Error(problems.join('\n'));
  }

  async #expectWholeAudit(): Promise<void> {
    const problems = await findAuditProblems(this.database, userId, this.runner.auditHead);
    if (problems.length > 0) throw new Error(problems.join('\n'));
  }

  async #isIdle(): Promise<boolean> {
    if (this.#sending.size > 0 || this.#unsettled.size > 0) return false;
    const [open] = await this.database.query(
      `select (select count(*) from tool_executions where completed_at is null) as calls,
              (select count(*) from runs where status = 'running') as runs,
              (select coalesce(max(event_id), 0) from counters) as newest`,
    );
    if (Number(open?.calls) > 0 || Number(open?.runs) > 0) return false;
    const newest = this.person.ids().at(-1) ?? 0;
    if (newest >= Number(open?.newest)) return true;
    // The last events may be signals, which go only to the runner.
    const isPostgres = this.database.url.startsWith('postgres');
    const [rest] = await this.database.query(
      `select count(*) as n from events where id > $1 and ${isPostgres ? 'event::text' : 'event'} not like '%tool.execution_signal%'`,
      newest,
    );
    return Number(rest?.n) === 0;
  }

  /** Every call ended as its file name says, and no accepted call is missing. */
  async #findOddEnds(): Promise<string[]> {
    const rows = await this.database.query('select id, status, tool_params, error_type from tool_executions');
    const known = new Set(rows.map(({ id }) => String(id)));
    const lost = this.#accepted
      .filter((id) => !known.has(id))
      .map((id) => `call ${id} was accepted and is lost`);
    const odd = rows.flatMap(({ id, status, tool_params, error_type }) => {
      const params = (typeof tool_params === 'string' ? JSON.parse(tool_params) : tool_params) as {
        path: string;
      };
      const planned = plannedEnds[planOf(params.path)];
      return status === planned
        ? []
        : [`${params.path} (${id}) is ${status} ${error_type ?? ''}, not ${planned}`];
    });
    return [...lost, ...odd];
  }

  /** Records which answers of the model are stored: it must never be asked for them again (AG-2). */
  async #rememberStoredSteps(): Promise<void> {
    const rows = await this.database.query(
      `select a.id as answer, u.content as said from messages a
         join messages u on u.run_id = a.run_id and u.role = 'user'
         where a.role = 'assistant' and ${this.database.url.startsWith('postgres') ? 'a.complete' : 'a.complete = 1'}`,
    );
    for (const { answer, said } of rows) this.#storedSteps.add(`${said}#${String(answer).split('-').at(-1)}`);
  }

  async #startServer(killAt: string | undefined): Promise<ServerProcess> {
    const server = this.#spare;
    this.#server = server;
    const settings = { port: this.#port, database: this.database.url, modelUrl: this.#model.url, killAt };
    await server.serve(settings);
    this.#spare = new ServerProcess();
    return server;
  }

  async #killServer(): Promise<void> {
    await this.#server?.kill();
  }

  async #describe(): Promise<string> {
    const calls = await this.database.query(
      'select id, status, attempt, runner_id, cancel_requested, tool_params from tool_executions where completed_at is null',
    );
    const runs = await this.database.query("select id, step, lease_until from runs where status = 'running'");
    return JSON.stringify({ calls, runs, sending: this.#sending.size, unsettled: [...this.#unsettled] });
  }
}
