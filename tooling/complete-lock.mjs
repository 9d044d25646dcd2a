/**
 * `npm run lock`: after npm, adds to package-lock.json the packages for other platforms that npm left out.
 *
 * npm drops an optional package from the lock file when the registry does not carry it, as with a mirror that holds
 * only some platforms. `npm ci` then refuses that lock file everywhere. The entry of such a package needs only its
 * version and platform: this machine never fetches it, and a machine that needs it looks it up by these. We do not know
 * its digest, so that machine trusts its registry.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {{ version?: string, dev?: boolean, optionalDependencies?: Record<string, string> }} LockedPackage
 * @typedef {{ name: string, version: string, wantedBy: string, dev: boolean }} MissingPackage
 */

/**
 * Optional packages that other entries ask for and that have no entry of their own.
 * @param {Record<string, LockedPackage>} packages
 * @returns {MissingPackage[]}
 */
export function findMissingPackages(packages) {
  return Object.entries(packages).flatMap(([wantedBy, { optionalDependencies = {}, dev = false }]) =>
    Object.entries(optionalDependencies)
      .filter(
        ([name]) => !(`node_modules/${name}` in packages || `${wantedBy}/node_modules/${name}` in packages),
      )
      .map(([name, version]) => ({ name, version, wantedBy, dev })),
  );
}

/**
 * The lock file's entry for a package of which we know only the name, e.g. `@biomejs/cli-linux-x64-musl`.
 * @param {MissingPackage} missing
 */
export function lockEntryFor({ name, version, wantedBy, dev }) {
  if (!/^\d+\.\d+\.\d+/.test(version))
    throw new Error(`${wantedBy} wants ${name} ${version}, which is not an exact version.`);
  const words = name.split(/[/-]/);
  const os = words.find((word) => systems.includes(word));
  const cpu = words.find((word) => processors.includes(word));
  if (cpu === undefined) throw new Error(`The name of ${name} does not say its platform.`);
  const libc = words.includes('musl') ? 'musl' : words.includes('gnu') ? 'glibc' : undefined;
  return {
    version,
    cpu: [cpu],
    ...(dev ? { dev } : {}),
    ...(libc ? { libc: [libc] } : {}),
    optional: true,
    ...(os ? { os: [os] } : {}),
  };
}

const systems = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const processors = [
  'arm',
  'arm64',
  'ia32',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
  'wasm32',
  'x64',
];

if (argv[1] === fileURLToPath(import.meta.url)) {
  const path = fileURLToPath(new URL('../package-lock.json', import.meta.url));
  const lock = JSON.parse(readFileSync(path, 'utf8'));
  const missing = findMissingPackages(lock.packages);
  for (const each of missing) lock.packages[`node_modules/${each.name}`] = lockEntryFor(each);
  // npm sorts its entries in this order, so the next `npm install` changes nothing here.
  const paths = Object.keys(lock.packages).sort((left, right) => left.localeCompare(right, 'en'));
  lock.packages = Object.fromEntries(paths.map((each) => [each, lock.packages[each]]));
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  if (missing.length > 0)
    console.log(`Added ${missing.length} packages for other platforms to the lock file.`);
}
