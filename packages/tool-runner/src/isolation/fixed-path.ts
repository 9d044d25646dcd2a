import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { tryOr } from '../try-or.ts';

const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

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

/** Returns the folders in which programs are looked up (VA-4): first that of our Node, then the system's. */
export function fixedPath(node: OwnNode | undefined): readonly string[] {
  return node
    ? [node.programs, ...systemFolders.filter((folder) => folder !== node.programs)]
    : systemFolders;
}

/** Returns the absolute path of a program, given by bare name or absolute path. A program in the workspace is refused. */
export function findProgram(program: string, folders: readonly string[], root: string): string {
  const candidates = isAbsolute(program)
    ? [program]
    : program.includes('/') || program === '' || program.startsWith('.')
      ? []
      : folders.map((folder) => join(folder, program));
  const found = candidates.find((path) => isExecutable(path) && !isInside(root, realpathSync(path)));
  if (found === undefined) throw new CountersignError('PROGRAM_NOT_FOUND', { program });
  return found;
}

export function isExecutable(path: string): boolean {
  return tryOr(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  }, false);
}
