import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Account, Accounts } from './connection/account.ts';

const program = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));

/** The real server, as `countersign serve` starts it, and a person's folders, all below one temporary folder. */
export class ServerFixture {
  readonly folder: string;
  readonly workspace: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly link: string;
  readonly #server: ChildProcess;

  private constructor(folder: string, server: ChildProcess, link: string) {
    this.folder = folder;
    this.#server = server;
    this.link = link;
    this.workspace = join(folder, 'workspace');
    mkdirSync(this.workspace);
    this.environment = {
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, 'config'),
      XDG_STATE_HOME: join(folder, 'state'),
    };
  }

  static async start(): Promise<ServerFixture> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-vscode-')));
    const server = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', program, '--port', '0'],
      {
        env: {
          PATH: process.env.PATH,
          HOME: folder,
          XDG_DATA_HOME: join(folder, 'data'),
          COUNTERSIGN_LOG_LEVEL: 'error',
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let said = '';
    for await (const text of server.stdout.setEncoding('utf8')) {
      said += text;
      if (said.includes('#sign-in=') && said.endsWith('\n')) break;
    }
    return new ServerFixture(folder, server, /http\S+#sign-in=\S+/.exec(said)?.[0] ?? '');
  }

  /** Signs in with the link, which works once. */
  async signIn(secrets = new MemorySecrets()): Promise<{ account: Account; accounts: Accounts }> {
    const accounts = new Accounts({ secrets, device: 'the editor' });
    const account = await accounts.signIn(this.link, { server: '', allowHttp: false });
    if ('problem' in account) throw new Error(account.problem);
    return { account, accounts };
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.once('exit', () => resolve());
      if (!this.#server.kill('SIGTERM')) resolve();
    });
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The editor's secret storage, in memory. */
export class MemorySecrets {
  readonly kept = new Map<string, string>();

  async get(key: string): Promise<string | undefined> {
    return this.kept.get(key);
  }

  async store(key: string, value: string): Promise<void> {
    this.kept.set(key, value);
  }

  async delete(key: string): Promise<void> {
    this.kept.delete(key);
  }
}
