import { type Client, createClient } from '@countersign/client';
import {
  type OpenAiCompatibleServer,
  openAiCompatibleServer,
  type WireRequest,
  type WireTurn,
} from '@countersign/testing';
import { findProblems } from '../../lab/src/invariants.ts';
import { RemotePerson } from '../../lab/src/remote-person.ts';
import {
  completed,
  digestOf,
  RemoteRunner,
  type ResultBody,
  type Signal,
} from '../../lab/src/remote-runner.ts';
import { freePort, ServerProcess } from '../../lab/src/server-process.ts';
import { sqliteDatabase, type TestDatabase } from '../../lab/src/test-database.ts';
import { signToken } from '../../lab/src/tokens.ts';
import { until } from '../../lab/src/waiting.ts';

/** One person: their project and session, front end, runner and the runner's disk. */
export interface StoryPerson {
  readonly userId: string;
  readonly projectId: string;
  readonly sessionId: string;
  readonly person: RemotePerson;
  readonly client: Client;
  readonly runner: RemoteRunner;
  readonly disk: Map<string, string>;
}

/** The real server process, a scripted model behind it, and people who use it. */
export class ServerStory {
  readonly database: TestDatabase = sqliteDatabase();
  readonly model: OpenAiCompatibleServer;
  readonly people: StoryPerson[] = [];
  readonly #port: number;
  #server = new ServerProcess();
  /** The model's turns for each conversation, by the text of its first message. */
  readonly #scripts = new Map<string, readonly WireTurn[]>();

  private constructor(port: number, model: OpenAiCompatibleServer) {
    this.#port = port;
    this.model = model;
    model.script((request) => this.#answer(request));
  }

  static async start(): Promise<ServerStory> {
    const story = new ServerStory(await freePort(), await openAiCompatibleServer());
    await story.#serve();
    return story;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Kills the server like a power cut, calls `between`, and starts the server again. */
  async crash(between: () => Promise<unknown> = async () => {}): Promise<void> {
    await this.#server.kill();
    await between();
    this.#server = new ServerProcess();
    await this.#serve();
  }

  async close(): Promise<void> {
    for (const { person, runner } of this.people) {
      person.close();
      runner.close();
    }
    await Promise.all([this.#server.kill(), this.model.close()]);
    await this.database.close();
  }

  /** Creates a person with a project, a session, a front end and a runner that keeps files. */
  async person(userId: string, execute: (signal: Signal) => ResultBody | undefined = () => undefined) {
    const { baseUrl } = this;
    const person = new RemotePerson(baseUrl, signToken(userId, 'person'));
    const { client } = person;
    const workspace = `/workspaces/${userId}`;
    const { project } = await client.createProject({ body: { name: 'p', workspace } });
    const projectId = project.project_id;
    const sessionId = await newSession(client, projectId);
    const disk = new Map<string, string>();
    const runner = new RemoteRunner({
      baseUrl,
      token: signToken(userId, 'runner'),
      projectId,
      workspace,
      runnerId: `runner-of-${userId}`,
      execute: async (signal, cancelled) => {
        const path = String(signal.tool_params.path);
        if (path.startsWith('slow')) {
          await cancelled;
          return { status: 'cancelled' };
        }
        return execute(signal) ?? onDisk(disk, signal);
      },
      preview: () => digestOf('a'),
    });
    await Promise.all([person.connect(), runner.connect()]);
    await until(async () => (await client.listRunners()).runners.some(({ connected }) => connected), {
      otherwise: () => 'the runner does not connect',
    });
    const made: StoryPerson = { userId, projectId, sessionId, person, client, runner, disk };
    this.people.push(made);
    return made;
  }

  /** Sends a message to the agent in a new session, with the turns that its model will answer. */
  async say(who: StoryPerson, content: string, turns: readonly WireTurn[]): Promise<string> {
    this.#scripts.set(content, turns);
    const session_id = await newSession(who.client, who.projectId);
    const params = { project_id: who.projectId };
    return (await who.client.sendMessage({ params, body: { content, session_id } })).run_id;
  }

  /** The results of its tool calls that the model received in that conversation, in order. */
  toolResults(content: string): unknown[] {
    const request = this.model.requests.findLast((one) => firstMessage(one) === content);
    return (request?.body.messages ?? []).flatMap((message) =>
      message.role === 'tool' ? [insideTags(String(message.content))] : [],
    );
  }

  /** Violations of what must hold when all work has ended. */
  async problems(): Promise<string[]> {
    const found = await Promise.all(
      this.people.map(({ userId, person, runner }) =>
        findProblems(userId, { database: this.database, person, runner }),
      ),
    );
    return found.flat();
  }

  async #serve(): Promise<void> {
    await this.#server.serve({ port: this.#port, database: this.database.url, modelUrl: this.model.url });
  }

  #answer(request: WireRequest): WireTurn {
    const turns = this.#scripts.get(firstMessage(request)) ?? [];
    const answered = request.body.messages.filter(({ role }) => role === 'assistant').length;
    return turns[answered] ?? { status: 400, message: 'The script has ended.' };
  }
}

export async function newSession(client: Client, project_id: string): Promise<string> {
  return (await client.createSession({ params: { project_id }, body: {} })).session.session_id;
}

/** A client with another token, or for another device, of a person. */
export const clientWith = (story: ServerStory, token: string): Client =>
  createClient({ baseUrl: story.baseUrl, token: () => token });

/** Tool output is delimited as data (AG-4); inside the tags is JSON. */
const insideTags = (text: string): unknown =>
  JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));

function firstMessage({ body }: WireRequest): string {
  const { content } = body.messages.find(({ role }) => role === 'user') ?? {};
  return typeof content === 'string' ? content : ((content as { text: string }[])[0]?.text ?? '');
}

/** File tools on a disk that is a map; every other tool succeeds. */
function onDisk(disk: Map<string, string>, { tool_name, tool_params }: Signal): ResultBody {
  const path = String(tool_params.path);
  if (tool_name === 'read_file') {
    const content = disk.get(path);
    if (content === undefined) {
      return {
        status: 'failed',
        error: { code: 'FILE_NOT_FOUND', message: `There is no ${path}`, recoverable: false },
      };
    }
    const result = { success: true, content, encoding: 'utf-8', size: content.length, truncated: false };
    return { status: 'completed', result, execution_time_ms: 1 };
  }
  if (tool_name === 'write_file') {
    const content = String(tool_params.content);
    disk.set(path, content);
    const changed_files = [{ path, operation: 'modified' }];
    return { status: 'completed', result: { success: true, path, size: content.length, changed_files } };
  }
  return completed;
}
