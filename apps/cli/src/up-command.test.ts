import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { main } from './main.ts';
import { FakeScreen, fakeTerminal } from './screen/screen-fixture.test-data.ts';
import { widthOf, withoutStyles } from './screen/text-width.ts';
import { openInBrowser } from './up/open-in-browser.ts';
import { RestartingServer } from './up/restarting-server.ts';
import { announceUp, findRunningUp, readUpRecord } from './up/running-up.ts';
import { ServerProcess } from './up/server-process.ts';
import { isForPages, isFree, preferredPorts } from './up/up-session.ts';
import { wordsFor } from './words.ts';

/** Kept between tests and runs: a server that need not be compiled starts in a third of the time. */
const codeCache = join(tmpdir(), 'countersign-e2e-compile-cache');
let folder: string;
let env: Record<string, string>;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-up-')));
  const page = join(folder, 'page');
  mkdirSync(page);
  writeFileSync(join(page, 'index.html'), 'the page');
  env = {
    HOME: folder,
    PATH: process.env.PATH ?? '',
    LANG: 'en',
    COUNTERSIGN_WEB_FOLDER: page,
    NODE_COMPILE_CACHE: codeCache,
  };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** `countersign up …` in this process, at a screen. */
function up(...words: (string | { readonly columns: number })[]) {
  const argv = words.filter((word) => typeof word === 'string');
  const { columns } = words.find((word) => typeof word !== 'string') ?? { columns: 160 };
  const screen = new FakeScreen(columns, 60);
  const terminal = fakeTerminal({ screen });
  const ended = main(['up', ...argv], { ...terminal, screen }, env);
  const link = async () => {
    await screen.shows(/Ctrl-C ends everything/);
    return /http:\S+#sign-in=\S+/.exec(screen.text)?.[0] as string;
  };
  return { screen, terminal, ended, link };
}

/** The server that this process has started. */
function serverPid(): number {
  const children = readdirSync(`/proc/${process.pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${process.pid}/task/${task}/children`, 'utf8').split(' '))
    .filter((pid) => pid !== '');
  const isServer = (pid: string) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('server/src/main.ts');
  return Number(children.find(isServer));
}

