import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type OpenAiCompatibleServer, openAiCompatibleServer, type WireTurn } from '@countersign/testing';
import { EventSource } from 'eventsource';
import { freePort, ServerProcess } from '../../../lab/src/server-process.ts';
import type { TestDatabase } from '../../../lab/src/test-database.ts';
import { signToken } from '../../../lab/src/tokens.ts';
import { until } from '../../../lab/src/waiting.ts';
import { executeToolsIn } from './local-tools.ts';
import { type SampleEventSource, startSampleClient } from './sample-client.ts';

export type Json = Readonly<Record<string, unknown>>;
export interface Answer {
  readonly status: number;
  readonly body: Json;
}
export interface SeenEvent {
  readonly name: string;
  readonly data: Json;
}

/** Every event that the documents name, as the specification spells it (EV-1). */
const eventNames = [
  'tool.approval_request',
  'tool.execution_signal',
  'tool.result_ack',
  'tool.call',
  'tool.progress',
  'tool.result',
  'file.changed',
  'agent.state',
  'message.created',
  'approval.updated',
  'approval.resolved',
] as const;

/** The real server with a scripted model behind its agent, and people who use only what the documents describe. */
export class DocumentFixture {
  readonly database: TestDatabase;
  readonly #port: number;
  readonly #model: OpenAiCompatibleServer;
  readonly #people: Person[] = [];
  #server = new ServerProcess();

  private constructor(database: TestDatabase, port: number, model: OpenAiCompatibleServer) {
    this.database = database;
    this.#port = port;
    this.#model = model;
  }

  static async open(database: TestDatabase): Promise<DocumentFixture> {
    const fixture = new DocumentFixture(database, await freePort(), await openAiCompatibleServer());
    await fixture.#serve();
    return fixture;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Creates a person with one project, whose workspace is a real folder. */
  async person(files: Readonly<Record<string, string>> = {}): Promise<Person> {
    const person = new Person(this, `person-${this.#people.length}`);
    this.#people.push(person);
    await person.move(files);
    return person;
  }

  /** Sets the model's turns for conversations that begin with this text. */
  script(said: string, turns: readonly WireTurn[]): void {
    this.#scripts.set(said, turns);
    this.#model.script(({ body }) => {
      const spoken = JSON.stringify(body.messages.find(({ role }) => role === 'user')?.content);
      const [, script = []] = [...this.#scripts].find(([text]) => spoken.includes(text)) ?? [];
      const answered = body.messages.filter(({ role }) => role === 'assistant').length;
      return script[answered] ?? { status: 400, message: 'The script has ended.' };
    });
  }
  readonly #scripts = new Map<string, readonly WireTurn[]>();

  /** The tool results that the model received in that conversation. */
  told(said: string): Json[] {
    const request = this.#model.requests.findLast(({ body }) => JSON.stringify(body.messages).includes(said));
    return (request?.body.messages ?? [])
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => {
        const text = String(content);
        return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)) as Json;
      });
  }

  /** Kills the server, calls `between`, and starts the server again. */
  async restart(between: () => Promise<unknown>): Promise<void> {
    await this.#server.kill();
    await between();
    this.#server = new ServerProcess();
    await this.#serve();
  }

  async close(): Promise<void> {
    for (const person of this.#people) await person.leave();
    await Promise.all([this.#server.kill(), this.#model.close()]);
    await this.database.close();
  }

  async #serve(): Promise<void> {
    await this.#server.serve({
      port: this.#port,
      database: this.database.url,
      modelUrl: this.#model.url,
      executeWaitMs: 30_000, // so that `execute` answers with the outcome of a call that needs no approval
    });
  }
}

export interface Dialog {
  readonly toolName: string;
  readonly riskLevel: string;
  readonly timeoutSeconds: number;
}

/** One person: their token, project, workspace and streams, over plain `fetch` and `EventSource`. */
export class Person {
  readonly workspace = mkdtempSync(join(tmpdir(), 'countersign-documents-'));
  /** Every event of their streams, in order. */
  readonly seen: SeenEvent[] = [];
  /** The dialogs that the sample client showed, and its log. */
  readonly dialogs: Dialog[] = [];
  readonly logged: string[] = [];
  projectId = '';
  readonly token: string;
  readonly #fixture: DocumentFixture;
  readonly #userId: string;
  readonly #toClose: (() => unknown)[] = [];

  constructor(fixture: DocumentFixture, userId: string) {
    this.#fixture = fixture;
    this.#userId = userId;
    this.token = signToken(userId, 'person');
  }

  get userId(): string {
    return this.#userId;
  }

