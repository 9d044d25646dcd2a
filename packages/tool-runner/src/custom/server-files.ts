import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { versionOf } from '../file-change.ts';
import { isInside } from '../isolation/fixed-path.ts';
import { openInside } from '../open-inside.ts';
import { MAX_SETTINGS_BYTES, readPersonsFile } from '../persons-file.ts';
import { readServerList, type ServerEntry, type ServerList } from './server-entry.ts';
import { mainOf, startedCode } from './started-code.ts';

/** Where a workspace names servers of its own: a place that executes later (VA-3). */
const WORKSPACE_SERVERS = '.mcp.json';
/** A larger one is not read every few seconds: when it changed last says that it changed. */
const MAX_SCRIPT_BYTES = 16 * 1024 * 1024;
const MAX_LINKED = 50;

/** Every server that is named for this workspace: the person's own first, whose names win. */
export function readServers(configFolder: string, root: string): ServerList {
  const own = readPersons(configFolder, root);
  const workspace = readWorkspaces(root);
  const names = new Set(own.entries.map(({ name }) => name));
  const taken = workspace.entries.filter(({ name }) => names.has(name));
  return {
    entries: [...own.entries, ...workspace.entries.filter((entry) => !taken.includes(entry))],
    unusable: [
      ...own.unusable,
      ...workspace.unusable,
      ...taken.map(({ name, owner }) => ({ name, owner, problem: 'your own configuration has that name' })),
    ],
  };
}

function readPersons(configFolder: string, root: string): ServerList {
  const file = readPersonsFile(join(configFolder, 'mcp.json'), root);
  if (file.state === 'missing') return { entries: [], unusable: [] };
  if (file.state === 'refused')
    return { entries: [], unusable: [{ name: 'mcp.json', owner: 'person', problem: file.problem }] };
  return readServerList(file.text, 'person', root);
}

function readWorkspaces(root: string): ServerList {
  const refused = (problem: string): ServerList => ({
    entries: [],
    unusable: [{ name: WORKSPACE_SERVERS, owner: 'workspace', problem }],
  });
  let descriptor: number;
  try {
    descriptor = openInside(root, WORKSPACE_SERVERS, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? { entries: [], unusable: [] } : refused(message);
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return refused('it is not a regular file');
    if (stats.size > MAX_SETTINGS_BYTES) return refused(`it has more than ${MAX_SETTINGS_BYTES} bytes`);
    return readServerList(readFileSync(descriptor, 'utf8'), 'workspace', root);
  } finally {
    closeSync(descriptor);
  }
}

/** A program text of the workspace that a server's command line names: it can change while the entry does not. */
export interface NamedFile {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly version: string;
}

const codeExtension = /\.([cm]?[jt]sx?|py|rb|pl|php|lua|sh|bash|jar|wasm)$/i;

/** In the order of their names. What such a file loads is not covered, as with any script (decision 0005). */
export function namedFiles({ reach }: ServerEntry, root: string): readonly NamedFile[] {
  if (reach.kind === 'http') return [];
  const found = new Map<string, string>();
  const started = [...startedCode(reach)];
  for (const { path, isCode } of started) {
    const file = realFile(isAbsolute(path) ? path : join(root, reach.cwd, path));
    if (file === undefined || !isInside(root, file.real)) continue;
    const { size, ino, ctimeMs } = file.stats;
    const isTooLarge = size > MAX_SCRIPT_BYTES;
    const bytes = isTooLarge ? Buffer.alloc(0) : readFileSync(file.real);
    const looksLikeCode = codeExtension.test(file.real) || bytes.subarray(0, 2).equals(shebang);
    if (!isCode && !looksLikeCode) continue; // data that the server may well change itself
    if (basename(path) === 'package.json')
      started.push(
        ...mainOf(bytes.toString()).map((main) => ({ path: join(dirname(file.real), main), isCode })),
      );
    found.set(
      file.real.slice(root.length + 1),
      isTooLarge ? `${size} bytes, ${ino}, ${ctimeMs}` : versionOf(bytes),
    );
  }
  return [...found].sort().map(([path, version]) => ({ path, version }));
}

const shebang = Buffer.from('#!');

/** Folders that must never be shown to a server: the home as a whole, and what Countersign itself keeps. */
export interface PrivateFolders {
  readonly root: string;
  readonly home: string;
  readonly config: string;
  readonly state: string;
}

/**
 * What of the person's own disk a server's command line needs to be visible in isolation, read-only: the package that a
 * named file belongs to, or the outermost `node_modules` that it stands in, and packages that are linked into it. Only
 * for the person's own entries, and never a folder that holds a private one.
 */
export function neededFolders({ reach, owner, readable }: ServerEntry, private_: PrivateFolders): string[] {
  if (reach.kind === 'http' || owner !== 'person') return [];
  const named = [reach.command, ...reach.args]
    .filter(isAbsolute)
    .flatMap((word) => realFile(word)?.real ?? []);
  const packages = named.map(packageFolder);
  const isShown = (folder: string): boolean =>
    folder !== '/' && !Object.values(private_).some((own) => isInside(folder, own));
  const needed = [...packages, ...packages.flatMap(linkedPackages), ...readable.flatMap(realPath)];
  const shown = [...needed.filter(isShown), ...named];
  return [...new Set(shown.filter((path) => !isInside(private_.root, path)))];
}

function packageFolder(file: string): string {
  const modules = file.indexOf('/node_modules/');
  if (modules > 0) return file.slice(0, modules + '/node_modules'.length);
  return foldersAbove(file).find((folder) => existsSync(join(folder, 'package.json'))) ?? file;
}

/** The nearest first, without the root of the disk. */
function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === '/' ? [] : [above, ...foldersAbove(above)];
}

/** Packages that are links (`npm link`, a workspace), with the folders that they find their own packages in. */
function linkedPackages(folder: string): string[] {
  const modules = join(folder, 'node_modules');
  const scopes = entriesOf(modules).filter((name) => name.startsWith('@'));
  const names = [
    ...entriesOf(modules),
    ...scopes.flatMap((scope) => entriesOf(join(modules, scope)).map((name) => `${scope}/${name}`)),
  ];
  const linked = names
    .map((name) => join(modules, name))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
    .slice(0, MAX_LINKED)
    .flatMap(realPath);
  return linked.flatMap((target) => [
    target,
    ...foldersAbove(target).flatMap((above) => realPath(join(above, 'node_modules'))),
  ]);
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function realPath(path: string): string[] {
  try {
    return [realpathSync(path)];
  } catch {
    return [];
  }
}

function realFile(path: string): { readonly real: string; readonly stats: Stats } | undefined {
  try {
    const real = realpathSync(path);
    const stats = statSync(real);
    return stats.isFile() ? { real, stats } : undefined;
  } catch {
    return undefined;
  }
}
