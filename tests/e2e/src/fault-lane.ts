import { ApiError } from '@countersign/client';
import { type OpenAiCompatibleServer, openAiCompatibleServer } from '@countersign/testing';
import { findAuditProblems, findProblems } from '../../lab/src/invariants.ts';
import { RemotePerson } from '../../lab/src/remote-person.ts';
import { RemoteRunner } from '../../lab/src/remote-runner.ts';
import { freePort, ServerProcess } from '../../lab/src/server-process.ts';
import type { TestDatabase } from '../../lab/src/test-database.ts';
import { signToken } from '../../lab/src/tokens.ts';
import { pause, until } from '../../lab/src/waiting.ts';
import { actAsPlanned, plannedEnds, planOf, runnerScript, scriptedModel } from './fault-workload.ts';

export interface LaneReport {
  readonly kills: number;
  /** Points that the workload did not get to; the server was killed from outside then. */
  readonly unreached: readonly string[];
}

/** How a life of the server is arranged so that a point is reached. */
export interface Life {
  /** Such as `approve.committed:1`; undefined: it lives on. */
  readonly killAt: string | undefined;
  /** Which calls are made, by what becomes of them; the usual ones unless told. */
  readonly plans?: readonly string[];
  /** With the agent's runs; unless told otherwise. */
  readonly runs?: boolean;
  /** The runner comes back only when the calls are made. */
  readonly runnerComesLate?: boolean;
  /** The runner does not come back. */
  readonly runnerStaysAway?: boolean;
  /** Once the calls are made. */
  readonly during?: (lane: FaultLane) => Promise<unknown>;
  /** The work of the life before is still under way, and goes on. */
  readonly goesOn?: boolean;
  /** What was begun is left as it is: the server is killed from outside, and the next life finds it. */
  readonly leavesWork?: boolean;
}

const usualPlans = ['read', 'approve', 'reject', 'withdraw', 'slow', 'stale', 'edit'];
/** How often a life is given new work until it gets to its point. */
const batchesOfALife = 4;
/** Leases, retries and the 30 s of grace after a slow start (AP-3) included. */
const workMs = 240_000;
const expiresSoonMs = 3_000;
/** We see in the database that all is done before the server has got to the point after that commit. */
const lastGaspMs = 500;

const userId = 'ada';
const lastLife: Life = { killAt: undefined };

/**
 * One database and its people, over many lives of the server: each life finishes the work of the one before, is given
 * new work, and is killed at its point. The person's and the runner's programs live on and reconnect.
 */
export class FaultLane {
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

  static async open(database: TestDatabase): Promise<FaultLane> {
    const lane = new FaultLane(database, await freePort(), await openAiCompatibleServer());
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
    // Where no runner was ever known, a plain listener would be told to execute (EV-3).
    await lane.untilStored('select id from runners');
    return lane;
  }

  /** Lives through all of them. Throws at the first thing that is wrong, with the life that showed it. */
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

  /** One life of the server. Answers whether it died by itself. */
  async #liveOnce(life: Life): Promise<boolean> {
    await this.#rememberStoredSteps();
    // On PostgreSQL others may hold a run until its lease ends; here nobody is left who could.
    await this.database.query("update runs set lease_until = 0 where status = 'running' returning id");
    await this.#expireWithin(expiresSoonMs);
    if (life.runnerComesLate || life.runnerStaysAway) {
      this.runner.disconnect();
      // Long enough ago that its lease is over: where several servers share the database, a lease outlives a server.
      await this.database.query('update runners set connected = (1 = 0) returning id');
    }
    const server = await this.#startServer(life.killAt);
    const isAway = life.runnerComesLate || life.runnerStaysAway || life.goesOn;
    if (!isAway && !this.runner.isThere) void this.runner.connect();
    const working = this.#work(life, server);
    const isOver = working.then(() => (life.killAt === undefined ? undefined : pause(lastGaspMs)));
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
      // What nobody answers any more goes on in the next life.
      await Promise.race([life.during?.(this), server.ended]);
      if (life.runnerComesLate) await Promise.race([this.runner.connect(), server.ended]);
      if (!life.leavesWork) await this.#finishWork();
    }
  }

  /** The calls of a life. Whatever is lost with the server on the way is not made again. */
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

  /** Brings the deadline of what nobody answers near. The server learns of it when it starts. */
  async #expireWithin(ms: number): Promise<void> {
    await this.database.query(
      `update approvals set deadline_at = $1 where status = 'pending' and tool_id in
        (select id from tool_executions where cast(tool_params as text) like '%expire-%') returning id`,
      Date.now() + ms,
    );
  }

  /** For a life's `during`. */
  async untilStored(sql: string): Promise<void> {
    const isThere = async () => (await this.database.query(sql)).length > 0;
    await until(async () => this.#server?.isRunning === false || (await isThere()), {
      otherwise: () => `nothing was stored: ${sql}`,
    });
  }

  /** Sends once: an answer that does not come is the server's death, and the person would look before repeating. */
  #send(send: () => Promise<unknown>): Promise<unknown> {
    const sent = send().catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 0)
        this.#problems.push(`refused: ${String(error)}`);
    });
    this.#sending.add(sent);
    return sent.finally(() => this.#sending.delete(sent));
  }

  /** Until every call and run has ended and everybody knows; then everything must be as it was planned. */
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
    const problems = await findAuditProblems(this.database, userId, this.runner.witness);
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
    // The last ones may be signals, which are the runner's.
    const isPostgres = this.database.url.startsWith('postgres');
    const [rest] = await this.database.query(
      `select count(*) as n from events where id > $1 and ${isPostgres ? 'event::text' : 'event'} not like '%tool.execution_signal%'`,
      newest,
    );
    return Number(rest?.n) === 0;
  }

  /** Every call ended as its name says, and none that was accepted is missing. */
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

  /** Which answers of the model are stored: it must never be asked for them again (AG-2). */
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
