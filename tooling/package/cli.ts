/**
 * `npm run package:cli`: packs the command with the server and the web page as `dist/countersign-VERSION.tgz`, or into
 * the folder of `--out`. Our own packages and plain JavaScript are bundled. Packages that bring programs stay
 * dependencies, which npm installs for its platform.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { rolldown } from 'rolldown';
import { repositoryRoot } from '../set-up.mjs';
import { allWorkspaces } from '../workspaces.ts';
import { withLicences } from './licences.ts';
import { namedFiles, pathsFromTheRoot, rootOf } from './program-files.ts';

const inRoot = (path: string): string => join(repositoryRoot, path);
const { values } = parseArgs({ options: { out: { type: 'string' } } });
const output = resolve(values.out ?? inRoot('dist'));

/** Packages that contain programs: language servers and ripgrep. */
const ownPrograms = ['@vscode/ripgrep', 'pyright', 'typescript'];
/**
 * The first version that runs a `.ts` file directly, as `countersign tools new` needs. The launcher reads it from
 * here.
 */
const oldestNode = '22.18';
/** Optional imports of libraries; they work without these. */
const leftOut = ['pg-native', 'pg-cloudflare'];

async function packageCli(): Promise<string> {
  const stage = join(output, 'countersign');
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  await bundlePrograms(stage);
  for (const folder of namedFiles().filter((path) => !path.endsWith('.ts'))) {
    cpSync(inRoot(folder), join(stage, folder), { recursive: true });
  }
  cpSync(inRoot('LICENSE'), join(stage, 'LICENSE'));
  cpSync(inRoot('tooling/package/cli-readme.md'), join(stage, 'README.md'));
  cpSync(inRoot('tooling/package/launcher.mjs'), join(stage, 'countersign.mjs'));
  chmodSync(join(stage, 'countersign.mjs'), 0o755);
  writeManifest(stage, manifest());
  // `countersign tools new` links to this folder.
  const { version, license } = readManifest('packages/tool-kit/package.json');
  const helper = {
    name: '@countersign/tool-kit',
    version,
    license,
    type: 'module',
    exports: './src/index.js',
  };
  writeManifest(join(stage, 'packages/tool-kit'), helper);
  return pack(stage);
}

async function bundlePrograms(stage: string): Promise<void> {
  const programs = ['apps/cli/src/main.ts', ...namedFiles().filter((path) => path.endsWith('.ts'))];
  const bundle = await rolldown({
    input: Object.fromEntries(programs.map((path) => [path.replace(/\.ts$/, ''), inRoot(path)])),
    platform: 'node',
    external: [...ownPrograms, ...leftOut].map((name) => new RegExp(`^${name}(/|$)`)),
    plugins: [pathsFromTheRoot, withLicences('THIRD-PARTY-LICENSES.md')],
    checks: { eval: false },
  });
  await bundle.write({
    dir: stage,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name]-[hash].js',
    banner: ({ fileName }) => rootOf(fileName),
    minify: { compress: true, mangle: false },
  });
  await bundle.close();
}

function manifest(): object {
  const { version, description, license } = readManifest('package.json');
  const versions = new Map(
    allWorkspaces().flatMap(({ manifest: { dependencies } }) => Object.entries(dependencies ?? {})),
  );
  return {
    name: 'countersign',
    version,
    description,
    license,
    type: 'module',
    bin: { countersign: 'countersign.mjs' },
    engines: { node: `>=${oldestNode}` },
    dependencies: Object.fromEntries(ownPrograms.map((name) => [name, versions.get(name)])),
  };
}

const writeManifest = (folder: string, content: object): void =>
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`);

const readManifest = (path: string) =>
  JSON.parse(readFileSync(inRoot(path), 'utf8')) as Record<'version' | 'description' | 'license', string>;

function pack(stage: string): string {
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--json', '--pack-destination', output], {
    cwd: stage,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm pack failed:\n${stderr}`);
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return join(output, filename);
}

console.log(await packageCli());