  async move(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, content] of Object.entries(files)) this.write(path, content);
    const { body } = await this.post('/my/projects', { name: 'documents', workspace: this.workspace });
    this.projectId = String((body.project as Json).project_id);
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.workspace, path)), { recursive: true });
    writeFileSync(join(this.workspace, path), content);
  }

  /** Registers a cleanup for when the person leaves; the newest runs first. */
  onLeave(close: () => unknown): void {
    this.#toClose.unshift(close);
  }

  async leave(): Promise<void> {
    for (const close of this.#toClose.splice(0)) await close();
    rmSync(this.workspace, { recursive: true, force: true });
  }

  get(path: string, token = this.token): Promise<Answer> {
    return this.#answer(fetch(this.url(path), { headers: { authorization: `Bearer ${token}` } }));
  }

  post(path: string, body: unknown, token = this.token): Promise<Answer> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return this.#answer(fetch(this.url(path), { method: 'POST', headers, body: JSON.stringify(body) }));
  }

  /** A POST with exactly this content type: `fetch` would add one. */
  postAs(path: string, body: unknown, contentType: string | undefined): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${this.token}`,
      ...(contentType !== undefined && { 'content-type': contentType }),
    };
    return new Promise((resolve, reject) => {
      const sent = httpRequest(this.url(path), { method: 'POST', headers }, async (response) => {
        let text = '';
        for await (const chunk of response.setEncoding('utf8')) text += chunk;
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Json });
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });
  }

  /** The path within this person's project. */
  inProject(path: string): string {
    return `/my/projects/${this.projectId}${path}`;
  }

  url(path: string): string {
    return `${this.#fixture.baseUrl}${path}`;
  }

  async #answer(sent: Promise<Response>): Promise<Answer> {
    const response = await sent;
    return { status: response.status, body: (await response.json()) as Json };
  }

  execute(tool_name: string, tool_params: Json, more: Json = {}): Promise<Answer> {
    return this.post('/my/tools/execute', { tool_name, tool_params, ...more });
  }

  /** The stored call, as `GET /my/tools/{tool_id}` has it. */
  async call(toolId: unknown): Promise<Json> {
    return (await this.get(`/my/tools/${toolId}`)).body.execution as Json;
  }

  async untilStatus(toolId: unknown, status: string): Promise<Json> {
    await until(async () => (await this.call(toolId)).status === status, {
      otherwise: async () => `not ${status}: ${JSON.stringify(await this.call(toolId))}`,
    });
    return this.call(toolId);
  }

  /** Opens the project's stream; resolves when it is open. */
  async listen(): Promise<void> {
    await this.#isOpen(this.#openStream(this.inProject('/chat/stream'), this.token));
  }

  /** Opens the stream of one of their runners; its events go only to `take`. */
  async listenAsRunner(query: string, token: string, take: (event: SeenEvent) => void): Promise<void> {
    await this.#isOpen(this.#openStream(this.inProject(`/chat/stream?${query}`), token, take));
  }

  /** Starts the sample client with this dialog. By default the tools run in the workspace. */
  async startSampleClient(
    showDialog: (dialog: Dialog) => boolean = () => true,
    executeToolLocally: (name: string, params: Json) => Promise<unknown> = executeToolsIn(this.workspace),
  ): Promise<void> {
    const { token, logged, dialogs } = this;
    const open = (path: string) => this.#openStream(path, token);
    const source = startSampleClient({
      EventSource: class {
        constructor(path: string) {
          // biome-ignore lint/correctness/noConstructorReturn: the sample calls `new` and gets a real EventSource
          return open(path);
        }
      } as new (
        path: string,
      ) => SampleEventSource,
      fetch: (path, init) =>
        fetch(this.url(path), { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } }),
      console: { log: (line: string) => logged.push(line) },
      projectId: this.projectId,
      showApprovalDialog: (toolName, riskLevel, timeoutSeconds) => {
        dialogs.push({ toolName, riskLevel, timeoutSeconds });
        return showDialog({ toolName, riskLevel, timeoutSeconds });
      },
      executeToolLocally,
    });
    await this.#isOpen(source as EventSource);
  }

  /** Sends a chat message to the agent, whose model plays these turns; returns its last answer and what it was told. */
  async ask(said: string, turns: readonly WireTurn[]): Promise<{ readonly answer: string; told: Json[] }> {
    this.#fixture.script(said, turns);
    const { body } = await this.post(this.inProject('/chat/messages'), { content: said });
    await this.next('agent.state', (data) => data.run_id === body.run_id && data.state === 'idle');
    const { body: conversation } = await this.get(
      this.inProject(`/chat/messages?session_id=${body.session_id}`),
    );
    const messages = conversation.messages as Json[];
    return { answer: String(messages.at(-1)?.content), told: this.#fixture.told(said) };
  }

  all(name: string, of: (data: Json) => boolean = () => true): Json[] {
    return this.seen.filter((event) => event.name === name && of(event.data)).map(({ data }) => data);
  }

  /** The first matching event, including those that arrived already. */
  async next(name: string, of: (data: Json) => boolean = () => true): Promise<Json> {
    await until(() => this.all(name, of).length > 0, {
      otherwise: () => `no ${name} among ${JSON.stringify(this.seen.map((event) => event.name))}`,
    });
    return this.all(name, of)[0] as Json;
  }

  #openStream(
    path: string,
    token: string,
    take: (event: SeenEvent) => void = (event) => this.seen.push(event),
  ): EventSource {
    const source = new EventSource(this.url(path), {
      fetch: (url, init) =>
        fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } }),
    });
    for (const name of eventNames)
      source.addEventListener(name, ({ data }) => take({ name, data: JSON.parse(data) as Json }));
    this.onLeave(() => source.close());
    return source;
  }

  async #isOpen(source: EventSource): Promise<void> {
    await until(() => source.readyState === source.OPEN, { otherwise: () => 'the stream does not open' });
  }
}

/** A model turn that calls one tool. */
export const calls = (name: string, args: Json): WireTurn => [{ call: { name, args, id: 'call_0' } }];
export const says = (text: string): WireTurn => [{ text }];

/** ISO 8601 in UTC. */
export const utcTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
