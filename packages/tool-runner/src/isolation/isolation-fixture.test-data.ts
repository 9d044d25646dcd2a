import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defaultLimits, type Limits } from '@countersign/protocol';
import { KeptOutput } from '../commands/command-output.ts';
import { waitForEnd } from '../commands/run-to-end.ts';
import type { Workspace } from '../workspace.ts';
import type { Confinement, ProcessRequest } from './isolated-process.ts';
import { probeIsolation } from './isolation-probe.ts';
import { IsolatingStarter, type ProcessStarterOptions } from './process-starter.ts';

/** Whether to skip tests of isolation: if it does not work here, except in CI, where every test must run. */
export const cannotIsolate = process.env.CI === undefined && 'problem' in probeIsolation();

export const lookOnly: Confinement = { workspace: 'read', network: false, maskSensitive: true };
export const mayWrite: Confinement = { workspace: 'write', network: false, maskSensitive: false };
export const mayUseNetwork: Confinement = { ...mayWrite, network: true };

export interface Answer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
}

/** A workspace in a real folder, a home and a state folder beside it, and a starter for it. */
export class IsolationFixture {
  readonly parent = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-isolation-')));
  readonly root = join(this.parent, 'workspace');
  readonly home = join(this.parent, 'home');
  readonly workspace: Workspace;
  readonly starter: IsolatingStarter;

  constructor(
    options: ProcessStarterOptions & { limits?: Partial<Limits>; addedEnvironment?: string[] } = {},
  ) {
    chmodSync(this.parent, 0o755);
    for (const folder of ['workspace', 'home', 'state']) mkdirSync(join(this.parent, folder));
    this.workspace = {
      root: this.root,
      home: this.home,
      stateFolder: join(this.parent, 'state'),
      limits: { ...defaultLimits, ...options.limits },
      addedEnvironment: options.addedEnvironment ?? [],
    };
    this.starter = new IsolatingStarter(this.workspace, options);
  }

  write(path: string, content = ''): void {
    const target = join(this.root, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
  }

  makeRepository(): void {
    execFileSync('git', ['init', '--quiet', this.root]);
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  bash(line: string, confinement: Confinement = lookOnly): Promise<Answer> {
    return this.run('bash', ['-c', line], confinement);
  }

  async run(
    program: string,
    args: readonly string[],
    confinement: Confinement = lookOnly,
    more: Partial<ProcessRequest> = {},
  ): Promise<Answer> {
    const child = this.starter.start({ program, args, cwd: '', confinement, stdin: 'ignore', ...more });
    const stdout = new KeptOutput(1024 * 1024);
    const stderr = new KeptOutput(1024 * 1024);
    child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk));
    await waitForEnd(this.starter, child, program);
    return { stdout: stdout.text(), stderr: stderr.text(), exitCode: child.exitCode };
  }

  async remove(): Promise<void> {
    await this.starter.dispose();
    rmSync(this.parent, { recursive: true, force: true });
  }
}
