import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { tryOr } from '../try-or.ts';

export const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

export const isInside = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

/** The Node that runs this process. Commands may use it too. */
export interface OwnNode {
  /** The folder that contains `node`, `npm` and so on. */
  readonly programs: string;
  /** Path that isolation must show: the installation folder, or only the executable if its folder may hold other files. */
  readonly shown: string;
}

/**
 * Returns where the running Node is installed. Undefined for an editor's own binary, which is not called node, and for a
 * Node inside the workspace, where a command could have put it (VA-4).
 */
export function findOwnNode(root: string, home: string, executable = process.execPath): OwnNode | undefined {
  if (basename(executable) !== 'node' || !existsSync(executable)) return undefined;
  const program = realpathSync(executable);
  const programs = dirname(program);
  if (isInside(root, programs)) return undefined;
  const prefix = dirname(programs);
  const isInstallation =
    basename(programs) === 'bin' &&
    existsSync(join(prefix, 'lib/node_modules/npm')) &&
    ![root, home].some((folder) => isInside(prefix, folder));
  return { programs, shown: isInstallation ? prefix : program };
}

/** Whether this Node is the first on the person's PATH, so that it is theirs and not one that came with us. */
export function isFirstNode(node: OwnNode, path: string, root: string): boolean {
  const folders = path.split(':').filter((folder) => isAbsolute(folder));
  const first = folders
    .map((folder) => join(folder, 'node'))
    .find((candidate) => isExecutable(candidate) && !isInside(root, realpathSync(candidate)));
  return first !== undefined && dirname(realpathSync(first)) === node.programs;
}

/**
 * Returns the folders in which programs are looked up (VA-4): the person's, the system's, and last that of the Node that
 * came with us. `persons` ends with the folder of our Node if that is the person's.
 */
export const fixedPath = (persons: readonly string[], node: OwnNode | undefined): readonly string[] => [
  ...new Set([...persons, ...systemFolders, ...(node ? [node.programs] : [])]),
];

/**
 * Returns the absolute path of a program, given by bare name or absolute path. Refuses a program in the workspace, and one
 * that `isVisible` says isolation hides.
 */
export function findProgram(
  program: string,
  folders: readonly string[],
  root: string,
  isVisible: (real: string) => boolean = () => true,
): string {
  const candidates = isAbsolute(program)
    ? [program]
    : program.includes('/') || program === '' || program.startsWith('.')
      ? []
      : folders.map((folder) => join(folder, program));
  const isUsable = (path: string): boolean => {
    if (!isExecutable(path)) return false;
    const real = realpathSync(path);
    return !isInside(root, real) && isVisible(real);
  };
  const found = candidates.find(isUsable);
  if (found === undefined) throw new CountersignError('PROGRAM_NOT_FOUND', { program });
  return found;
}

export function isExecutable(path: string): boolean {
  return tryOr(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  }, false);
}
