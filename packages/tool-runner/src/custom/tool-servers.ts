import type { CustomTools } from '@countersign/policy';
import { type CustomTool, isCustomToolName } from '@countersign/protocol';
import type { RunnerClock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { Allowances } from './allowances.ts';
import type { ListedTool } from './listed-tools.ts';
import type { ConnectionDeps } from './server-connection.ts';
import { maskerOf, runsWords, type ServerEntry, secretsOf } from './server-entry.ts';
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
/** Limit for all tool definitions together, as they are sent to the server. */
const MAX_TOLD_BYTES = 512 * 1024;

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
  /** Servers that do not run, and why. */
  #idle: readonly ServerStatus[] = [];
  readonly #listeners = new Set<() => void>();
  /** The last state of each server that was logged. */
  readonly #logged = new Map<string, string>();
  #cancelLook = () => {};
  #isOver = false;
  #started: Promise<void> | undefined;
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: ToolServersOptions) {
    this.#options = options;
    this.#allowances = new Allowances(options.configFolder, options.workspace.root);
  }

  /** Starts what is configured, and follows changes. Resolves when each server is up or has failed. Harmless twice. */
  start(): Promise<void> {
    this.#started ??= this.#look().then(() => {
      this.#changed();
      this.#lookAgain();
    });
    return this.#started;
  }

  /** Calls back when the tools may have changed. Returns a function that stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** As many as fit. Servers with the smallest definitions come first, so that a large one crowds out no other. */
  get tools(): readonly CustomTool[] {
    const told = this.#told();
    return this.#all().flatMap(({ listed }) => (told.has(listed) ? [listed.tool] : []));
  }

  #told(): ReadonlySet<ListedTool> {
    const sizeOf = ({ tool }: ListedTool): number => JSON.stringify(tool).length;
    const servers = [...this.#servers.values()]
      .map(({ tools }) => ({ tools, size: tools.reduce((sum, listed) => sum + sizeOf(listed), 0) }))
      .toSorted((a, b) => a.size - b.size);
    const told = new Set<ListedTool>();
    let bytes = 0;
    for (const listed of servers.flatMap(({ tools }) => tools)) {
      bytes += sizeOf(listed);
      if (told.size >= MAX_TOOLS || bytes > MAX_TOLD_BYTES) break;
      told.add(listed);
    }
    return told;
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

  /** Whether that tool is run by a program on this machine. */
  startsProcess(name: string): boolean {
    return this.locate(name)?.server.entry.reach.kind === 'stdio';
  }

  get status(): readonly ServerStatus[] {
    const told = this.#told();
    const running = [...this.#servers.values()].map(({ status }) => {
      const untold = status.tools.filter((listed) => !told.has(listed)).length;
      const why = `${untold} of its tools: there are more than can be told`;
      return untold === 0 ? status : { ...status, leftOut: [...status.leftOut, why] };
    });
    return [...running, ...this.#idle];
  }

  /** Leaves no process behind. Harmless twice. */
  async dispose(): Promise<void> {
    this.#isOver = true;
    this.#cancelLook();
    for (const server of this.#servers.values()) this.#leave(server);
    this.#servers.clear();
    await Promise.allSettled(this.#leaving);
  }

  #all(): FoundTool[] {
    return [...this.#servers.values()].flatMap((server) =>
      server.tools.map((listed) => ({ server, listed })),
    );
  }

  #lookAgain(): void {
    if (this.#isOver) return;
    this.#cancelLook = this.#options.clock.after(this.#options.lookMs ?? LOOK_MS, () => {
      this.#lookNow();
      this.#lookAgain();
    });
  }

  #lookNow(): void {
    void this.#look().catch((error: unknown) => {
      this.#options.logger.error('Tool configuration not readable', { error });
    });
  }

  /** A tool may have changed a server's program since the last look: then it is not what the person agreed to. */
  #isStillAllowed(entry: ServerEntry, definition: string): boolean {
    const isSame = this.#allowances.allowedDigest(entry) === definition;
    if (!isSame) this.#lookNow();
    return isSame;
  }

  /** Starts and stops servers so that they match the configuration. */
  async #look(): Promise<void> {
    if (this.#isOver) return;
    const { configFolder, workspace } = this.#options;
    const { entries, unusable } = readServers(configFolder, workspace.root);
    const wanted = new Map<string, { entry: ServerEntry; definition: string }>();
    const idle: ServerStatus[] = unusable.map(({ name, owner, problem }) => ({
      ...nothing,
      name,
      owner,
      state: 'unusable',
      problem,
    }));
    for (const entry of entries) {
      const { name, owner, network } = entry;
      const mask = maskerOf(owner === 'person' ? secretsOf(entry) : []);
      const about = { ...nothing, name, owner, network, runs: mask(runsWords(entry)) };
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
      this.#leave(server);
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

  #leave(server: ToolServer): void {
    const left = server.stop();
    this.#leaving.add(left);
    const forget = () => this.#leaving.delete(left);
    left.then(forget, forget);
  }

  #changed(): void {
    if (this.#isOver) return;
    for (const { name, state, problem } of this.status) {
      const how = problem === undefined ? state : `${state}: ${problem}`;
      if (this.#logged.get(name) !== how) this.#options.logger.info(`Tool server state: ${name}, ${how}`);
      this.#logged.set(name, how);
    }
    for (const listener of this.#listeners) listener();
  }
}

const nothing = { runs: '', network: false, tools: [], leftOut: [] } as const;
