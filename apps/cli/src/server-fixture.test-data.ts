import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, createClient } from '@countersign/client';
import { main } from './main.ts';
import { FakeScreen, fakeTerminal } from './screen/screen-fixture.test-data.ts';

const program = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));

/** The real server, as `countersign serve` starts it, and a person's folders, all below one temporary folder. */
export class ServerFixture {
  readonly folder: string;
  readonly workspace: string;
  readonly env: Record<string, string>;
  readonly address: string;
  readonly link: string;
  readonly #server: ChildProcess;
  readonly #open: { screen: FakeScreen; ended: Promise<number> }[] = [];

  private constructor(folder: string, server: ChildProcess, said: string) {
    this.folder = folder;
    this.#server = server;
    this.workspace = join(folder, 'workspace');
    mkdirSync(this.workspace);
    const config = join(folder, 'config');
    this.env = { HOME: folder, XDG_CONFIG_HOME: config, XDG_STATE_HOME: join(folder, 'state'), LANG: 'C' };
    this.link = /http\S+#sign-in=\S+/.exec(said)?.[0] ?? '';
    this.address = new URL(this.link).origin;
  }

  static async start(): Promise<ServerFixture> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-terminal-')));
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
    const fixture = new ServerFixture(folder, server, said);
    const terminal = fakeTerminal({ input: `${fixture.link}\n` });
    if ((await main(['sign-in', '--json'], terminal, fixture.env)) !== 0) throw new Error(terminal.error());
    return fixture;
  }

  /** The person's own client, with the token that signing in has kept. */
  async client(): Promise<Client> {
    const { serverAccess } = await import('./sign-in/server-access.ts');
    const { wordsFor } = await import('./words.ts');
    const { connection } = serverAccess(undefined, wordsFor({}), this.env).client;
    return createClient({ ...connection, device: 'phone' });
  }

  /** One command, without a screen. */
  async run(...argv: string[]): Promise<{ status: number; out: string; error: string }> {
    const terminal = fakeTerminal();
    const status = await main(argv, terminal, this.env);
    return { status, out: terminal.out(), error: terminal.error() };
  }

  /** One command at a screen; `ended` is its exit status. */
  open(
    argv: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): { screen: FakeScreen; ended: Promise<number>; error: () => string } {
    const screen = new FakeScreen(100, 40);
    const terminal = fakeTerminal({ screen });
    const ended = main(argv, terminal, { ...this.env, ...env });
    this.#open.push({ screen, ended });
    return { screen, ended, error: terminal.error };
  }

  /** Ends sessions that a test has left open, so that its failure does not fail other tests. */
  async endSessions(): Promise<void> {
    for (const { screen, ended } of this.#open.splice(0)) {
      if (screen.isTaken) screen.send('\u0003');
      await ended;
    }
  }

  stopServer(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.once('exit', () => resolve());
      if (!this.#server.kill('SIGTERM')) resolve();
    });
  }

  async close(): Promise<void> {
    await this.stopServer();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const linesOfJson = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
