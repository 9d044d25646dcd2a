import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId, notFound, type RunRow, type Store } from '@countersign/engine';
import type { TokenScope } from '@countersign/protocol';
import { SignJWT } from 'jose';
import { pino } from 'pino';
import { loadConfig, type SettingName } from '../config.ts';
import type { Runs } from '../http/server-parts.ts';
import { type RunningServer, type ServeOptions, serve } from '../serve.ts';
import { ScriptedRunner, type ScriptedRunnerOptions } from './scripted-runner.ts';
import { listenTo, type TestStream } from './test-stream.ts';

export const testSecret = 'a secret for tests only, long enough';

export interface Answered {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  readonly body: any;
  readonly text: string;
  readonly headers: Headers;
}

/** A person of a test, with a project, a session and a token of each scope. */
export interface Person {
  readonly userId: string;
  readonly projectId: string;
  readonly sessionId: string;
  readonly tokens: Readonly<Record<TokenScope, string>>;
}

/** The real server: real HTTP on a random port of the loopback, a real database file, everything torn down after. */
export class TestServer {
  readonly running: RunningServer;
  readonly #folder: string;
  readonly #open: { close(): void }[] = [];
  readonly #runners: ScriptedRunner[] = [];

  private constructor(running: RunningServer, folder: string) {
    this.running = running;
    this.#folder = folder;
  }

  static async start(
    settings: Partial<Record<SettingName, unknown>> = {},
    options: ServeOptions = {},
  ): Promise<TestServer> {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-server-'));
    const flags = {
      port: 0,
      authSecret: testSecret,
      database: join(folder, 'test.db'),
      requestsPerSecond: 100_000,
      anonymousRequestsPerSecond: 100_000,
      largeBodyBytesPerSecond: 2 ** 30,
      logLevel: 'silent',
      ...settings,
    };
    const config = loadConfig({ env: {}, flags });
    const logger = options.logger ?? pino({ level: 'silent' });
    const agent = async ({ store }: { store: Store }) => ({
      ...messageKeeper(store),
      close: async () => {},
    });
    return new TestServer(await serve(config, { logger, agent, ...options }), folder);
  }

  get address(): string {
    return this.running.address;
  }
  get store(): Store {
    return this.running.store;
  }

  async close(): Promise<void> {
    for (const open of this.#open) open.close();
    await this.running.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async person(userId: string, workspace: string | null = '/workspace'): Promise<Person> {
    const projectId = newId();
    const sessionId = newId();
    await this.store.write(function* (tx) {
      yield* tx.insert('projects', { id: projectId, user_id: userId, name: 'p', workspace, created_at: 1 });
      const session = { id: sessionId, user_id: userId, project_id: projectId, title: '', created_at: 1 };
      yield* tx.insert('sessions', {
        ...session,
        mode: 'ask',
        opened_by: null,
        last_message_at: null,
        deleted_at: null,
      });
    });
    const [person, front_end, runner, agent] = await Promise.all(
      (['person', 'front_end', 'runner', 'agent'] as const).map((scope) => signToken(userId, scope)),
    );
    return { userId, projectId, sessionId, tokens: { person, front_end, runner, agent } as Person['tokens'] };
  }

  /** One request; a body is sent as JSON. */
  async send(
    method: string,
    path: string,
    {
      token,
      body,
      headers = {},
    }: { token?: string | undefined; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answered> {
    const response = await fetch(this.address + path, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return {
      status: response.status,
      body: isJson ? JSON.parse(text) : undefined,
      text,
      headers: response.headers,
    };
  }

  async listen(
    path: string,
    options: { token?: string; headers?: Record<string, string> },
  ): Promise<TestStream> {
    const stream = await listenTo(this.address + path, options);
    this.#open.push(stream);
    return stream;
  }

  /** Resolves once a scripted runner has begun with a call. */
  async untilExecuting(): Promise<void> {
    await Promise.all(
      this.#runners.map((runner) => runner.stream.until(({ event }) => event === 'tool.execution_signal')),
    );
  }

  async runner(person: Person, script: Partial<ScriptedRunnerOptions> = {}): Promise<ScriptedRunner> {
    const { projectId, tokens } = person;
    const runner = await ScriptedRunner.connect({
      address: this.address,
      token: tokens.runner,
      projectId,
      execute: () => ({ status: 'completed', result: { success: true }, execution_time_ms: 1 }),
      preview: ({ tool_name }) => ({ preview: somePreview(tool_name), digest_base: someDigest }),
      ...script,
    });
    this.#open.push(runner);
    this.#runners.push(runner);
    return runner;
  }
}

/** The digest base that scripted runners send. */
export const someDigest = `sha256:${'a'.repeat(64)}`;

/** A preview of the right kind, with nothing in it. */
export const somePreview = (tool: string) => ({
  kind: 'summary',
  summary: `what ${tool} would do`,
});

export function signToken(
  userId: string,
  scope: TokenScope | undefined,
  more: { expiresIn?: string; secret?: string; claims?: Record<string, unknown>; header?: object } = {},
): Promise<string> {
  const { expiresIn = '1h', secret = testSecret, claims = {}, header = {} } = more;
  return new SignJWT({ ...(scope !== undefined && { scope }), jti: newId(), ...claims })
    .setProtectedHeader({ alg: 'HS256', ...header })
    .setSubject(userId)
    .setExpirationTime(expiresIn)
    .sign(new TextEncoder().encode(secret));
}

/** Replaces the agent: stores the message, and a run that has already ended. */
function messageKeeper(store: Store): Runs {
  return {
    async start({ caller, project, session, content, model }) {
      const now = store.now();
      const run: RunRow = {
        id: newId(),
        user_id: caller.userId,
        project_id: project.id,
        session_id: session.id,
        model: model ?? 'manual',
        status: 'running',
        step: 0,
        epoch: 0,
        lease_owner: null,
        lease_until: null,
        input_tokens: 0,
        output_tokens: 0,
        error: null,
        created_at: now,
        ended_at: null,
      };
      const messageId = newId();
      await store.write(function* (tx) {
        yield* tx.insert('runs', run);
        const position = (yield* tx.lastPosition(session.id)) + 1;
        yield* tx.insert('messages', {
          id: messageId,
          user_id: caller.userId,
          session_id: session.id,
          run_id: run.id,
          position,
          role: 'user',
          content,
          tool_calls: null,
          tool_id: null,
          complete: true,
          created_at: now,
          rewound_at: null,
        });
      });
      return { run_id: run.id, message_id: messageId, session_id: session.id, queued: false };
    },
    async sendQueued({ userId }, messageId) {
      const row = await store.read((tx) => tx.get('queued_messages', messageId));
      if (row?.user_id !== userId) throw notFound('message');
      const run = await store.read((tx) => tx.activeRunOf(row.session_id));
      return { run_id: run?.id ?? newId(), message_id: row.id, session_id: row.session_id, queued: true };
    },
    model: () => ({ model: 'manual', problem: null }),
    async stop(caller, runId) {
      const run = await ownRun(store, caller, runId);
      const ended = { status: 'stopped', ended_at: store.now() } as const;
      await store.write(function* (tx) {
        yield* tx.update('runs', run.id, ended);
      });
      return { ...run, ...ended };
    },
    get: (caller, runId) => ownRun(store, caller, runId),
  };
}

async function ownRun(store: Store, { userId }: { userId: string }, runId: string): Promise<RunRow> {
  const row = await store.read((tx) => tx.get('runs', runId));
  if (row?.user_id !== userId) throw notFound('run');
  return row;
}
