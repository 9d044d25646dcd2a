/**
 * Builds the web page when its sources changed. The page is not committed: everyone builds it from their own sources.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pid } from 'node:process';

/** The inputs of the page, relative to the root. Tests and types are not inputs. */
const sources = [
  'package-lock.json',
  'apps/web/index.html',
  'apps/web/vite.config.ts',
  'apps/web/public',
  'apps/web/src',
  ...['approvals', 'client', 'protocol', 'ui'].flatMap((name) => [
    `packages/${name}/package.json`,
    `packages/${name}/src`,
  ]),
];

const pagePath = (/** @type {string} */ root) => join(root, 'apps', 'web', 'dist', 'index.html');
const stampPath = (/** @type {string} */ root) => join(root, 'node_modules', '.countersign-web-page');

/** The quick check: true when there is no page to build, or it was built from exactly these sources. */
export function isPageBuilt(/** @type {string} */ root) {
  if (!existsSync(join(root, 'apps', 'web', 'index.html'))) return true;
  return existsSync(pagePath(root)) && readText(stampPath(root)) === fingerprint(root);
}

/**
 * Builds the page. The fingerprint is taken first, so sources that change meanwhile cause another build.
 * @param {string} root
 * @param {{ node: string, onStart: (pid: number) => void }} options
 * @returns {Promise<string | undefined>} the builder's output when it failed
 */
export async function buildPage(root, { node, onStart }) {
  const built = fingerprint(root);
  const program = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  const child = spawn(node, [program, 'build', '--logLevel', 'error'], {
    cwd: join(root, 'apps', 'web'),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) onStart(child.pid);
  /** @type {Buffer[]} */
  const said = [];
  child.stdout.on('data', (chunk) => said.push(chunk));
  child.stderr.on('data', (chunk) => said.push(chunk));
  const problem = await new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) =>
      resolve(code === 0 ? undefined : Buffer.concat(said).toString('utf8').trim()),
    );
  });
  if (problem !== undefined) return problem || 'The builder ended without a word.';
  const draft = `${stampPath(root)}.${pid}`;
  writeFileSync(draft, built);
  renameSync(draft, stampPath(root));
  return undefined;
}

function fingerprint(/** @type {string} */ root) {
  const hash = createHash('sha256');
  for (const source of sources) addTo(hash, root, source);
  return hash.digest('hex');
}

/** Hashes contents: a checkout that only touches files does not rebuild. */
function addTo(
  /** @type {import('node:crypto').Hash} */ hash,
  /** @type {string} */ root,
  /** @type {string} */ path,
) {
  const entries = readFolder(join(root, path));
  if (entries === undefined) {
    const content = readText(join(root, path));
    if (content !== undefined) hash.update(`${path}\n${content.length}\n`).update(content);
    return;
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!/\.test(-data)?\.tsx?$/.test(entry.name)) addTo(hash, root, `${path}/${entry.name}`);
  }
}

function readFolder(/** @type {string} */ path) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return undefined;
  }
}

function readText(/** @type {string} */ path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
