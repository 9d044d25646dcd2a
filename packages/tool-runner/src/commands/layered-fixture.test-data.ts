import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isRefused } from '@countersign/policy';
import { type BuiltInToolCall, defaultLimits, findTool } from '@countersign/protocol';
import type { CallContext } from '../executor.ts';
import { RecordedLogger } from '../handler-fixture.test-data.ts';
import { openWorkspace, type WorkspaceParts } from '../open-workspace.ts';
import { landingFor } from './landing.test-data.ts';

type Fields = Readonly<Record<string, unknown>>;
/** The result of a command, as the tests read it. */
export interface Ran extends Fields {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number | null;
}

/** A workspace whose commands run in layers and land, and whose person is Ada. */
export class LayeredFixture {
  readonly parent: string;
  readonly root: string;
  readonly stateFolder: string;
  readonly runner: WorkspaceParts;

  /** `name`: that of the workspace's folder. */
  constructor({
    base = tmpdir(),
    name = 'workspace',
    runnerJson,
  }: { readonly base?: string; readonly name?: string; readonly runnerJson?: object } = {}) {
    this.parent = realpathSync(mkdtempSync(join(base, 'countersign-layered-')));
    chmodSync(this.parent, 0o755);
    const [root, home, config] = [name, 'home', 'config'].map((folder) => join(this.parent, folder)) as [
      string,
      string,
      string,
    ];
    for (const folder of [root, home, config]) mkdirSync(folder, { mode: 0o755 });
    writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n');
    if (runnerJson) writeFileSync(join(config, 'runner.json'), JSON.stringify({ version: 1, ...runnerJson }));
    this.root = root;
    this.stateFolder = join(this.parent, 'state');
    this.runner = openWorkspace(
      {
        workspace: { root, home, stateFolder: this.stateFolder, limits: defaultLimits, addedEnvironment: [] },
        configFolder: config,
      },
      new RecordedLogger(),
    );
  }

  write(path: string, content = `${path}\n`): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  read(path: string): string | undefined {
    return existsSync(join(this.root, path)) ? readFileSync(join(this.root, path), 'utf8') : undefined;
  }

  git(...args: string[]): string {
    const env = { ...process.env, HOME: join(this.parent, 'home') };
    return execFileSync('git', args, { cwd: this.root, encoding: 'utf8', env });
  }

  /** Runs an approved line with this machine's own reading of it. */
  async run(command: string, more: Partial<CallContext> & { readonly timeout?: number } = {}): Promise<Ran> {
    const { timeout = 200, ...context } = more;
    const params = { command, timeout };
    const { verdict, details } = this.runner.verdict.decide('shell_exec', params);
    if (isRefused(verdict)) throw new Error(verdict.message);
    const result = await this.runner.builtIn.execute({ tool: 'shell_exec', params } as BuiltInToolCall, {
      toolId: 'tool-1',
      attempt: 1,
      sessionId: 'session-1',
      riskLevel: 'HIGH',
      network: false,
      details,
      signal: new AbortController().signal,
      onProgress: () => {},
      changes: { begin: () => {} },
      landing: landingFor(this.runner),
      ...context,
    });
    findTool('shell_exec')?.result.parse(result);
    return result as unknown as Ran;
  }

  async remove(): Promise<void> {
    await this.runner.dispose();
    rmSync(this.parent, { recursive: true, force: true });
  }
}

/** What a command sees and does, the same for every user and file system. */
export async function seenInLayer(base: string): Promise<Fields> {
  const fixture = new LayeredFixture({ base });
  const { runner } = fixture;
  try {
    fixture.write('kept');
    fixture.write('edited');
    fixture.write('gone/deep');
    const first = await fixture.run(
      'id -u; pwd; echo new > edited; rm -r gone; mkdir made; echo x > made/f; ln -s f made/l; chmod 600 kept; echo t > /tmp/note; grep CapEff /proc/self/status; cat edited',
    );
    const second = await fixture.run('cat edited made/f /tmp/note; ls');
    const alone = await runner.builtIn.execute(
      {
        tool: 'execute_command',
        params: { command: 'python3', args: ['-c', 'open("py", "w")'], timeout: 200 },
      },
      {
        toolId: 'tool-2',
        attempt: 1,
        sessionId: 'another',
        riskLevel: 'MEDIUM',
        network: false,
        signal: new AbortController().signal,
        onProgress: () => {},
        changes: { begin: () => {} },
        landing: landingFor(runner),
      },
    );
    const { problem } = runner.layers;
    await runner.layers.idle();
    return {
      problem: problem ?? null,
      first: first.stdout.replace(fixture.root, 'ROOT'),
      changed: first.changed_files,
      undoable: first.undoable,
      second: second.stdout,
      alone: alone.changed_files,
      left: execFileSync('find', [join(fixture.stateFolder, 'layers'), '-mindepth', '1'], {
        encoding: 'utf8',
      }),
    };
  } finally {
    await fixture.remove();
  }
}
