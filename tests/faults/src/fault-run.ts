import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAiCompatibleServer } from '@countersign/testing';
import { LoadBalancer } from '../../lab/src/load-balancer.ts';
import { freePort } from '../../lab/src/server-process.ts';
import { pause, until } from '../../lab/src/waiting.ts';
import { agentModel } from './agent-model.ts';
import { type Build, patched } from './broken-builds.ts';
import { checkRun, type Participant } from './check-run.ts';
import { type ForcedFault, force } from './forced-fault.ts';
import { History } from './history.ts';
import { type Action, type CallKind, type Fault, type FaultKind, planOf } from './plan.ts';
import { Random } from './random.ts';
import { openRunDatabase, type RunDatabase } from './run-database.ts';
import { RunnerHost } from './runner-host.ts';
import { ServerNode } from './server-node.ts';
import { SimulatedPerson, tokenOf } from './simulated-person.ts';
import { type FillableDisk, limitFileSizes, mountSmallDisk } from './small-disk.ts';

export interface FaultRunOptions extends Build {
  readonly seed: number;
  /** How long people work and faults happen. The time to finish everything comes on top. */
  readonly ms: number;
  readonly nodes: number;
  readonly database: 'sqlite' | 'postgres';
  readonly users?: number;
  readonly everyMs?: number;
  readonly faultEveryMs?: number;
  readonly calls?: readonly CallKind[] | undefined;
  readonly faults?: readonly FaultKind[] | undefined;
  /** A fault that comes after the plan, while a run or call is under way. */
  readonly forced?: ForcedFault | undefined;
  /** A violation that must be found. It ends the run once it has lasted for `forMs` after the last fault. */
  readonly seeks?: { readonly finding: RegExp; readonly forMs: number };
  /** Aborting ends the run without checks and stops everything that was started. */
  readonly signal?: AbortSignal;
  /** Called with one line of progress. */
  readonly tell?: (line: string) => void;
}

export interface FaultReport {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly calls: number;
  /** How often each kind of fault happened. */
  readonly faults: Readonly<Record<string, number>>;
  /** How many requests each network fault happened to. */
  readonly requests: Readonly<Record<string, number>>;
  /** How many nodes were killed at their planned fault point. */
  readonly pointKills: number;
  /** The number of calls by final status and error. */
  readonly ends: Readonly<Record<string, number>>;
  /** The number of runs by status. */
  readonly runs: Readonly<Record<string, number>>;
  /** Faults that this machine does not allow, with reasons. */
  readonly skippedFaults: readonly string[];
  /** The folder with history and logs, if something was violated. */
  readonly folder: string | undefined;
}

const names = ['ada', 'bob', 'cyd', 'dan'];
export const maxUsers = names.length;
/** All started work must end within this: leases, retries and grace periods included, on a busy machine. */
const finishMs = 600_000;
const seekEveryMs = 500;
const expiresSoonMs = 4_000;

/** One run: start everything, work while planned faults happen, wait until all work ends, then check. */
export async function runFaults(options: FaultRunOptions): Promise<FaultReport> {
  const folder = mkdtempSync(join(tmpdir(), `countersign-faults-${options.seed}-`));
  chmodSync(folder, 0o711); // as root, PostgreSQL runs as another user and has to get through to its data
  const run = await FaultRun.open(options, folder);
  let isWorthKeeping = true;
  try {
    const report = await run.live();
    isWorthKeeping = report.violations.length > 0;
    return report;
  } catch (error) {
    if (options.signal?.aborted) isWorthKeeping = false;
    throw error;
  } finally {
    await run.close();
    if (!isWorthKeeping) rmSync(folder, { recursive: true, force: true });
  }
}

class FaultRun {
  readonly #options: FaultRunOptions;
  readonly #folder: string;
  readonly #history: History;
  readonly #database: RunDatabase;
  readonly #model: Awaited<ReturnType<typeof openAiCompatibleServer>>;
  readonly #nodes: readonly ServerNode[];
  readonly #balancer: LoadBalancer;
  readonly #participants: Participant[] = [];
  readonly #runnerDisks: FillableDisk[] = [];
  readonly #serverDisk: FillableDisk | undefined;
  readonly #skippedFaults: string[] = [];
  readonly #failing = new Set<Promise<unknown>>();
  #isDatabaseDown = false;

