import type { CustomTools } from '@countersign/policy';
import { type CustomTool, isCustomToolName } from '@countersign/protocol';
import type { RunnerClock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { Allowances } from './allowances.ts';
import type { ListedTool } from './listed-tools.ts';
import type { ConnectionDeps } from './server-connection.ts';
import { describeReach, type ServerEntry } from './server-entry.ts';
import { readServers } from './server-files.ts';
import { type ServerStatus, ToolServer, type ToolServerDeps } from './tool-server.ts';

export interface ToolServersOptions extends ConnectionDeps, Pick<ToolServerDeps, 'idleMs' | 'listPauseMs'> {
  readonly clock: RunnerClock;
  readonly logger: Logger;
  /** How often the configuration is read. */
  readonly lookMs?: number;
}

/** Short: the files are small, and a person who has just allowed a server waits for it. */
const LOOK_MS = 3_000;
const MAX_TOOLS = 500;
/** Limit for all tool definitions that are sent to the server. */
const MAX_SENT_BYTES = 512 * 1024;

export interface FoundTool {
  readonly server: ToolServer;
  readonly listed: ListedTool;
}

/**
 * The tool servers of one workspace (RN-8): those of the person's own `mcp.json`, and those of the workspace's
 * `.mcp.json` once the person has allowed them here. A change of these files takes effect within seconds.
 */
export class ToolServers implements CustomTools {
  readonly #options: ToolServersOptions;
  readonly #allowances: Allowances;
  readonly #servers = new Map<string, ToolServer>();
  /** Servers that are not started, and why. */
  #idle: readonly ServerStatus[] = [];
  readonly #listeners: (() => void)[] = [];
  /** The last state of each server that was logged. */
  readonly #logged = new Map<string, string>();
  #cancelUpdate = () => {};
  #isDisposed = false;
  #started: Promise<void> | undefined;
  readonly #stopping = new Set<Promise<void>>();

  constructor(options: ToolServersOptions) {
    this.#options = options;
    this.#allowances = new Allowances(options.configFolder, options.workspace.root);
  }

  /** Starts the configured servers and follows changes. Resolves when each is up or has failed. Harmless twice. */
  start(): Promise<void> {
    this.#started ??= this.#update().then(() => {
      this.#changed();
      this.#scheduleUpdate();
    });
    return this.#started;
  }

  /** Calls back when the tools may have changed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** As many tools as fit into a heartbeat, small servers first, so that a large one cannot crowd them out. */
  get tools(): readonly CustomTool[] {
    const sent = this.#sent();
    return this.#all().flatMap(({ listed }) => (sent.has(listed) ? [listed.tool] : []));
  }

  #sent(): ReadonlySet<ListedTool> {
    const sizeOf = ({ tool }: ListedTool): number => JSON.stringify(tool).length;
    const servers = [...this.#servers.values()]
      .map(({ tools }) => ({ tools, size: tools.reduce((sum, listed) => sum + sizeOf(listed), 0) }))
      .toSorted((a, b) => a.size - b.size);
    const sent = new Set<ListedTool>();
    let bytes = 0;
    for (const listed of servers.flatMap(({ tools }) => tools)) {
      bytes += sizeOf(listed);
      if (sent.size >= MAX_TOOLS || bytes > MAX_SENT_BYTES) break;
      sent.add(listed);
    }
    return sent;
  }

  get names(): readonly string[] {
    return this.tools.map(({ name }) => name);
  }

  find(name: string): CustomTool | undefined {
    return this.locate(name)?.listed.tool;
  }

  locate(name: string): FoundTool | undefined {
    if (!isCustomToolName(name)) return undefined;
    return this.#all().find(({ listed }) => listed.tool.name === name);
  }

  /** Whether a program on this machine runs the tool. */
  startsProcess(name: string): boolean {
    return this.locate(name)?.server.entry.reach.kind === 'stdio';
  }

  get status(): readonly ServerStatus[] {
    const sent = this.#sent();
    const running = [...this.#servers.values()].map(({ status }) => {
      const unsent = status.tools.filter((listed) => !sent.has(listed)).length;
      const why = `${unsent} of its tools: there are more than can be told`;
      return unsent === 0 ? status : { ...status, leftOut: [...status.leftOut, why] };
    });
    return [...running, ...this.#idle];
  }

  /** Leaves no process behind. Harmless twice. */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    this.#cancelUpdate();
    for (const server of this.#servers.values()) this.#stop(server);
    this.#servers.clear();
    await Promise.allSettled(this.#stopping);
  }

  #all(): FoundTool[] {
    return [...this.#servers.values()].flatMap((server) =>
      server.tools.map((listed) => ({ server, listed })),
    );
  }

  #scheduleUpdate(): void {
    if (this.#isDisposed) return;
    this.#cancelUpdate = this.#options.clock.after(this.#options.lookMs ?? LOOK_MS, () => {
      this.#updateInBackground();
      this.#scheduleUpdate();
    });
  }

  #updateInBackground(): void {
    void this.#update().catch((error: unknown) => {
      this.#options.logger.error('Tool configuration not readable', { error });
    });
  }

  /** False if a tool has changed the server's program since: then it is not what the person has allowed. */
  #isStillAllowed(entry: ServerEntry, definition: string): boolean {
    const isSame = this.#allowances.allowedDigest(entry) === definition;
    if (!isSame) this.#updateInBackground();
    return isSame;
  }

  /** Starts and stops servers so that they match the configuration. */
  async #update(): Promise<void> {
    if (this.#isDisposed) return;
    const { configFolder, workspace } = this.#options;
    const { entries, unusable } = readServers(configFolder, workspace.root);
    const wanted = new Map<string, { entry: ServerEntry; definition: string }>();
    const idle: ServerStatus[] = unusable.map(({ name, owner, problem }) => ({
      ...emptyStatus,
      name,
      owner,
      state: 'unusable',
      problem,
    }));
    for (const entry of entries) {
      const { name, owner, network } = entry;
      const about = { ...emptyStatus, name, owner, network, runs: describeReach(entry) };
      const definition = entry.isDisabled ? undefined : this.#allowances.allowedDigest(entry);
      if (entry.isDisabled) idle.push({ ...about, state: 'disabled' });
      else if (definition === undefined) {
        const problem = this.#allowances.wasAllowed(entry)
          ? 'it has changed since you allowed it'
          : 'you have not allowed it yet';
        idle.push({ ...about, state: 'not_allowed', problem });
      } else wanted.set(name, { entry, definition });
    }
    const wereIdle = JSON.stringify(this.#idle);
    this.#idle = idle;
    let isChanged = wereIdle !== JSON.stringify(idle);
    for (const [name, server] of this.#servers) {
      if (wanted.get(name)?.definition === server.definition) continue;
      this.#servers.delete(name);
      this.#stop(server);
      isChanged = true;
    }
    const started: Promise<void>[] = [];
    for (const [name, { entry, definition }] of wanted) {
      if (this.#servers.has(name)) continue;
      const server = new ToolServer(entry, definition, {
        ...this.#options,
        onChange: () => this.#changed(),
        onPlanted: (note) => this.#options.logger.error(`Planted by tool server ${name}: ${note}`),
        isStillAllowed: () => this.#isStillAllowed(entry, definition),
      });
      this.#servers.set(name, server);
      this.#options.logger.info(`Tool server starting: ${name}`);
      started.push(server.start());
    }
    if (isChanged && this.#started) this.#changed();
    await Promise.all(started);
  }

  #stop(server: ToolServer): void {
    const stopped = server.stop();
    this.#stopping.add(stopped);
    const forget = () => this.#stopping.delete(stopped);
    stopped.then(forget, forget);
  }

  #changed(): void {
    if (this.#isDisposed) return;
    for (const { name, state, problem } of this.status) {
      const how = problem === undefined ? state : `${state}: ${problem}`;
      if (this.#logged.get(name) !== how) this.#options.logger.info(`Tool server state: ${name}, ${how}`);
      this.#logged.set(name, how);
    }
    for (const listener of this.#listeners) listener();
  }
}

const emptyStatus = { runs: '', network: false, tools: [], leftOut: [] } as const;
