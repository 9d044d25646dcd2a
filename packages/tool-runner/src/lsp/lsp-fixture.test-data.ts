import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type BuiltInToolName,
  defaultLimits,
  findTool,
  type Limits,
  parseToolCall,
} from '@countersign/protocol';
import { BuiltInTools } from '../built-in-tools.ts';
import type { CallContext } from '../executor.ts';
import type { ProcessRequest, ProcessStarter } from '../isolation/isolated-process.ts';
import { IsolatingStarter } from '../isolation/process-starter.ts';
import type { Workspace } from '../workspace.ts';
import { LspExecutor, type LspExecutorOptions } from './lsp-executor.ts';

/** A real folder and an executor for it. */
export class LspFixture {
  readonly workspace: Workspace;
  readonly requests: ProcessRequest[] = [];
  readonly children: ChildProcess[] = [];
  readonly isolation: IsolatingStarter;
  readonly starter: ProcessStarter;
  readonly #parent = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-lsp-')));
  readonly #executors: LspExecutor[] = [];

  /** Without isolation a fake server may leave a file behind to tell what it did. */
  constructor(
    files: Readonly<Record<string, string>>,
    { isolated, limits }: { readonly isolated: boolean; readonly limits?: Partial<Limits> },
  ) {
    const root = join(this.#parent, 'workspace');
    this.workspace = {
      root,
      stateFolder: join(this.#parent, 'state'),
      limits: { ...defaultLimits, ...limits },
      home: join(this.#parent, 'home'),
      addedEnvironment: [],
    };
    for (const folder of [root, this.workspace.stateFolder, this.workspace.home]) mkdirSync(folder);
    this.isolation = new IsolatingStarter(this.workspace, {
      allowUnisolated: true,
      killDelayMs: 300,
      ...(isolated ? {} : { bubblewrap: join(this.#parent, 'none') }),
    });
    this.starter = {
      start: (request) => {
        this.requests.push(request);
        const child = this.isolation.start(request);
        this.children.push(child);
        return child;
      },
      stop: (child) => this.isolation.stop(child),
    };
    for (const [path, content] of Object.entries(files)) this.write(path, content);
  }

  /** `../x` stands beside the workspace. */
  write(path: string, content: string | Uint8Array): void {
    const target = join(this.workspace.root, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
  }

  remove(path: string): void {
    rmSync(join(this.workspace.root, path));
  }

  /** How many of the started servers still run. */
  get running(): number {
    return this.children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      .length;
  }

  executor(options: Partial<LspExecutorOptions> = {}): LspExecutor {
    const executor = new LspExecutor({ workspace: this.workspace, starter: this.starter, ...options });
    this.#executors.push(executor);
    return executor;
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#executors.map((executor) => executor.dispose()));
    await this.isolation.dispose();
    rmSync(this.#parent, { recursive: true, force: true });
  }
}

/** Calls a tool as the handler does, and checks the result against the catalogue. */
export async function callTool(
  executor: LspExecutor,
  tool: BuiltInToolName,
  params: object,
  signal: AbortSignal = new AbortController().signal,
  // biome-ignore lint/suspicious/noExplicitAny: each tool has its own result, which the catalogue has checked
): Promise<any> {
  const parsed = parseToolCall(tool, params);
  if (!parsed.ok) throw new Error(parsed.error.message);
  const context: CallContext = {
    toolId: 'tool-1',
    attempt: 1,
    sessionId: 'session-1',
    riskLevel: 'LOW',
    network: false,
    signal,
    onProgress() {},
    changes: { begin() {} },
  };
  return findTool(tool)?.result.parse(
    await new BuiltInTools({ lsp: executor }).execute(parsed.call, context),
  );
}

/** The code of the error that a call ends with. */
export async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}
