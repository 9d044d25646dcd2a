import { messageOf } from '@countersign/protocol';
import {
  Client,
  ProtocolError,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { Workspace } from '../workspace.ts';
import { ChildTransport } from './child-transport.ts';
import type { ServerEntry } from './server-entry.ts';
import { neededFolders } from './server-files.ts';
import { ToolServerFailure } from './tool-server-failure.ts';

const CONNECT_MS = 30_000;
/** A server of the 2025 protocol may not answer the first request of the 2026 protocol. */
const PROBE_MS = 5_000;
const LIST_MS = 30_000;
const PING_MS = 5_000;
const MAX_PAGES = 20;
/** Limit for all pages together: far more than 128 tools need, and no more tools are used. */
const MAX_LIST_CHARACTERS = 4 * 1024 * 1024;
const MAX_LISTED = 10_000;

/** Limits of a server's process (RN-8). */
const limits = { cpuSeconds: 3_600, memoryBytes: 1024 ** 3, files: 100 };

export interface ConnectionDeps {
  readonly workspace: Workspace;
  readonly configFolder: string;
  readonly starter: IsolatingStarter;
}

/** A tool's own report of its progress. */
export type ProgressCallback = (progress: {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}) => void;

export interface ConnectionListener {
  onToolsChanged(): void;
  /** The connection was lost; we did not end it. */
  onLost(problem: string): void;
}

export interface OpenRequest {
  readonly entry: ServerEntry;
  /** Whether the server may write to the workspace, like an approved command. */
  readonly mayWrite: boolean;
  readonly deps: ConnectionDeps;
  readonly listener: ConnectionListener;
  readonly signal: AbortSignal;
}

type HttpReach = Extract<ServerEntry['reach'], { kind: 'http' }>;
type StdioReach = Exclude<ServerEntry['reach'], HttpReach>;

const pageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/**
 * A connection to a running server: over the pipes of an isolated process, or over HTTP. Load this file only when there
 * are tool servers: the SDK takes a while.
 */
export class ServerConnection {
  readonly #client: Client;
  readonly #transport: Transport;
  /** The transport, if the server is a process on this machine. */
  readonly #child: ChildTransport | undefined;
  #isClosing = false;

  private constructor(client: Client, transport: Transport) {
    this.#client = client;
    this.#transport = transport;
    this.#child = transport instanceof ChildTransport ? transport : undefined;
  }

  /** Throws a ToolServerFailure. */
  static async open(request: OpenRequest): Promise<ServerConnection> {
    try {
      return await ServerConnection.#connect(request, 'auto');
    } catch (error) {
      // Some servers of the 2025 protocol exit on the first request of the 2026 protocol.
      if (request.entry.reach.kind === 'http' || request.signal.aborted) throw error;
      return await ServerConnection.#connect(request, 'legacy');
    }
  }

  static async #connect(request: OpenRequest, mode: 'auto' | 'legacy'): Promise<ServerConnection> {
    const { entry, listener, signal } = request;
    const transport =
      entry.reach.kind === 'http' ? httpTransport(entry.reach) : childTransport(request, entry.reach);
    const client = new Client(
      { name: 'countersign', version: '1.0.0' },
      {
        versionNegotiation: { mode, probe: { timeoutMs: PROBE_MS } },
        inputRequired: { autoFulfill: false },
        // No automatic refresh: a server that reports changes all the time would keep it busy.
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 0, onChanged: () => listener.onToolsChanged() },
        },
      },
    );
    client.onerror = () => {}; // errors that matter also fail a request or end the connection
    const connection = new ServerConnection(client, transport);
    try {
      await client.connect(transport, { timeout: CONNECT_MS, signal });
    } catch (error) {
      await connection.close();
      throw connection.#failure(error, 'the first question', signal);
    }
    client.onclose = () => {
      if (!connection.#isClosing) listener.onLost(connection.#child?.problem ?? 'the connection to it ended');
    };
    return connection;
  }

  /** The end of the server's standard error. */
  get outputTail(): string {
    return this.#child?.outputTail ?? '';
  }

  /** Sentences about the files that the server planted (VA-3); complete once `close` has resolved. */
  get planted(): readonly string[] {
    return this.#child?.planted ?? [];
  }

  /** The server's list of tools, unchecked. */
  async listTools(signal: AbortSignal): Promise<readonly unknown[]> {
    const tools: unknown[] = [];
    let cursor: string | undefined;
    let characters = 0;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await this.#ask('tools/list', params, pageSchema, { signal, timeout: LIST_MS });
      characters += JSON.stringify(answer.tools).length;
      if (characters > MAX_LIST_CHARACTERS || tools.length + answer.tools.length > MAX_LISTED)
        throw new ToolServerFailure('its list of tools is too long', { outputTail: this.outputTail });
      tools.push(...answer.tools);
      cursor = answer.nextCursor;
      if (cursor === undefined) break;
    }
    return tools;
  }

  /** The result, unchecked. Throws a ToolServerFailure, also if the server returns an error. */
  async call(
    name: string,
    params: Readonly<Record<string, unknown>>,
    how: { readonly signal: AbortSignal; readonly timeoutMs: number; readonly onProgress: ProgressCallback },
  ): Promise<unknown> {
    return this.#ask('tools/call', { name, arguments: params }, z.looseObject({}), {
      signal: how.signal,
      timeout: how.timeoutMs,
      onprogress: how.onProgress,
    });
  }

  /** Whether the server still answers. */
  async isAlive(): Promise<boolean> {
    try {
      await this.#client.ping({ timeout: PING_MS });
      return true;
    } catch (error) {
      return error instanceof ProtocolError; // it answered that it does not know `ping`
    }
  }

  /** Resolves when no process of the server is left. Harmless twice. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#client.close().catch(() => {});
    await this.#transport.close().catch(() => {});
  }

  async #ask<T extends z.ZodType>(
    method: 'tools/list' | 'tools/call',
    params: Record<string, unknown>,
    schema: T,
    options: RequestOptions & { readonly signal: AbortSignal },
  ): Promise<z.output<T>> {
    try {
      return (await this.#client.request({ method, params }, schema, options)) as z.output<T>;
    } catch (error) {
      throw this.#failure(error, method, options.signal, error instanceof ProtocolError);
    }
  }

  #failure(error: unknown, question: string, signal: AbortSignal, isAnswer = false): Error {
    if (signal.aborted) return new ExecutionCancelled();
    const problem = this.#child?.problem ?? problemOf(error, question);
    return new ToolServerFailure(problem, { outputTail: this.outputTail, isAnswer, cause: error });
  }
}

function childTransport({ entry, mayWrite, deps }: OpenRequest, reach: StdioReach): ChildTransport {
  const { workspace, configFolder, starter } = deps;
  const { command, args, env, cwd } = reach;
  const { root, home, stateFolder } = workspace;
  const readable = neededFolders(entry, { root, home, config: configFolder, state: stateFolder });
  return new ChildTransport(starter, {
    program: command,
    args,
    cwd: entry.workspace === 'none' ? '' : cwd,
    environment: env,
    stdin: 'pipe',
    confinement: {
      workspace: entry.workspace === 'write' && !mayWrite ? 'read' : entry.workspace,
      network: entry.network,
      // Masked, because no card says which secrets the server would read.
      maskSensitive: true,
      readable,
      limits,
    },
  });
}

function problemOf(error: unknown, question: string): string {
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return `it did not answer ${question} in time`;
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return `its answer to ${question} is not what the protocol says`;
  const text = messageOf(error);
  return text.slice(0, 1_000);
}

/** Limit for one response, which may be a stream that stays open. */
const RESPONSE_BYTES = 32 * 1024 * 1024;

/**
 * MCP over HTTP, only to the origin that the person configured: redirects to another origin fail, so headers go nowhere
 * else. A response that is too long is cut off.
 */
function httpTransport({ url, headers }: HttpReach): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    redirectPolicy: 'same-origin',
    fetch: async (input, init) => bounded(await fetch(input, init)),
    reconnectionOptions: {
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 30_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 5,
    },
  });
}

function bounded(response: Response): Response {
  if (!response.body) return response;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > RESPONSE_BYTES)
        controller.error(new Error(`it answered more than ${RESPONSE_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  const copy = new Response(response.body.pipeThrough(counted), { status, statusText, headers });
  // The transport checks the origin of a response by these two.
  Object.defineProperty(copy, 'url', { value: response.url });
  Object.defineProperty(copy, 'redirected', { value: response.redirected });
  return copy;
}
