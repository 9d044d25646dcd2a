import { type Client, createClient } from '@countersign/client';
import {
  type OpenAiCompatibleServer,
  openAiCompatibleServer,
  type TemporaryPostgres,
  type WireRequest,
  type WireTurn,
} from '@countersign/testing';
import { findProblems } from '../../lab/src/invariants.ts';
import { LoadBalancer } from '../../lab/src/load-balancer.ts';
import { RemotePerson } from '../../lab/src/remote-person.ts';
import { completed, digestOf, RemoteRunner, type RunnerScript } from '../../lab/src/remote-runner.ts';
import { freePort, ServerProcess } from '../../lab/src/server-process.ts';
import { postgresDatabase, type TestDatabase } from '../../lab/src/test-database.ts';
import { signToken } from '../../lab/src/tokens.ts';
import { quickClock, until } from '../../lab/src/waiting.ts';

/** One server process of a cluster. */
export interface ClusterNode {
  readonly port: number;
  server: ServerProcess;
}

/** A person of a cluster. Their requests go to the servers in turn. */
export interface ClusterPerson {
  readonly userId: string;
  readonly projectId: string;
  readonly person: RemotePerson;
  readonly client: Client;
  readonly runner: RemoteRunner;
}

/** Several `countersign serve` on one PostgreSQL, behind a load balancer without sticky sessions. */
export class Cluster {
  readonly database: TestDatabase;
  readonly balancer: LoadBalancer;
  readonly nodes: readonly ClusterNode[];
  readonly model: OpenAiCompatibleServer;
  readonly people: ClusterPerson[] = [];
  readonly #scripts = new Map<string, readonly WireTurn[]>();

