import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Machine } from './up-process.ts';
import { signInAsPerson, wholeLoop } from './up-story.ts';

/** The npm package that contains Node; the set-up takes Node 24 from it too. */
const nodePackage = `node-linux-${process.arch}`;
const packager = fileURLToPath(new URL('../../../tooling/package/cli.ts', import.meta.url));
const operations = fileURLToPath(new URL('../../../docs/operations.md', import.meta.url));
const cache = fileURLToPath(new URL('../../../node_modules/.cache/', import.meta.url));

/** Runs `npm install` in an empty folder, as a person would. */
function install(folder: string, ...packages: string[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private": true}');
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  execFileSync('npm', ['install', ...options, ...packages], { cwd: folder, stdio: 'pipe' });
}

function nodeOf(version: string): string {
  const folder = join(cache, `node-${version}`);
  install(folder, `${nodePackage}@${version}`);
  return join(folder, 'node_modules', nodePackage, 'bin', 'node');
}

describe('the packaged command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-packaged-'));
  const nodes = new Map<string, string>([['24', process.execPath]]);
  beforeAll(() => {
    const packed = execFileSync(process.execPath, [packager, '--out', join(folder, 'dist')], {
      encoding: 'utf8',
    });
    install(folder, packed.trim());
    nodes.set('22', nodeOf(`${oldest()}.0`));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  interface Manifest {
    readonly version: string;
    readonly engines: { readonly node: string };
  }
  const manifest = () =>
    JSON.parse(readFileSync(join(folder, 'node_modules/countersign/package.json'), 'utf8')) as Manifest;
  /** The oldest Node that the package supports. */
  const oldest = () => manifest().engines.node.replace('>=', '');

  /** Runs the installed command on a given Node, in a new home folder. */
  function run(node: string, home: string, ...args: string[]): string {
    mkdirSync(join(home, 'workspace'), { recursive: true });
    return execFileSync(node, [join(folder, 'node_modules/.bin/countersign'), ...args], {
      cwd: join(home, 'workspace'),
      env: { HOME: home, PATH: `${dirname(node)}:/usr/bin:/bin` },
      encoding: 'utf8',
    });
  }

  it.each(['24', '22'])('runs the whole product from an empty folder on Node %s', async (version) => {
    const node = nodes.get(version) ?? '';
    expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).toMatch(`v${version}.`);
    const command = [node, join(folder, 'node_modules', '.bin', 'countersign')];
    // The page comes from the package, and the PATH contains nothing of ours.
    const env = { COUNTERSIGN_WEB_FOLDER: '', PATH: `${dirname(node)}:/usr/bin:/bin` };
    const machine = new Machine(env, command);
    try {
      const up = machine.up('--json', '--no-open');
      const ready = await up.ready();
      const page = await (await fetch(ready.address)).text();
      const [, script = ''] = /src="([^"]+\.js)"/.exec(page) ?? [];
      expect((await fetch(new URL(script, ready.address))).status).toBe(200);

      const person = await signInAsPerson(ready);
      expect(await wholeLoop(person, ready)).toMatch(/exit code 0.*pass 1/s);
      expect(readFileSync(join(ready.workspace, 'src/greeting.js'), 'utf8')).toContain('Hello, ');
      person.close();
      expect(await up.kill('SIGINT')).toBe('0');
      expect(up.errors).toBe('');
    } finally {
      await machine.close();
    }
  });

  it.each(['24', '22'])('[RN-8] creates a tool that runs on Node %s', (version) => {
    const home = join(folder, `home-${version}`);
    const node = nodes.get(version) ?? '';
    run(node, home, 'tools', 'new', 'deploy', '--in', join(home, 'deploy'), '--add');
    expect(run(node, home, 'tools', 'list', '--json')).toMatch(/"deploy__deploy"/);
  });

  it('passes its own doctor on the oldest Node that it supports, and its documents name that version', () => {
    const node = nodes.get('22') ?? '';
    const looked = spawnSync(node, [join(folder, 'node_modules/.bin/countersign'), 'doctor', '--json'], {
      env: { HOME: join(folder, 'home-22'), PATH: `${dirname(node)}:/usr/bin:/bin` },
      encoding: 'utf8',
    }).stdout;
    expect(looked).toMatch(new RegExp(`"Node.js".{0,30}"ok".{0,30}"v${oldest()}.0"`, 's'));
    for (const page of ['node_modules/countersign/README.md', operations])
      expect(readFileSync(resolve(folder, page), 'utf8')).toContain(`Node ${oldest()} or newer`);
  });

  it('contains the licences of bundled packages', () => {
    const licences = (file: string) => readFileSync(join(folder, 'node_modules/countersign', file), 'utf8');
    for (const name of ['fastify', 'kysely', 'pg', 'zod', '@modelcontextprotocol/server'])
      expect(licences('THIRD-PARTY-LICENSES.md')).toMatch(new RegExp(`^## ${name} [\\d.]+ \\(.+\\)$`, 'm'));
    expect(licences('THIRD-PARTY-LICENSES.md')).not.toContain('@countersign');
    expect(licences('apps/web/dist/licenses.txt')).toMatch(/react-dom.*MIT/s);
  });

  it('has one version, and prints it', () => {
    expect(run(process.execPath, join(folder, 'home'), '--version')).toBe(`${manifest().version}\n`);
  });
});
