import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ApiError, type CallResponse, type Client, createClient } from '@countersign/client';
import { type EventPayload, findTool, isFinal, type JsonValue, resultSchemaOf } from '@countersign/protocol';
import { RemotePerson } from '../../../lab/src/remote-person.ts';
import { asUser, RunnerProcess } from '../../../lab/src/runner-process.ts';
import { type AddedToProcess, freePort, ServerProcess } from '../../../lab/src/server-process.ts';
import { sqliteDatabase, type TestDatabase } from '../../../lab/src/test-database.ts';
import { signToken } from '../../../lab/src/tokens.ts';
import { until } from '../../../lab/src/waiting.ts';
import { newSession } from '../server-story.ts';

export type Card = EventPayload<'approval.updated'>;
type Execution = CallResponse<'getExecution'>['execution'];

/** How a call ended, as the agent sees it. */
export interface Ended {
  readonly toolId: string;
  /** `refused` if the server responded with an error at once. */
  readonly status: Execution['status'] | 'refused';
  // biome-ignore lint/suspicious/noExplicitAny: each tool has its own result type
  readonly result: any;
  readonly code: string | undefined;
  readonly message: string;
}

export interface RunnerStoryOptions {
  /** The user that the runner runs as; by default the user of the tests. */
  readonly uid?: number | undefined;
  /** Existing folders, which the caller removes. */
  readonly folders?: { readonly root: string; readonly outside: string };
}

/** The real server in its own process, for several stories. */
export class RunnerServer {
  readonly database: TestDatabase = sqliteDatabase();
  readonly #port: number;
  readonly #modelUrl: string | undefined;
  #server = new ServerProcess();

  private constructor(port: number, modelUrl: string | undefined) {
    this.#port = port;
    this.#modelUrl = modelUrl;
  }

  /** With the URL of a model, the server's own agent can be used. */
  static async start(modelUrl?: string): Promise<RunnerServer> {
    const server = new RunnerServer(await freePort(), modelUrl);
    await server.#serve();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Kills the server like a power cut and starts it again. */
  async crash(between: () => Promise<unknown> = async () => {}): Promise<void> {
    await this.#server.kill();
    await between();
    this.#server = new ServerProcess();
    await this.#serve();
  }

  async close(): Promise<void> {
    await this.#server.kill();
    await this.database.close();
  }

  async #serve(): Promise<void> {
    const modelUrl = this.#modelUrl;
    await this.#server.serve({ port: this.#port, database: this.database.url, modelUrl });
  }
}

/**
 * One person's machine: a real workspace, its runner in its own process, an agent that calls tools over REST, and the
 * person, who decides over REST.
 */
export class RunnerStory {
  readonly server: RunnerServer;
  readonly parent: string;
  readonly root: string;
  readonly home: string;
  readonly outside: string;
  readonly changeLog: string;
  readonly uid: number | undefined;
  readonly person: RemotePerson;
  readonly agent: Client;
  readonly #token: string;
  readonly #agentToken: string;
  projectId = '';
  sessionId = '';
  runner!: RunnerProcess;
  #next: RunnerProcess | undefined;
  readonly #others: RunnerProcess[] = [];