  private constructor(
    database: TestDatabase,
    balancer: LoadBalancer,
    model: OpenAiCompatibleServer,
    nodes: readonly ClusterNode[],
  ) {
    this.database = database;
    this.balancer = balancer;
    this.model = model;
    this.nodes = nodes;
    model.script((request) => this.#answer(request));
  }

  static async start(postgres: TemporaryPostgres, size = 3): Promise<Cluster> {
    const database = await postgresDatabase(postgres);
    const nodes: ClusterNode[] = [];
    for (let i = 0; i < size; i += 1) nodes.push({ port: await freePort(), server: new ServerProcess() });
    const cluster = new Cluster(database, await LoadBalancer.open(), await openAiCompatibleServer(), nodes);
    // All at once on an empty database: one of them creates the tables.
    await Promise.all(nodes.map((node) => cluster.#serve(node)));
    cluster.useAll();
    return cluster;
  }

  node(index: number): ClusterNode {
    return this.nodes[index] as ClusterNode;
  }

  /** A client that talks to one particular server. */
  clientAt(index: number, token: string): Client {
    return createClient({
      baseUrl: `http://127.0.0.1:${this.node(index).port}`,
      token: () => token,
      clock: quickClock,
    });
  }

  /** The balancer uses every server that runs. */
  useAll(): void {
    this.balancer.use(this.nodes.filter(({ server }) => server.isRunning).map(({ port }) => port));
  }

  /** Takes a server out of the balancer, as a health check would. */
  without(index: number): void {
    this.balancer.use(this.nodes.filter((_, place) => place !== index).map(({ port }) => port));
  }

  async kill(index: number): Promise<void> {
    await this.node(index).server.kill();
    this.useAll();
  }

  /** Stops a server gracefully and starts it again, as an upgrade does. */
  async restart(index: number): Promise<void> {
    const node = this.node(index);
    this.without(index);
    if (node.server.isRunning) await node.server.kill('SIGTERM');
    node.server = new ServerProcess();
    await this.#serve(node);
    this.useAll();
  }

  /** The index of the server with this node id. */
  async indexOf(nodeId: unknown): Promise<number> {
    const { name } = await this.row('select name from nodes where id = $1', String(nodeId));
    const index = this.nodes.findIndex(({ server }) => String(name).endsWith(`/${server.pid}`));
    if (index < 0) throw new Error(`No server is ${nodeId} (${name})`);
    return index;
  }

  async person(userId: string, script: Partial<RunnerScript> = {}): Promise<ClusterPerson> {
    const baseUrl = this.balancer.url;
    const person = new RemotePerson(baseUrl, signToken(userId, 'person'));
    const { client } = person;
    const workspace = `/workspaces/${userId}`;
    const { project } = await client.createProject({ body: { name: 'p', workspace } });
    const projectId = project.project_id;
    const runner = new RemoteRunner({
      baseUrl,
      token: signToken(userId, 'runner'),
      projectId,
      workspace,
      runnerId: `runner-of-${userId}`,
      execute: () => completed,
      preview: () => digestOf('a'),
      ...script,
    });
    await Promise.all([person.connect(), runner.connect()]);
    await until(async () => (await client.listRunners()).runners.some(({ connected }) => connected), {
      otherwise: () => 'the runner does not connect',
    });
    const made = { userId, projectId, person, client, runner };
    this.people.push(made);
    return made;
  }

  async session({ client, projectId: project_id }: ClusterPerson): Promise<string> {
    return (await client.createSession({ params: { project_id }, body: {} })).session.session_id;
  }

  /** Sends a message to the agent in a new session, with the turns that its model will answer. */
  async say(who: ClusterPerson, content: string, turns: readonly WireTurn[]): Promise<string> {
    this.#scripts.set(content, turns);
    const session_id = await this.session(who);
    const params = { project_id: who.projectId };
    return (await who.client.sendMessage({ params, body: { content, session_id } })).run_id;
  }

  /** How often the model was asked in the conversation that began with `content`. */
  timesAsked(content: string): number {
    return this.model.requests.filter((request) => firstMessage(request) === content).length;
  }

  async row(sql: string, ...values: string[]): Promise<Record<string, unknown>> {
    const [row] = await this.database.query(sql, ...values);
    return row ?? {};
  }

  /** Waits until a query returns a row. */
  async untilRow(sql: string, values: readonly string[]): Promise<Record<string, unknown>> {
    let found: Record<string, unknown> | undefined;
    await until(
      async () => {
        [found] = await this.database.query(sql, ...values);
        return found !== undefined;
      },
      { otherwise: () => `nothing answers to ${sql}\n${this.logs()}` },
    );
    return found as Record<string, unknown>;
  }

  logs(): string {
    return this.nodes.map(({ server }) => server.log.slice(-2000)).join('\n');
  }

  /** Violations of what must hold for a person when all work has ended. */
  problems({ userId, person, runner }: ClusterPerson): Promise<string[]> {
    return findProblems(userId, { database: this.database, person, runner });
  }

  async close(): Promise<void> {
    for (const { person, runner } of this.people) {
      person.close();
      runner.close();
    }
    for (const { server } of this.nodes) server.resume();
    await Promise.all(this.nodes.map(({ server }) => server.kill()));
    await Promise.all([this.balancer.close(), this.model.close()]);
    await this.database.close();
  }

  #serve({ port, server }: ClusterNode): Promise<void> {
    return server.serve({
      port,
      database: this.database.url,
      modelUrl: this.model.url,
      publicOrigin: this.balancer.url,
    });
  }

  #answer(request: WireRequest): WireTurn {
    const turns = this.#scripts.get(firstMessage(request)) ?? [];
    const answered = request.body.messages.filter(({ role }) => role === 'assistant').length;
    return turns[answered] ?? { status: 400, message: 'The script has ended.' };
  }
}

function firstMessage({ body }: WireRequest): string {
  const { content } = body.messages.find(({ role }) => role === 'user') ?? {};
  return typeof content === 'string' ? content : ((content as { text: string }[])[0]?.text ?? '');
}
