import { CountersignError, makeVisible, messageOf } from '@countersign/protocol';
import type { RunnerClock } from '../clock.ts';
import { ExecutionCancelled, orCancelled } from '../runner-errors.ts';
import { type ListedTool, listTools, type ToolListing } from './listed-tools.ts';
import type {
  ConnectionDeps,
  ConnectionListener,
  ProgressCallback,
  ServerConnection,
} from './server-connection.ts';
import {
  describeReach,
  maskedJson,
  maskerOf,
  type ServerEntry,
  type ServerOwner,
  secretsOf,
} from './server-entry.ts';
import { ToolServerFailure } from './tool-server-failure.ts';

export interface ToolServerDeps extends ConnectionDeps {
  readonly clock: RunnerClock;
  /** Called when the server's tools or state have changed. */
  readonly onChange: () => void;
  /** Called if the server planted a file that would execute later (VA-3); the note says what became of the file. */
  readonly onPlanted: (note: string) => void;
  /** Whether the server's entry and scripts are still the ones that were allowed. */
  readonly isStillAllowed: () => boolean;
  /** How long a server may still write to the workspace after its last call. */
  readonly idleMs?: number;
  /** How long to wait after a reported change before the list of tools is read again. */
  readonly listPauseMs?: number;
}

/** The state of a server, for `countersign tools list`. */
export interface ServerStatus {
  readonly name: string;
  readonly owner: ServerOwner;
  readonly state: 'not_allowed' | 'disabled' | 'unusable' | 'starting' | 'ready' | 'failed';
  /** Its command line or address. */
  readonly runs: string;
  readonly network: boolean;
  readonly problem?: string;
  /** The end of its standard error. */
  readonly outputTail?: string;
  readonly tools: readonly ListedTool[];
  readonly leftOut: readonly string[];
}

export interface ServerCall {
  /** The tool's name at its server. */
  readonly tool: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Throws if the tool, as its server describes it now, is not the one that was approved. */
  readonly confirm: (now: ListedTool | undefined) => void;
  readonly onProgress: ProgressCallback;
}

const IDLE_MS = 60_000;
const LIST_PAUSE_MS = 2_000;
const MAX_FAILURES = 10;
const restartMs = (failures: number): number => Math.min(1_000 * 2 ** (failures - 1), 60_000);
/** After running this long, the count of failures starts again. */
const STEADY_MS = 60_000;
const SHOWN_TAIL = 2_000;

interface Current {
  readonly connection: ServerConnection;
  readonly mayWrite: boolean;
}

/**
 * One configured server: started, listed, called, and started again when it fails. Between calls it runs with the
 * workspace read-only. An approved call restarts it with the workspace writable; a while after the last call it is
 * restarted read-only, so that planted files (VA-3) are found soon after the call.
 */
export class ToolServer {
  readonly entry: ServerEntry;
  /** Digest of the entry and the scripts that it names. If it changes, ToolServers replaces the server. */
  readonly definition: string;
  readonly mask: (text: string) => string;
  readonly #deps: ToolServerDeps;
  readonly #ending = new AbortController();
  #current: Current | undefined;
  #listing: ToolListing = { tools: [], leftOut: [] };
  #state: 'starting' | 'ready' | 'failed' = 'starting';
  #problem: string | undefined;
  #outputTail = '';
  #users = 0;
  #isOpening = false;
  #failures = 0;
  #readyAt = 0;
  /** Starts and stops run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #cancelIdle = () => {};
  #cancelRestart = () => {};
  #cancelListing: (() => void) | undefined;

  constructor(entry: ServerEntry, definition: string, deps: ToolServerDeps) {
    this.entry = entry;
    this.definition = definition;
    this.mask = maskerOf(secretsOf(entry));
    this.#deps = deps;
  }

  get tools(): readonly ListedTool[] {
    return this.#listing.tools;
  }

  get status(): ServerStatus {
    const { name, owner, network } = this.entry;
    const words = this.#current?.connection.outputTail ?? this.#outputTail;
    const outputTail = makeVisible(this.mask(words)).slice(-SHOWN_TAIL);
    return {
      name,
      owner,
      state: this.#state,
      runs: describeReach(this.entry),
      network,
      ...(this.#problem !== undefined && { problem: this.#problem }),
      ...(outputTail !== '' && { outputTail }),
      tools: this.tools,
      leftOut: this.#listing.leftOut,
    };
  }

  /** Resolves when it is up, or has failed for the first time. Never rejects. */
  async start(): Promise<void> {
    await this.#connected(false).catch(() => {});
  }

