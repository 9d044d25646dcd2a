/** The set-up with real processes and files, and a fake npm that needs no network. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const setUpScript = fileURLToPath(new URL('set-up.mjs', import.meta.url));
const fakeNpm = fileURLToPath(new URL('set-up/npm-fake.mjs', import.meta.url));

let root: string;
let stop: (() => void)[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'countersign-set-up-'));
  stop = [() => rmSync(root, { recursive: true, force: true })];
  writeJson('package.json', { name: 'example', workspaces: ['packages/*'], dependencies: { one: '1.0.0' } });
  writeJson('packages/inner/package.json', { name: 'inner' });
  writeLock({ '': { dependencies: { one: '1.0.0' } }, 'node_modules/one': { version: '1.0.0' } });
});

afterEach(() => {
  for (const step of stop.reverse()) step();
});

describe('when there is nothing to do', () => {
  it('is silent, and does not start npm', async () => {
    await setUp();
    expect(await setUp()).toEqual({ code: 0, output: '' });
    expect(npmRuns()).toBe(1);
  });

  it('accepts an npm install that was run by hand', async () => {
    mkdirSync(join(root, 'node_modules', 'one'), { recursive: true });
    copyFileSync(join(root, 'package-lock.json'), join(root, 'node_modules', '.package-lock.json'));
    expect(await setUp()).toEqual({ code: 0, output: '' });
    expect(npmRuns()).toBe(0);
  });
});

describe('when there is something to do', () => {
  it('installs, and says that it does', async () => {
    const { code, output } = await setUp();
    expect(code).toBe(0);
    expect(output).toMatch(
      /^Setting up: installing the packages this project needs …\nSet up after \d+ s\.\n$/,
    );
    expect(existsSync(join(root, 'node_modules', 'one'))).toBe(true);
  });

  it('notices a lock file that changed', async () => {
    await setUp();
    writeLock({ '': { dependencies: { one: '1.0.0' } }, 'node_modules/one': { version: '1.0.1' } });
    expect(await setUp()).toMatchObject({ code: 0 });
    expect(npmRuns()).toBe(2);
  });

  it('leaves npm alone when a change of a manifest needs no install', async () => {
    await setUp();
    writeJson('packages/inner/package.json', { name: 'inner', description: 'new words' });
    expect(await setUp()).toEqual({ code: 0, output: '' });
    expect(npmRuns()).toBe(1);
  });

  it('notices a workspace that was added', async () => {
    await setUp();
    writeJson('packages/other/package.json', { name: 'other', dependencies: { one: '1.0.0' } });
    await setUp();
    expect(npmRuns()).toBe(2);
  });

  it('notices that node_modules is gone', async () => {
    await setUp();
    rmSync(join(root, 'node_modules'), { recursive: true });
    await setUp();
    expect(npmRuns()).toBe(2);
  });

  it('works without a writable home folder', async () => {
    const { code } = await setUp({ HOME: '/dev/null/nowhere', npm_config_cache: undefined });
    expect(code).toBe(0);
    expect(npmArguments()).toContain(`--cache=${join(root, '.cache', 'npm')}`);
  });
});

describe('the web page', () => {
  const built = () => readFileSync(join(root, 'apps/web/dist/index.html'), 'utf8');
  const writeText = (path: string, text: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  /** A fake builder that counts its runs in the page it writes, and fails when a source says so. */
  const builder = `
    import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
    if (readFileSync('src/main.tsx', 'utf8').includes('broken')) {
      console.error('main.tsx: this does not parse');
      process.exit(1);
    }
    mkdirSync('dist', { recursive: true });
    const runs = existsSync('dist/index.html') ? Number(readFileSync('dist/index.html', 'utf8')) : 0;
    writeFileSync('dist/index.html', String(runs + 1));`;

  beforeEach(async () => {
    writeText('apps/web/index.html', '<!doctype html>');
    writeText('apps/web/src/main.tsx', 'one');
    await setUp({ FAKE_NPM: undefined }); // installs; the builder does not exist yet
    writeText('node_modules/vite/package.json', '{"type":"module"}');
    writeText('node_modules/vite/bin/vite.js', builder);
  });

  it('is built once, and again when its sources changed', async () => {
    expect(await setUp()).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        /^Setting up: building the web page …\nBuilt the web page after \d+ s\.\n$/,
      ),
    });
    expect(await setUp()).toEqual({ code: 0, output: '' });
    writeText('packages/ui/src/chat/new-part.tsx', 'new');
    await setUp();
    expect(built()).toBe('2');
    writeText('packages/ui/src/chat/new-part.test.tsx', 'a test is no part of it');
    writeText('apps/web/src/main.tsx', 'one');
    expect(await setUp()).toEqual({ code: 0, output: '' });
  });

  it('is built again when it is gone', async () => {
    await setUp();
    rmSync(join(root, 'apps/web/dist'), { recursive: true });
    await setUp();
    expect(built()).toBe('1');
  });

  it('does not fail the set-up when it cannot be built, says why, and is tried again', async () => {
    writeText('apps/web/src/main.tsx', 'broken');
    const { code, output } = await setUp();
    expect(code).toBe(0);
    expect(output).toContain('The web page was not built');
    expect(output).toContain('  main.tsx: this does not parse');
    writeText('apps/web/src/main.tsx', 'mended');
    await setUp();
    expect(built()).toBe('1');
  });
});