  private constructor(server: RunnerServer, userId: string, { uid, folders }: RunnerStoryOptions) {
    this.server = server;
    this.uid = uid;
    this.parent = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-runner-story-')));
    chmodSync(this.parent, 0o755);
    this.root = folders?.root ?? join(this.parent, 'workspace');
    this.home = join(this.parent, 'home');
    this.outside = folders?.outside ?? join(this.parent, 'outside');
    this.changeLog = join(this.parent, 'changeLog.log');
    for (const folder of [this.root, this.home, this.outside])
      this.#own(folder, () => mkdirSync(folder, { recursive: true }));
    this.#own(this.changeLog, () => writeFileSync(this.changeLog, ''));
    this.write(join(this.home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n');
    this.#token = signToken(userId, 'person');
    this.#agentToken = signToken(userId, 'agent');
    this.person = new RemotePerson(server.url, this.#token);
    this.agent = createClient({ baseUrl: server.url, token: () => this.#agentToken });
  }

  static async open(
    server: RunnerServer,
    userId: string,
    options: RunnerStoryOptions = {},
  ): Promise<RunnerStory> {
    const story = new RunnerStory(server, userId, options);
    const { project } = await story.person.client.createProject({
      body: { name: 'p', workspace: story.root },
    });
    story.projectId = project.project_id;
    story.sessionId = await newSession(story.person.client, story.projectId);
    await story.person.connect();
    return story;
  }

  /** A process that has not connected yet; by default with this story's runner settings. */
  prepare(
    args: readonly string[] = [],
    { home = this.home, added }: { readonly home?: string; readonly added?: AddedToProcess } = {},
  ): RunnerProcess {
    const { root, changeLog, uid, server } = this;
    const process = new RunnerProcess({
      root,
      home,
      changeLog,
      uid,
      serverUrl: server.url,
      token: this.#token,
      args,
      added,
    });
    this.#others.push(process);
    return process;
  }

  /** Starts the next runner process: the prepared one, if there is one. */
  async startRunner({
    prepareNext = false,
  }: {
    readonly prepareNext?: boolean;
  } = {}): Promise<RunnerProcess> {
    this.runner = this.#next ?? this.prepare();
    this.#next = undefined;
    await this.runner.connect();
    if (prepareNext) this.#next = this.prepare();
    return this.runner;
  }

  /** Calls a tool as an agent, and approves every request. The result has the shape that the catalogue says. */
  async call(tool: string, params: object, { session = this.sessionId } = {}): Promise<Ended> {
    const asked = await this.ask(tool, params, { session });
    if (typeof asked !== 'string') return asked;
    return this.approvedToTheEnd(asked);
  }

  /** A call that needs no approval; its result usually comes with the response. */
  async callAtOnce(tool_name: string, tool_params: Record<string, JsonValue>): Promise<Ended> {
    const body = { tool_name, tool_params, session_id: this.sessionId };
    const answer = await this.agent.executeTool({ body });
    if (!isFinal(answer.status)) return this.untilFinal(answer.tool_id);
    const { code, message = '' } = answer.error ?? {};
    return { toolId: answer.tool_id, status: answer.status, result: answer.result, code, message };
  }

  /** The id of the call, or its refusal. */
  async ask(tool: string, params: object, { session = this.sessionId } = {}): Promise<string | Ended> {
    const body = { tool_name: tool, tool_params: params as Record<string, JsonValue>, session_id: session };
    try {
      return (await this.agent.executeTool({ body })).tool_id;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { toolId: '', status: 'refused', result: null, code: error.code, message: error.message };
    }
  }

  async approvedToTheEnd(toolId: string): Promise<Ended> {
    const decided = new Set<string>();
    const isFinalNow = () =>
      this.person.all('tool.result').some((result) => result.tool_id === toolId && !result.undo_id);
    await until(
      async () => {
        if (isFinalNow()) return true;
        const card = this.cardOf(toolId);
        if (card && !decided.has(`${card.approval_id} ${card.digest}`)) {
          decided.add(`${card.approval_id} ${card.digest}`);
          await this.approve(card);
        }
        return false;
      },
      {
        otherwise: async () =>
          `${toolId} does not end: ${shortened(await this.look(toolId))}\n${this.runner.log}`,
      },
    );
    return this.ended(toolId);
  }

  /** The newest pending card of a call that has a preview. */
  cardOf(toolId: string): Card | undefined {
    const isOver = (id: string) =>
      this.person.all('approval.resolved').some(({ approval_id }) => approval_id === id);
    return this.person
      .all('approval.updated')
      .findLast((card) => card.tool_id === toolId && card.digest !== null && !isOver(card.approval_id));
  }

  async card(toolId: string, fits: (card: Card) => boolean = () => true): Promise<Card> {
    let found: Card | undefined;
    await until(
      () => {
        found = this.cardOf(toolId);
        return found !== undefined && fits(found);
      },
      {
        otherwise: async () => `No card of ${shortened(await this.look(toolId))}\n${this.runner.log}`,
      },
    );
    return found as Card;
  }

  async approve({ approval_id, project_id, digest }: Card, more: object = {}): Promise<void> {
    await this.person.client.approve({
      params: { approval_id, project_id },
      body: { digest: String(digest), ...more },
    });
  }

  /** Waits until a call has ended, and decides nothing. */
  async untilFinal(toolId: string): Promise<Ended> {
    await until(async () => isFinal((await this.look(toolId)).execution.status), {
      otherwise: async () =>
        `${toolId} does not end: ${shortened(await this.look(toolId))}\n${this.runner.log}`,
    });
    return this.ended(toolId);
  }

  async untilStatus(toolId: string, status: Execution['status']): Promise<void> {
    await until(async () => (await this.look(toolId)).execution.status === status, {
      otherwise: async () =>
        `${toolId} is not ${status}: ${JSON.stringify(await this.look(toolId))}\n${this.runner.log}`,
    });
  }

  look(tool_id: string): Promise<CallResponse<'getExecution'>> {
    return this.agent.getExecution({ params: { tool_id } });
  }

  async ended(toolId: string): Promise<Ended> {
    const { execution, result } = await this.look(toolId);
    const definition = findTool(execution.tool_name);
    if (definition && result !== null) resultSchemaOf(definition).parse(result);
    const { code, message = '' } = execution.error ?? {};
    return { toolId, status: execution.status, result, code, message };
  }

  /** Undoes a call as the person; resolves with the result. */
  async undo(tool_id: string, { force = false } = {}): Promise<EventPayload<'tool.result'>> {
    const { undo_id } = await this.person.client.undoExecution({ params: { tool_id }, body: { force } });
    return this.person.next('tool.result', (result) => result.undo_id === undo_id);
  }

  at(path: string): string {
    return path.startsWith('/') ? path : join(this.root, path);
  }

  /** Writes a file as the person's editor would. */
  write(path: string, content: string | Uint8Array, mode = 0o644): void {
    const target = this.at(path);
    this.#own(dirname(target), () => mkdirSync(dirname(target), { recursive: true }));
    this.#own(target, () => writeFileSync(target, content, { mode }));
    chmodSync(target, mode);
  }

  read(path: string): string {
    return readFileSync(this.at(path), 'utf8');
  }

  /** Runs a program as the person, in the workspace. */
  run(command: string, ...args: string[]): string {
    const [program = '', ...rest] = [...(this.uid === undefined ? [] : asUser(this.uid)), command, ...args];
    return execFileSync(program, rest, {
      cwd: this.root,
      env: { PATH: process.env.PATH, HOME: this.home, GIT_CONFIG_NOSYSTEM: '1' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  git(...args: string[]): string {
    return this.run('git', ...args);
  }

  /** Command lines of processes that run in the workspace, or are about to. */
  processes(): string[] {
    return readdirSync('/proc').flatMap((pid) => {
      if (!/^\d+$/.test(pid)) return [];
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return line.includes(this.root) || readlinkSync(`/proc/${pid}/cwd`).startsWith(this.root)
          ? [line]
          : [];
      } catch {
        return []; // the process has ended meanwhile
      }
    });
  }

  /** Every change of the workspace by all runner processes, line by line. */
  recordedChanges(): string[] {
    return readFileSync(this.changeLog, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  }

  async close(): Promise<void> {
    this.person.close();
    await Promise.all(this.#others.map((process) => process.end('SIGKILL')));
    chmodSync(this.parent, 0o700);
    rmSync(this.parent, { recursive: true, force: true });
  }

  #own(path: string, make: () => void): void {
    make();
    if (this.uid !== undefined && path.startsWith(`${this.parent}/`)) chownSync(path, this.uid, this.uid);
  }
}

/** The reason why no process can run as an ordinary user here; undefined if one can. */
export function whyNotAs(uid: number): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can start a program as another user';
  const [program = '', ...args] = [...asUser(uid), process.execPath, '-e', '0'];
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8', cwd: '/' });
  return status === 0 ? undefined : (error?.message ?? stderr);
}

const shortened = (record: object): string => JSON.stringify(record).slice(0, 2_000);