  /**
   * Throws TOOL_SERVER_FAILED, EXECUTION_FAILED if the tool returns an error, ExecutionCancelled, or APPROVAL_STALE if
   * its program is not the one that was allowed.
   */
  async call({ tool, params, signal, confirm, onProgress }: ServerCall): Promise<unknown> {
    this.#users += 1;
    this.#cancelIdle();
    let used: ServerConnection | undefined;
    try {
      used = await orCancelled(this.#connected(this.#isWriter), signal);
      this.#requireAllowed();
      confirm(this.tools.find(({ ownName }) => ownName === tool));
      const timeoutMs = this.entry.timeoutSeconds * 1_000;
      return await used.call(tool, params, { signal, timeoutMs, onProgress });
    } catch (error) {
      if (used) await this.#afterFailure(used, error);
      throw this.#failureOf(error);
    } finally {
      this.#users -= 1;
      if (this.#users === 0) this.#restartReadOnlySoon();
    }
  }

  /** Leaves no process behind. Harmless twice. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#cancelIdle();
    this.#cancelRestart();
    this.#cancelListing?.();
    await this.#turn.catch(() => {});
    await this.#drop();
  }

  get #isWriter(): boolean {
    return this.entry.reach.kind === 'stdio' && this.entry.workspace === 'write';
  }

  #connected(mayWrite: boolean): Promise<ServerConnection> {
    const connected = this.#turn.then(() => this.#connect(mayWrite));
    this.#turn = connected.catch(() => {});
    return connected;
  }

  async #connect(mayWrite: boolean): Promise<ServerConnection> {
    if (this.#ending.signal.aborted) throw new ExecutionCancelled();
    if (this.#current && (this.#current.mayWrite || !mayWrite)) return this.#current.connection;
    await this.#drop();
    this.#cancelRestart();
    this.#state = 'starting';
    this.#isOpening = true;
    try {
      const listener: ConnectionListener = {
        onToolsChanged: () => this.#listSoon(),
        onLost: (problem) => this.#lost(problem),
      };
      this.#requireAllowed();
      const { ServerConnection } = await import('./server-connection.ts');
      const connection = await ServerConnection.open({
        entry: this.entry,
        mayWrite,
        deps: this.#deps,
        listener,
        signal: this.#ending.signal,
      });
      this.#current = { connection, mayWrite };
      await this.#list(connection);
      this.#requireAllowed(); // what was started must be what was checked
      this.#state = 'ready';
      this.#problem = undefined;
      this.#readyAt = this.#deps.clock.monotonic();
      this.#deps.onChange();
      if (this.#users === 0) this.#restartReadOnlySoon(); // the call that needed write access was cancelled
      return connection;
    } catch (error) {
      await this.#drop();
      this.#failed(error);
      throw error;
    } finally {
      this.#isOpening = false;
    }
  }

  #requireAllowed(): void {
    if (this.#deps.isStillAllowed()) return;
    throw new CountersignError('APPROVAL_STALE', {
      problem: 'the program of its server has changed, or is no longer allowed',
    });
  }

  async #list(connection: ServerConnection): Promise<void> {
    const rawTools = await connection.listTools(this.#ending.signal);
    // Descriptions reach the model: they must not contain secrets of the configuration.
    this.#listing = listTools(maskedJson(rawTools, this.mask), this.entry, this.definition);
  }

  /** Reads the list of tools after a pause, however often the server reports changes. */
  #listSoon(): void {
    if (this.#cancelListing || this.#ending.signal.aborted) return;
    const { clock, listPauseMs = LIST_PAUSE_MS } = this.#deps;
    this.#cancelListing = clock.after(listPauseMs, () => {
      this.#cancelListing = undefined;
      const current = this.#current;
      if (!current) return;
      this.#list(current.connection).then(this.#deps.onChange, (error: unknown) => {
        if (this.#current === current) this.#lost(messageOf(error));
      });
    });
  }

  #lost(problem: string): void {
    const { connection } = this.#current ?? {};
    // While the connection is being opened, #connect handles the error.
    if (!connection || this.#isOpening || this.#ending.signal.aborted) return;
    this.#current = undefined;
    this.#turn = this.#turn.then(() => this.#close(connection));
    this.#failed(new ToolServerFailure(problem, { outputTail: connection.outputTail }));
  }

  #failed(error: unknown): void {
    if (this.#ending.signal.aborted) return;
    const { clock, onChange } = this.#deps;
    const wasSteady = this.#readyAt > 0 && clock.monotonic() - this.#readyAt > STEADY_MS;
    this.#failures = wasSteady ? 1 : this.#failures + 1;
    this.#state = 'failed';
    this.#outputTail = error instanceof ToolServerFailure ? error.outputTail : '';
    const problem = makeVisible(this.mask(messageOf(error)));
    const isGivenUp = this.#failures >= MAX_FAILURES;
    this.#problem = isGivenUp ? `${problem} (it failed ${MAX_FAILURES} times and is left alone)` : problem;
    this.#cancelRestart();
    if (!isGivenUp) this.#cancelRestart = clock.after(restartMs(this.#failures), () => void this.start());
    onChange();
  }

  /**
   * A call that was cancelled or timed out may still be running, so a process that no other call uses is ended. A shared
   * process, or a server on another machine, is dropped only if it no longer answers.
   */
  async #afterFailure(used: ServerConnection, error: unknown): Promise<void> {
    if (this.#current?.connection !== used) return;
    if (error instanceof CountersignError && error.code === 'APPROVAL_STALE') return;
    if (error instanceof ToolServerFailure && error.isAnswer) return;
    const isAlone = this.entry.reach.kind === 'stdio' && this.#users === 1;
    if (!isAlone && (await used.isAlive())) return;
    await this.#drop();
    if (this.#ending.signal.aborted) return;
    if (error instanceof ExecutionCancelled) void this.start();
    else this.#failed(error);
  }

  #restartReadOnlySoon(): void {
    if (!this.#current?.mayWrite || this.#ending.signal.aborted) return;
    this.#cancelIdle();
    this.#cancelIdle = this.#deps.clock.after(this.#deps.idleMs ?? IDLE_MS, () => {
      this.#turn = this.#turn.then(async () => {
        if (this.#users === 0) await this.#drop();
      });
      if (this.#users === 0) void this.start();
    });
  }

  async #drop(): Promise<void> {
    const dropped = this.#current;
    this.#current = undefined;
    if (!dropped) return;
    this.#outputTail = dropped.connection.outputTail;
    await this.#close(dropped.connection);
  }

  async #close(connection: ServerConnection): Promise<void> {
    await connection.close();
    for (const note of connection.planted) this.#deps.onPlanted(note);
  }

  #failureOf(error: unknown): unknown {
    if (error instanceof CountersignError) return error;
    const problem = makeVisible(this.mask(messageOf(error)));
    if (error instanceof ToolServerFailure && error.isAnswer)
      return new CountersignError('EXECUTION_FAILED', { problem }, { cause: error });
    return new CountersignError('TOOL_SERVER_FAILED', { server: this.entry.name, problem }, { cause: error });
  }
}
