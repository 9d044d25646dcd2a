import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CountersignError,
  type CustomToolCall,
  type CustomToolName,
  type JsonValue,
} from '@countersign/protocol';
import { systemClock } from '../clock.ts';
import type { Progress, ToolResult } from '../executor.ts';
import { RecordedLogger } from '../handler-fixture.test-data.ts';
import { IsolationFixture } from '../isolation/isolation-fixture.test-data.ts';
import { CustomExecutor } from './custom-executor.ts';
import type { ServerStatus } from './tool-server.ts';
import { ToolServerList } from './tool-server-list.ts';
import { ToolServers } from './tool-servers.ts';

export const hostileServer = fileURLToPath(new URL('./hostile-server.test-data.ts', import.meta.url));

const neverAborted = new AbortController().signal;

/** An entry of the hostile server. */
export const hostile = (manner: string, more: object = {}) => ({
  command: 'node',
  args: ['--disable-warning=ExperimentalWarning', hostileServer, manner],
  env: { SECRET: 'hunter2-secret' },
  ...more,
});

/** Real servers in real isolation, with a workspace and a configuration of their own. */
export class ToolServersFixture {
  readonly isolation = new IsolationFixture({ killDelayMs: 500 });
  readonly configFolder = join(this.isolation.parent, 'config');
  readonly logger = new RecordedLogger();
  readonly servers: ToolServers;
  readonly executor: CustomExecutor;
  readonly progress: Progress[] = [];

  constructor({ idleMs = 60_000, listPauseMs = 20, lookMs = 100 } = {}) {
    mkdirSync(this.configFolder, { mode: 0o700 });
    const { workspace, starter } = this.isolation;
    this.servers = new ToolServers({
      workspace,
      configFolder: this.configFolder,
      starter,
      clock: systemClock,
      logger: this.logger,
      idleMs,
      listPauseMs,
      lookMs,
    });
    this.executor = new CustomExecutor(workspace, this.servers);
  }

  get root(): string {
    return this.isolation.root;
  }

  get desk(): ToolServerList {
    return new ToolServerList(this.isolation.workspace, this.configFolder);
  }

  configure(mcpServers: object): void {
    writeFileSync(join(this.configFolder, 'mcp.json'), JSON.stringify({ mcpServers }), { mode: 0o600 });
  }

  status(name: string): ServerStatus {
    const found = this.servers.status.find((server) => server.name === name);
    if (!found) throw new Error(`No server ${name}: ${JSON.stringify(this.servers.status)}`);
    return found;
  }

  /** The digest that an approval of this call covers. */
  digest(call: CustomToolCall): string {
    return this.executor.digest(call);
  }

  /** Calls a tool as the handler does, with an approval of the tool as it is now. */
  async call(
    tool: CustomToolName,
    params: Record<string, JsonValue>,
    { signal = neverAborted, digest = '' }: { signal?: AbortSignal; digest?: string } = {},
  ): Promise<ToolResult> {
    const call = { tool, params };
    return this.executor.execute(call, {
      toolId: 't',
      attempt: 1,
      sessionId: 's',
      riskLevel: 'MEDIUM',
      network: false,
      digest: digest || this.digest(call),
      signal,
      onProgress: (made) => this.progress.push(made),
      changes: { begin: () => {} },
    });
  }

  /** The code and the words of a failure. */
  async failure(...args: Parameters<ToolServersFixture['call']>): Promise<string> {
    try {
      return JSON.stringify(await this.call(...args));
    } catch (error) {
      if (!(error instanceof CountersignError)) throw error;
      return `${error.code}: ${error.message}`;
    }
  }

  async until(holds: () => boolean, what: string): Promise<void> {
    const started = performance.now();
    while (!holds()) {
      if (performance.now() - started > 120_000)
        throw new Error(`${what} never came: ${JSON.stringify(this.servers.status)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async remove(): Promise<void> {
    await this.servers.dispose();
    await this.isolation.remove();
  }
}