describe('when npm fails', () => {
  it('says what to do when the registry cannot be reached', async () => {
    const { code, output } = await setUp({ FAKE_NPM: 'offline' });
    expect(code).toBe(1);
    expect(output).toContain('Could not reach the npm registry');
    expect(output).toContain('Connect once and run the same command again; nothing else was changed.');
    expect(output).not.toContain('    at ');
  });

  it('shows the last lines of npm output, and where the rest is', async () => {
    const { code, output } = await setUp({ FAKE_NPM: 'broken' });
    expect(code).toBe(1);
    expect(output).toContain('  npm error the lock file is out of step');
    expect(output).toContain(join(root, '.cache', 'set-up.log'));
    expect(readFileSync(join(root, '.cache', 'set-up.log'), 'utf8')).toContain('out of step');
  });

  it('says so when there is no npm at all', async () => {
    const { code, output } = await setUp({ npm_execpath: undefined, PATH: '' });
    expect(code).toBe(1);
    expect(output).toContain('Install npm');
  });

  it('tries again the next time', async () => {
    await setUp({ FAKE_NPM: 'offline' });
    expect(await setUp()).toMatchObject({ code: 0 });
    expect(npmRuns()).toBe(2);
  });
});

describe('when two start at once', () => {
  it('installs once, while the other waits', async () => {
    const gate = await openGate();
    const first = start({ FAKE_NPM_GATE: gate.path });
    const npm = await gate.arrival();
    const second = start();
    await said(second, 'Another set-up is at work here');

    npm.end('go on');
    expect(await ended(first)).toMatchObject({ code: 0 });
    expect(await ended(second)).toMatchObject({ code: 0 });
    expect(npmRuns()).toBe(1);
  });
});

describe('when it is killed in the middle', () => {
  it('waits for the npm that is still running, then repairs what it left unfinished', async () => {
    const gate = await openGate();
    const killed = start({ FAKE_NPM_GATE: gate.path });
    const npm = await gate.arrival();
    killed.child.kill('SIGKILL');
    await ended(killed);

    const next = start();
    await said(next, 'Another set-up is at work here');
    npm.destroy(); // kills npm before it has finished
    expect(await ended(next)).toMatchObject({ code: 0 });
    expect(npmRuns()).toBe(2);
    expect(existsSync(join(root, 'node_modules', 'one'))).toBe(true);
  });

  it('stops npm when it is stopped, and the next set-up starts afresh', async () => {
    const gate = await openGate();
    const stopped = start({ FAKE_NPM_GATE: gate.path });
    const npm = await gate.arrival();
    stopped.child.kill('SIGTERM');
    await once(npm, 'close');
    expect(await ended(stopped)).toMatchObject({ code: 1 });

    expect(await setUp()).toMatchObject({ code: 0 });
    expect(npmRuns()).toBe(2);
  });

  it('ignores a lock file that it cannot read', async () => {
    mkdirSync(join(root, '.cache'));
    writeFileSync(join(root, '.cache', 'set-up.lock'), '{"host":');
    expect(await setUp()).toMatchObject({ code: 0 });
  });
});

interface Running {
  readonly child: ChildProcess;
  output: string;
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

function setUp(environment: Environment = {}): Promise<Ended> {
  return ended(start(environment));
}

function start(environment: Environment = {}): Running {
  const child = spawn(execPath, [setUpScript, root], {
    env: { ...env, npm_execpath: fakeNpm, npm_node_execpath: execPath, ...environment },
  });
  const running: Running = { child, output: '' };
  const add = (chunk: Buffer) => {
    running.output += chunk.toString('utf8');
  };
  child.stdout.on('data', add);
  child.stderr.on('data', add);
  stop.push(() => child.kill('SIGKILL'));
  return running;
}

async function ended(running: Running): Promise<Ended> {
  // 'close' comes after the last output, unless it was emitted before.
  if (running.child.exitCode === null && running.child.signalCode === null)
    await once(running.child, 'close');
  return { code: running.child.exitCode, output: running.output };
}

async function said(running: Running, words: string): Promise<void> {
  while (!running.output.includes(words)) {
    if (running.child.stderr === null || running.child.exitCode !== null)
      throw new Error(`It never said "${words}".`);
    await once(running.child.stderr, 'data');
  }
}

/** A socket at which the fake npm waits until the test lets it continue. */
async function openGate(): Promise<{ path: string; arrival(): Promise<Socket> }> {
  const path = join(root, 'gate');
  const server: Server = createServer();
  server.listen(path);
  await once(server, 'listening');
  const arrival = once(server, 'connection') as Promise<[Socket]>;
  stop.push(() => server.close());
  return { path, arrival: async () => (await arrival)[0].resume() };
}

function npmRuns(): number {
  return npmLog().length;
}

function npmArguments(): string {
  return npmLog().at(-1) ?? '';
}

function npmLog(): readonly string[] {
  const path = join(root, 'npm-runs');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
}

function writeLock(packages: Readonly<Record<string, unknown>>): void {
  writeJson('package-lock.json', { packages });
}

function writeJson(path: string, value: unknown): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), JSON.stringify(value));
}