describe('countersign up, at a terminal', () => {
  it('[UI-4] shows its address, opens the page again with o, and ends with Ctrl-C', async () => {
    const { screen, ended, link, terminal } = up('--no-open');
    const first = await link();
    expect(await (await fetch(new URL(first).origin)).text()).toBe('the page');
    for (const words of [
      'a sample to play with',
      'manual (you type',
      '/run node --test',
      'o opens the page',
    ]) {
      expect(screen.text).toContain(words);
    }
    screen.type('o');
    await screen.shows('A fresh sign-in link');
    const links = screen.text.match(/#sign-in=\S+/g) ?? [];
    expect(new Set(links).size).toBe(2);

    // Run a second `up` while the first one runs: once in Russian, and once with --json.
    const second = fakeTerminal();
    expect(await main(['up', '--lang', 'ru', '--no-open'], second, env)).toBe(0);
    expect(second.out()).toContain('уже работает');
    const forProgram = fakeTerminal();
    expect(await main(['up', '--json'], forProgram, env)).toBe(0);
    expect(JSON.parse(forProgram.out())).toMatchObject({ already_running: true, pid: process.pid });

    process.kill(serverPid(), 'SIGKILL');
    await screen.shows('The server is back');
    screen.send('\u0003');
    expect([await ended, terminal.error()]).toEqual([0, '']);
    expect(screen.text).toContain('Everything is stopped.');
    await expect(fetch(new URL(first).origin)).rejects.toThrow();
  });

  it('[UI-4] prints one line for a program, and ends when its terminal goes away', async () => {
    const terminal = fakeTerminal();
    const workspace = join(folder, 'mine');
    mkdirSync(workspace);
    const ended = main(['up', workspace, '--json'], terminal, env);
    while (!terminal.out().includes('\n')) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(JSON.parse(terminal.out())).toMatchObject({ ready: true, workspace, first_message: null });
    process.emit('SIGHUP', 'SIGHUP');
    expect(await ended).toBe(0);
  });

  it('[UI-4] uses another port if the last one is taken', async () => {
    const first = up('--no-open');
    const { port } = new URL(await first.link());
    first.screen.send('\u0003');
    await first.ended;
    const squatter = createServer().listen(Number(port), '127.0.0.1');
    const second = up('--no-open');
    await second.link();
    expect(second.screen.text).toContain(`Port ${port} is taken, so it is `);
    second.screen.send('\u0003');
    expect(await second.ended).toBe(0);
    const named = up('--port', port);
    expect([await named.ended, named.terminal.error()]).toEqual([2, expect.stringContaining('[USAGE]')]);
    squatter.close();
  });

  it('[UI-4] refuses a named port that browsers block, and ignores a remembered one', async () => {
    const workspace = join(folder, 'mine');
    mkdirSync(workspace);
    const barred = up(workspace, '--no-open', '--port', '6000');
    expect([await barred.ended, barred.terminal.error()]).toEqual([2, expect.stringContaining('Port 6000')]);
    expect(await isForPages(6000)).toBe(false);
    const next = up(workspace, '--no-open');
    await next.link();
    next.screen.send('\u0003');
    expect(await next.ended).toBe(0);
  });

  it('[UI-4] prints its introduction at 60 columns without splitting a word or its link', async () => {
    const { screen, ended, link } = up({ columns: 60 }, '--no-open');
    await link();
    const lines = screen.text.split(/\r?\n/).map(withoutStyles);
    expect(lines.filter((line) => widthOf(line) > 60 && !line.includes('#sign-in='))).toEqual([]);
    expect(screen.text).toContain('key give you an agent)');
    screen.send('\u0003');
    expect(await ended).toBe(0);
  });

  it('[UI-4] says why the server cannot start', async () => {
    env.COUNTERSIGN_MODEL_URL = 'no address';
    const { ended, terminal } = up('--no-open');
    expect(await ended).toBe(1);
    expect(terminal.error()).toMatch(/The server did not start: .*COUNTERSIGN_MODEL_URL/s);
  });

  it('[UI-4] explains itself, in both languages', async () => {
    const { ended, screen } = up('--help');
    expect([await ended, screen.text]).toEqual([0, expect.stringContaining('countersign up DIR')]);
    const [english, russian] = [wordsFor({}, 'en').up, wordsFor({ LANG: 'ru_RU.UTF-8' }, undefined).up];
    expect(Object.keys(russian)).toEqual(Object.keys(english));
    const say = (words: typeof english) =>
      Object.values(words).map((word) =>
        typeof word === 'function' ? (word as (...args: unknown[]) => string)(1, 2) : word,
      );
    for (const [i, text] of say(russian).entries()) expect(text).not.toBe(say(english)[i]);
  });
});

describe('the server of countersign up', () => {
  it('is restarted when it dies, and given up when it keeps dying', async () => {
    const start = () =>
      new ServerProcess(env).serve({
        folder: join(folder, 'server'),
        port: 0,
        policyFile: join(folder, 'config/policy.json'),
      });
    const said: string[] = [];
    let current: ServerProcess | undefined;
    let back = () => {};
    let givenUp = (_why: string) => {};
    const end = new Promise<string>((resolve) => {
      givenUp = resolve;
    });
    current = await start();
    new RestartingServer(current, {
      start: async () => {
        current = await start();
        return current;
      },
      onDied: (how) => said.push(how),
      onBack: () => back(),
      onGivenUp: (why) => givenUp(why),
    });
    for (let death = 1; death <= 3; death += 1) {
      const isBack = new Promise<void>((resolve) => {
        back = resolve;
      });
      current.kill();
      await isBack;
    }
    current.kill();
    expect(await end).toMatch(/^SIGKILL/);
    expect(said).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL']);
    await current.stop(); // stopping twice is harmless
    await expect(current.signInLink()).rejects.toThrow();
  });
});

describe('what countersign up finds and keeps', () => {
  it('prefers the port of last time, then one of the workspace, then any', async () => {
    const [own, any] = preferredPorts('/a', undefined);
    expect([own, any]).toEqual([expect.any(Number), 0]);
    expect(preferredPorts('/a', 5000)).toEqual([5000, own, 0]);
    expect(preferredPorts('/b', undefined)[0]).not.toBe(own);
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
    const { port } = squatter.address() as { port: number };
    expect(await isFree(port)).toBe(false);
    await new Promise((resolve) => squatter.close(resolve));
    expect(await isFree(port)).toBe(true);
  });

  it('is found by a second one, even if the path is too long for a socket', async () => {
    const deep = join(folder, 'd'.repeat(80), 'state');
    const here = {
      address: 'http://127.0.0.1:4180',
      signInLink: async () => 'http://127.0.0.1:4180/#sign-in=x',
    };
    const end = await announceUp(deep, here);
    expect(await findRunningUp(deep)).toEqual({
      pid: process.pid,
      address: here.address,
      sign_in_link: 'http://127.0.0.1:4180/#sign-in=x',
    });
    const { socket } = readUpRecord(deep);
    expect(statSync(join(socket as string, '..')).mode & 0o777).toBe(0o700);
    end();
    expect([await findRunningUp(deep), readUpRecord(deep)]).toEqual([undefined, { port: 4180 }]);
    writeFileSync(join(deep, 'up.json'), JSON.stringify({ socket: join(deep, 'nobody.sock') }));
    expect(await findRunningUp(deep)).toBe(undefined);
    const failing = await announceUp(deep, { ...here, signInLink: () => Promise.reject(new Error('gone')) });
    expect(await findRunningUp(deep)).toBe(undefined);
    failing();
  });

  it('opens a browser if there is one, and does not fail if there is none', async () => {
    const programs = join(folder, 'programs');
    mkdirSync(programs);
    const script = '#!/bin/sh\necho "$0 $*" >> "$HOME/asked"\n';
    for (const name of ['xdg-open', 'open', 'rundll32'])
      writeFileSync(join(programs, name), script, { mode: 0o755 });
    const desktop = { HOME: folder, PATH: `${programs}:${process.env.PATH}`, DISPLAY: ':1' };
    const answers = [
      await openInBrowser('http://a/', desktop, 'linux'),
      await openInBrowser('http://a/', desktop, 'darwin'),
      await openInBrowser('http://a/', desktop, 'win32'),
      await openInBrowser('http://a/', { ...desktop, DISPLAY: '' }, 'linux'),
      await openInBrowser('http://a/', { ...desktop, CI: '1' }, 'darwin'),
      await openInBrowser('http://a/', { ...desktop, PATH: folder }, 'linux'),
    ];
    expect(answers).toEqual([true, true, true, false, false, false]);
    const asked = () => readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n');
    await expect.poll(() => asked().length).toBe(3);
  });
});
