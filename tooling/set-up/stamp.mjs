/** Tells whether node_modules contains what the lock file asks for. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { arch, pid, platform } from 'node:process';

/** Inside node_modules, so that deleting that folder deletes the stamp too. */
const stampPath = (/** @type {string} */ root) => join(root, 'node_modules', '.countersign-set-up');

/** npm's own record of what it installed. It writes this file last. */
const installedLockPath = (/** @type {string} */ root) => join(root, 'node_modules', '.package-lock.json');

/** The quick check: true when the last set-up finished for exactly these manifests, lock file and platform. */
export function isSetUp(/** @type {string} */ root) {
  return existsSync(installedLockPath(root)) && readText(stampPath(root)) === fingerprint(root);
}

export function markAsSetUp(/** @type {string} */ root) {
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  const draft = `${stampPath(root)}.${pid}`;
  writeFileSync(draft, fingerprint(root));
  renameSync(draft, stampPath(root));
}

/** Removes the stamps before node_modules is changed: a set-up killed half-way must not look finished. */
export function markAsUnfinished(/** @type {string} */ root) {
  rmSync(stampPath(root), { force: true });
  rmSync(installedLockPath(root), { force: true });
}

/**
 * The slower check, for someone who ran `npm install` by hand or only edited a description: compares, package by
 * package, what npm says it installed with what the lock file and the manifests ask for.
 */
export function isInstalledByHand(/** @type {string} */ root) {
  try {
    const wanted = readLock(join(root, 'package-lock.json'));
    const installed = readLock(installedLockPath(root));
    return manifestsAgree(root, wanted) && packagesAgree(root, wanted, installed);
  } catch {
    return false;
  }
}

/**
 * @typedef {Record<string, unknown> & {
 *   version?: string, integrity?: string, link?: boolean, optional?: boolean, devOptional?: boolean, resolved?: string
 * }} LockedPackage
 * @typedef {Record<string, LockedPackage>} LockedPackages
 */

function fingerprint(/** @type {string} */ root) {
  const hash = createHash('sha256').update(`${platform} ${arch}\n`);
  for (const folder of ['', ...workspaceFolders(root)]) {
    hash.update(`${folder}\n`).update(readText(join(root, folder, 'package.json')) ?? '');
  }
  return hash.update(readText(join(root, 'package-lock.json')) ?? '').digest('hex');
}

/** The folders of all workspaces that exist, in a stable order. Our patterns are `name` or `name/*`. */
function workspaceFolders(/** @type {string} */ root) {
  /** @type {string[]} */
  const patterns = JSON.parse(readText(join(root, 'package.json')) ?? '{}').workspaces ?? [];
  return patterns
    .flatMap((pattern) => {
      if (!pattern.endsWith('/*')) return [pattern];
      const parent = pattern.slice(0, -2);
      if (!existsSync(join(root, parent))) return [];
      return readdirSync(join(root, parent)).map((name) => `${parent}/${name}`);
    })
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .sort();
}

function manifestsAgree(/** @type {string} */ root, /** @type {LockedPackages} */ wanted) {
  return ['', ...workspaceFolders(root)].every((folder) => {
    const manifest = JSON.parse(readText(join(root, folder, 'package.json')) ?? '{}');
    return ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].every((kind) =>
      sameEntries(manifest[kind], wanted[folder]?.[kind]),
    );
  });
}

function packagesAgree(
  /** @type {string} */ root,
  /** @type {LockedPackages} */ wanted,
  /** @type {LockedPackages} */ installed,
) {
  const everyWantedIsThere = Object.entries(wanted).every(([path, locked]) => {
    if (path === '') return true;
    const found = installed[path];
    // Packages for other platforms are in the lock file too, but not installed.
    if (found === undefined) return locked.optional === true || locked.devOptional === true;
    const same = found.version === locked.version && found.integrity === locked.integrity;
    return same && existsSync(join(root, path));
  });
  return everyWantedIsThere && Object.keys(installed).every((path) => path in wanted);
}

function sameEntries(/** @type {unknown} */ left, /** @type {unknown} */ right) {
  const sorted = (/** @type {unknown} */ value) => JSON.stringify(Object.entries(value ?? {}).sort());
  return sorted(left) === sorted(right);
}

/** @returns {LockedPackages} */
function readLock(/** @type {string} */ path) {
  return JSON.parse(readFileSync(path, 'utf8')).packages;
}

function readText(/** @type {string} */ path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
