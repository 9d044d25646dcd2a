import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { CountersignError } from '@countersign/protocol';

const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

export const isInside = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

/** The Node that runs us, which commands may use too. */
export interface OwnNode {
  /** The folder of its programs. */
  readonly programs: string;
  /** What must be visible: the installation, or only the executable, since its folder may be anything, even the home. */
  readonly shown: string;
}

/**
 * Where the running Node is installed. Undefined for an editor's own binary, which is not called node, and for a Node
 * inside the workspace, which a command could have put there (VA-4).
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

/** The folders that programs are found in (VA-4): that of our Node first, then the system's. */
export function fixedPath(node: OwnNode | undefined): readonly string[] {
  return node
    ? [node.programs, ...systemFolders.filter((folder) => folder !== node.programs)]
    : systemFolders;
}

/** The absolute path of a program by its bare name; an absolute one only has to be outside the workspace. */
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

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
