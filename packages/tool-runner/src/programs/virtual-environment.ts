import { readdirSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { isExecutable } from '../isolation/fixed-path.ts';
import { realDisk, realPath } from '../real-disk.ts';
import { tryOr } from '../try-or.ts';

const MAX_CONFIG_BYTES = 64 * 1024;
const usualNames = ['.venv', 'venv', 'env'];

/** Returns virtual environments in the workspace: at its top, or one folder below. */
export function virtualEnvironments(root: string): string[] {
  const entries = tryOr(() => readdirSync(root, { withFileTypes: true }), []);
  const folders = entries.filter((entry) => entry.isDirectory() && entry.name !== 'node_modules');
  const places = [root, ...folders.slice(0, 200).map(({ name }) => join(root, name))];
  return places
    .flatMap((place) => usualNames.map((name) => join(place, name)))
    .filter((path) => realDisk.look(join(path, 'pyvenv.cfg'))?.type === 'file');
}

/**
 * Returns the installation of the Python that a virtual environment was made from, as `pyvenv.cfg` names it. A repository
 * may write anything there, so this must be an installation: an interpreter with its standard library beside it.
 */
export function basePython(environment: string): string | undefined {
  const bytes = realDisk.readHead(join(environment, 'pyvenv.cfg'), MAX_CONFIG_BYTES);
  const home = /^\s*home\s*=\s*(\S.*?)\s*$/m.exec(Buffer.from(bytes ?? []).toString('utf8'))?.[1];
  if (home === undefined || !isAbsolute(home)) return undefined;
  const programs = realPath(home);
  if (programs === undefined || basename(programs) !== 'bin') return undefined;
  const library = join(dirname(programs), 'lib');
  const hasLibrary = tryOr(() => readdirSync(library), []).some(
    (name) => /^python3\.\d+$/.test(name) && realDisk.look(join(library, name, 'os.py'))?.type === 'file',
  );
  // The name in pyvenv.cfg may be a link (uv), and the environment's own links go through it.
  return hasLibrary && isExecutable(join(programs, 'python3')) ? dirname(home) : undefined;
}