  private constructor(
    options: FaultRunOptions,
    folder: string,
    parts: {
      readonly history: History;
      readonly database: RunDatabase;
      readonly model: Awaited<ReturnType<typeof openAiCompatibleServer>>;
      readonly ports: readonly number[];
      readonly balancer: LoadBalancer;
    },
  ) {
    const { history, database, model, ports, balancer } = parts;
    this.#options = options;
    this.#folder = folder;
    this.#history = history;
    this.#database = database;
    this.#model = model;
    this.#balancer = balancer;
    const added = patched(options);
    this.#nodes = ports.map(
      (port, index) =>
        new ServerNode({
          index,
          port,
          database: database.url,
          modelUrl: model.url,
          publicOrigin: balancer.url,
          history,
          added,
        }),
    );
    model.script(agentModel(database, history, (node) => this.#nodes[node]?.hasJustResumed ?? false));
    this.#serverDisk = database.disk ?? this.#limitedServers();
    const users = names.slice(0, options.users ?? 2);
    for (const userId of users) this.#addParticipant(userId);
  }

  /** Starts everything. If something fails to start, what did start is stopped again. */
  static async open(options: FaultRunOptions, folder: string): Promise<FaultRun> {
    const history = new History(folder);
    const database = await openRunDatabase(options.database, folder);
    const model = await openAiCompatibleServer();
    const ports: number[] = [];
    for (let node = 0; node < options.nodes; node++) ports.push(await freePort());
    const random = new Random(options.seed ^ 0x51ed270b);
    const balancer = await LoadBalancer.open(() => random.next());
    balancer.use(ports);
    const run = new FaultRun(options, folder, { history, database, model, ports, balancer });
    try {
      await run.#untilListening();
      await Promise.all(run.#participants.map(({ person }) => person.signIn()));
      return run;
    } catch (error) {
      await run.close();
      throw error;
    }
  }

  async live(): Promise<FaultReport> {
    const { seed, ms, nodes, database, calls, faults } = this.#options;
    const { everyMs = 250, faultEveryMs = 2_500 } = this.#options;
    const users = this.#participants.length;
    const plan = planOf({ seed, ms, users, nodes, database, everyMs, faultEveryMs, calls, faults });
    writeFileSync(join(this.#folder, 'plan.json'), JSON.stringify(plan, null, 1));
    const { signal } = this.#options;
    signal?.throwIfAborted();
    const aborted = new Promise<never>((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    aborted.catch(() => {}); // avoid an unhandled rejection when nothing awaits it
    const startedAt = performance.now();
    for (const { at, action } of plan) {
      await Promise.race([pause(Math.max(0, at - (performance.now() - startedAt))), aborted]);
      this.#do(action);
    }
    await Promise.race([this.#force(), aborted]);
    const violations = await Promise.race([this.#finishWork(), aborted]);
    violations.push(...(await checkRun(this.#database, this.#history, this.#participants)));
    // A sought violation ended the run before the other work could end.
    const found = violations.filter((violation) => this.#options.seeks?.finding.test(violation));
    return this.#report(found.length > 0 ? found : violations);
  }

  async close(): Promise<void> {
    for (const { person } of this.#participants) person.close();
    await Promise.all([
      ...this.#participants.map(({ runner }) => runner.close()),
      ...this.#nodes.map((node) => node.close()),
    ]);
    await Promise.all([this.#balancer.close(), this.#model.close()]);
    // Open requests fail now that the servers are gone; their entries are written before the folder is removed.
    await Promise.all(this.#participants.flatMap(({ person }) => [...person.unsettled]));
    for (const [i, node] of this.#nodes.entries()) this.#keepLog(`node-${i}.log`, node.log);
    for (const { person, runner } of this.#participants) this.#keepLog(`${person.userId}.log`, runner.log);
    for (const disk of this.#runnerDisks) disk.close();
    await this.#database.close();
  }

  #addParticipant(userId: string): void {
    const folder = join(this.#folder, userId);
    const added = patched(this.#options);
    const serverUrl = this.#balancer.url;
    const mounted = mountSmallDisk(join(folder, 'home'), 64);
    const token = tokenOf(userId, 'person');
    const runner = new RunnerHost({ folder, serverUrl, token, added });
    this.#runnerDisks.push(mounted ?? limitFileSizes(() => [runner.pid].filter((pid) => pid !== undefined)));
    const person = new SimulatedPerson({ userId, baseUrl: serverUrl, history: this.#history, runner });
    this.#participants.push({ person, runner });
  }

  /** Without a mount, only SQLite's server can be kept from writing: PostgreSQL has processes of its own. */
  #limitedServers(): FillableDisk | undefined {
    if (this.#options.database === 'postgres') {
      this.#skippedFaults.push('server-disk-full: nothing can be mounted here');
      return undefined;
    }
    this.#skippedFaults.push(
      'a disk that is full (ENOSPC): nothing can be mounted, so file sizes are limited (EFBIG)',
    );
    return limitFileSizes(() => this.#nodes.flatMap(({ pid }) => pid ?? []));
  }

  #do(action: Action): void {
    const participant = (user: number) => (this.#participants[user] as Participant).person;
    if (action.do === 'call') participant(action.user).call(action.kind);
    else if (action.do === 'say') participant(action.user).say();
    else if (action.do === 'access-others') participant(action.user).tryToAccess(participant(action.other));
    else this.#fail(action.fault);
  }

  #fail(fault: Fault): void {
    const { kind, ...about } = fault;
    this.#history.add({ what: 'fault', kind, about: JSON.stringify(about) });
    this.#options.tell?.(`${kind} ${JSON.stringify(about)}`);
    const failing = this.#happen(fault)
      .catch((error: unknown) =>
        this.#history.add({
          what: 'wrong',
          problem: `the fault ${kind} could not be made: ${String(error)}`,
        }),
      )
      .finally(() => this.#failing.delete(failing));
    this.#failing.add(failing);
  }

  async #force(): Promise<void> {
    const { forced } = this.#options;
    const [participant] = this.#participants;
    if (forced === undefined || participant === undefined) return;
    this.#history.add({ what: 'fault', kind: forced, about: '' });
    await force(forced, { database: this.#database, nodes: this.#nodes, participant });
  }

  async #happen(fault: Fault): Promise<void> {
    switch (fault.kind) {
      case 'node-kill':
        return this.#node(fault.node).end('SIGKILL', fault.ms);
      case 'node-restart':
        return this.#node(fault.node).end('SIGTERM', fault.ms);
      case 'node-kill-at-point':
        return this.#node(fault.node).killAtPoint(fault.killAt);
      case 'node-pause':
        return this.#node(fault.node).pause(fault.ms);
      case 'clock-jump':
        return this.#node(fault.node).setClock(fault.offsetMs);
      case 'runner-kill':
        return this.#runner(fault.user).kill(fault.ms);
      case 'runner-replace':
        return this.#runner(fault.user).replace(fault.ms);
      case 'runner-pause':
        return this.#runner(fault.user).pause(fault.ms);
      case 'network':
        this.#balancer.faults = fault.networkFaults;
        await pause(fault.ms);
        return this.#balancer.stopFaults();
      case 'cut':
        return this.#balancer.cut();
      case 'server-disk-full':
        return this.#fillServerDisk(fault);
      case 'runner-disk-full': {
        const disk = this.#runnerDisks[fault.user];
        disk?.fill();
        await pause(fault.ms);
        return disk?.free();
      }
      case 'database-kill':
        return this.#isDatabaseDown ? this.#miss(fault) : this.#crashDatabase(fault.ms);
      case 'database-connections':
        if (this.#isDatabaseDown) return this.#miss(fault);
        return this.#database.endConnections().catch(() => {}); // this also ends our own connection
      case 'database-pause':
        return this.#isDatabaseDown ? this.#miss(fault) : this.#database.pause(fault.ms);
      case 'database-clock':
        if (this.#isDatabaseDown) return this.#miss(fault);
        return this.#database.jumpClock(fault.jumpMs).catch(() => this.#miss(fault)); // the database went down meanwhile
    }
  }

  /** Records a fault that could not happen because its target is down. */
  #miss({ kind }: Fault): void {
    this.#history.add({ what: 'missed', kind });
  }

  async #fillServerDisk(fault: Extract<Fault, { kind: 'server-disk-full' }>): Promise<void> {
    const disk = this.#serverDisk;
    if (disk === undefined || this.#isDatabaseDown) return this.#miss(fault);
    for (const node of this.#nodes) node.mayEnd = true;
    disk.fill();
    await pause(fault.ms);
    disk.free();
    // PostgreSQL ends when it cannot write its log: start it again, as an operator would.
    if (this.#options.database === 'postgres') await this.#crashDatabase(0);
    await pause(1_000);
    for (const node of this.#nodes) node.mayEnd = false;
  }

  async #crashDatabase(downMs: number): Promise<void> {
    if (this.#isDatabaseDown) return;
    this.#isDatabaseDown = true;
    await this.#database.crash(downMs);
    this.#isDatabaseDown = false;
  }

  /** Stops faults and new work, and waits until started work has ended. Returns what does not end. */
  async #finishWork(): Promise<string[]> {
    this.#options.tell?.('coming to rest');
    for (const { person } of this.#participants) person.stopStarting();
    await Promise.all(this.#failing);
    for (const node of this.#nodes) node.setClock(0);
    await this.#shortenDeadlines();
    try {
      const stands = new Map<string, number>();
      await until(async () => (await this.#isFound(stands)) || (await this.#findUnfinished()).length === 0, {
        within: finishMs,
        otherwise: async () => `it does not come to rest: ${(await this.#findUnfinished()).join('; ')}`,
      });
      return [];
    } catch (error) {
      return [(error as Error).message];
    } finally {
      for (const { person } of this.#participants) person.stopRetrying();
    }
  }

  /** True if the sought violation was found and has lasted long enough. `stands`: when each was first found. */
  async #isFound(stands: Map<string, number>): Promise<boolean> {
    const { seeks } = this.#options;
    if (!seeks) return false;
    await pause(seekEveryMs);
    const violations = await checkRun(this.#database, this.#history, this.#participants);
    const found = violations.filter((violation) => seeks.finding.test(violation));
    const now = performance.now();
    for (const known of stands.keys()) if (!found.includes(known)) stands.delete(known);
    for (const violation of found) if (!stands.has(violation)) stands.set(violation, now);
    return [...stands.values()].some((since) => now - since >= seeks.forMs);
  }

  /** Unanswered requests expire soon after all nodes restarted, instead of in ten minutes. */
  async #shortenDeadlines(): Promise<void> {
    const ignored = `status = 'pending' and tool_id in
      (select id from tool_executions where cast(tool_params as text) like '%ignore-%')`;
    if ((await this.#database.query(`select id from approvals where ${ignored}`)).length === 0) return;
    await Promise.all(this.#nodes.map((node) => node.end('SIGKILL', 1_000)));
    await this.#database.query(
      `update approvals set deadline_at = $1 where ${ignored} returning id`,
      (await this.#database.now()) + expiresSoonMs,
    );
    await this.#untilListening();
  }

  async #findUnfinished(): Promise<string[]> {
    const unrest: string[] = [];
    for (const { person } of this.#participants)
      if (person.unsettled.size > 0)
        unrest.push(`${person.userId} waits for ${person.unsettled.size} answers`);
    const calls = await this.#database.query(
      'select id, status, attempt, runner_id, tool_params from tool_executions where completed_at is null',
    );
    const runs = await this.#database.query("select id, step from runs where status = 'running'");
    if (calls.length + runs.length > 0) unrest.push(`not ended: ${JSON.stringify([...calls, ...runs])}`);
    if (unrest.length > 0) return unrest;
    const text = this.#options.database === 'postgres' ? 'event::text' : 'event';
    for (const { person } of this.#participants) {
      const [newest] = await this.#database.query(
        `select max(id) as id from events where user_id = $1 and ${text} not like '%tool.execution_signal%'`,
        person.userId,
      );
      for (const device of [person.phone, person.laptop]) {
        const has = device.ids().at(-1) ?? 0;
        if (has < Number(newest?.id))
          unrest.push(`a device of ${person.userId} is at event ${has} of ${newest?.id}`);
      }
    }
    return unrest;
  }

  async #report(violations: readonly string[]): Promise<FaultReport> {
    const rows = await this.#database.query(
      'select status, error_type, count(*) as n from tool_executions group by status, error_type',
    );
    const ends = Object.fromEntries(
      rows.map(({ status, error_type, n }) => [[status, error_type].filter(Boolean).join(' '), Number(n)]),
    );
    const runs = await this.#database.query('select status, count(*) as n from runs group by status');
    const faults: Record<string, number> = {};
    for (const { kind } of this.#history.all('fault')) faults[kind] = (faults[kind] ?? 0) + 1;
    for (const { kind } of this.#history.all('missed')) faults[kind] = (faults[kind] ?? 0) - 1;
    return {
      seed: this.#options.seed,
      violations,
      calls: Object.values(ends).reduce((sum, n) => sum + n, 0),
      faults,
      requests: this.#balancer.treated,
      pointKills: this.#nodes.reduce((sum, { pointKills }) => sum + pointKills, 0),
      ends,
      runs: Object.fromEntries(runs.map(({ status, n }) => [String(status), Number(n)])),
      skippedFaults: this.#skippedFaults,
      folder: violations.length === 0 ? undefined : this.#folder,
    };
  }

  async #untilListening(): Promise<void> {
    await until(() => this.#nodes.every(({ isListening }) => isListening), {
      otherwise: () =>
        `the servers do not start: ${this.#nodes.map(({ log }) => log.slice(-2_000)).join('\n')}`,
    });
  }

  #keepLog(name: string, log: string): void {
    mkdirSync(join(this.#folder, 'logs'), { recursive: true });
    writeFileSync(join(this.#folder, 'logs', name), log);
  }

  #node(index: number): ServerNode {
    return this.#nodes[index] as ServerNode;
  }

  #runner(user: number): RunnerHost {
    return (this.#participants[user] as Participant).runner;
  }
}
