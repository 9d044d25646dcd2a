import type { ProjectRow } from '@countersign/engine';
import type { TemporaryPostgres } from '@countersign/testing';
import { sessionOf } from '../bench-server.ts';
import { Child } from '../processes/child.ts';
import { HttpClient } from '../processes/http-client.ts';

export interface Person {
  readonly project: ProjectRow;
  readonly tokens: { readonly person: string; readonly runner: string };
}

export interface ClusterOptions {
  readonly nodes: number;
  readonly people: number;
  readonly sessions: number;
  readonly log: string;
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface BenchRunner {
  /** The ids of the calls that it was told to execute, with repetitions. */
  readonly given: readonly string[];
  /** The calls whose result was accepted. */
  readonly reported: ReadonlySet<string>;
}

/** Several real servers on one database, each a process, and people whose requests go to the nodes in turn. */
export class BenchCluster {
  readonly nodes: readonly Child[];
  readonly people: readonly Person[];

  private constructor(nodes: readonly Child[], people: readonly Person[]) {
    this.nodes = nodes;
    this.people = people;
  }

  static async start(postgres: TemporaryPostgres, options: ClusterOptions): Promise<BenchCluster> {
    const { nodes: count, people, sessions, log, settings = {} } = options;
    const database = await postgres.createDatabase();
    const program = new URL('./server.ts', import.meta.url);
    const nodes: Child[] = [];
    const input = { database, settings: { requestsPerSecond: 1_000_000, ...settings } };
    for (let node = 0; node < count; node += 1) nodes.push(await Child.start(program, { input, log }));
    const made = await (nodes[0] as Child).ask<Person[]>('createPeople', { people, sessions });
    return new BenchCluster(nodes, made);
  }

  addressOf(node: number): string {
    const { ready } = this.nodes[node % this.nodes.length] as Child;
    return (ready as { address: string }).address;
  }

  /** A person's clients, one for each node. */
  clients(token: string): readonly HttpClient[] {
    return this.nodes.map((_, node) => new HttpClient(this.addressOf(node), token));
  }

  /** A runner that responds at once: it listens at one node and posts to the next. Returns what it was given. */
  async run({ project, tokens }: Person, place: number): Promise<BenchRunner> {
    const clients = this.clients(tokens.runner);
    const at = (turn: number) => clients[turn % clients.length] as HttpClient;
    const given: string[] = [];
    const reported = new Set<string>();
    const runner_id = `runner-of-${project.id}`;
    const base = `/my/projects/${project.id}`;
    const query = new URLSearchParams({ runner: runner_id, workspace: String(project.workspace) });
    await at(place).listen(`${base}/chat/stream?${query}`, (event, data) => {
      if (event !== 'tool.execution_signal') return;
      const { tool_id, attempt } = data as { tool_id: string; attempt: number };
      given.push(tool_id);
      const report = {
        status: 'completed',
        result: { success: true },
        execution_time_ms: 1,
        attempt,
        runner_id,
      };
      at(given.length)
        .ask(`${base}/tools/${tool_id}/result`, report)
        .then(
          ({ status }) => status === 200 && reported.add(tool_id),
          () => {}, // the bench has ended
        );
    });
    return { given, reported };
  }

  /** Memory of each node in megabytes. */
  async memory(): Promise<string> {
    const held = await Promise.all(this.nodes.map((node) => node.ask<number>('memory')));
    return `${held.map((bytes) => Math.round(bytes / 1e6)).join(' + ')} MB resident`;
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.stop();
  }
}

/** A call that needs no approval, in one of the person's sessions. */
export const callOf = ({ project }: Person, lane: number) => ({
  tool_name: 'read_file',
  tool_params: { path: 'README.md' },
  session_id: sessionOf(project, lane),
});
