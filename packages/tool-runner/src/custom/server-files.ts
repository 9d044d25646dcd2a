import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  readFileSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { versionOf } from '../files/file-snapshot.ts';
import { namesIn } from '../isolation/disk-names.ts';
import { isInside } from '../isolation/fixed-path.ts';
import { openInside } from '../open-inside.ts';
import { MAX_SETTINGS_BYTES, readPersonsFile } from '../persons-file.ts';
import { realPath } from '../real-disk.ts';
import { readServerList, type ServerEntry, type ServerList } from './server-entry.ts';

/** Where a workspace configures its own servers: a place that executes later (VA-3). */
const WORKSPACE_SERVERS = '.mcp.json';
/** A larger script is not hashed every few seconds; its size, inode and change time are its version. */
const MAX_SCRIPT_BYTES = 16 * 1024 * 1024;
const MAX_LINKED = 50;

/** Every server that is configured for this workspace. If two have the same name, the person's own wins. */
export function readServers(configFolder: string, root: string): ServerList {
  const own = readPersonsServers(configFolder, root);
  const workspace = readWorkspaceServers(root);
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

function readPersonsServers(configFolder: string, root: string): ServerList {
  const file = readPersonsFile(join(configFolder, 'mcp.json'), root);
  if (file.state === 'missing') return { entries: [], unusable: [] };
  if (file.state === 'refused')
    return { entries: [], unusable: [{ name: 'mcp.json', owner: 'person', problem: file.problem }] };
  return readServerList(file.text, 'person', root);
}

function readWorkspaceServers(root: string): ServerList {
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

/** A script of the workspace that a server's command line names: it can change while the entry does not. */
export interface NamedFile {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly version: string;
}

const codeExtension = /\.([cm]?[jt]sx?|py|rb|pl|php|lua|sh|bash|jar|wasm)$/i;

/** The named scripts, sorted by path. Files that they load in turn are not covered (docs/decisions/0005). */
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
    if (!isCode && !looksLikeCode) continue; // data, which the server may change
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

/** Folders that a server must never see as a whole: the home, and Countersign's own. */
export interface PrivateFolders {
  readonly root: string;
  readonly home: string;
  readonly config: string;
  readonly state: string;
}

/**
 * Folders of the person's disk that a server needs to see in isolation, read-only: the package that a file of its
 * command line belongs to, or the outermost `node_modules` around it, and packages that are linked into it. Only for
 * the person's own entries, and never a folder that contains a private one.
 */
export function neededFolders({ reach, owner, readable }: ServerEntry, private_: PrivateFolders): string[] {
  if (reach.kind === 'http' || owner !== 'person') return [];
  const named = [reach.command, ...reach.args]
    .filter(isAbsolute)
    .flatMap((word) => realFile(word)?.real ?? []);
  const packages = named.map(packageFolder);
  const isShown = (folder: string): boolean =>
    folder !== '/' && !Object.values(private_).some((own) => isInside(folder, own));
  const needed = [...packages, ...packages.flatMap(linkedPackages), ...existing(readable)];
  const shown = [...needed.filter(isShown), ...named];
  return [...new Set(shown.filter((path) => !isInside(private_.root, path)))];
}

function packageFolder(file: string): string {
  const modules = file.indexOf('/node_modules/');
  if (modules > 0) return file.slice(0, modules + '/node_modules'.length);
  return foldersAbove(file).find((folder) => existsSync(join(folder, 'package.json'))) ?? file;
}

/** The nearest first, without `/`. */
function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === '/' ? [] : [above, ...foldersAbove(above)];
}

/** Linked packages (`npm link`, a workspace), with the `node_modules` folders that they use. */
function linkedPackages(folder: string): string[] {
  const modules = join(folder, 'node_modules');
  const scopes = namesIn(modules).filter((name) => name.startsWith('@'));
  const names = [
    ...namesIn(modules),
    ...scopes.flatMap((scope) => namesIn(join(modules, scope)).map((name) => `${scope}/${name}`)),
  ];
  const links = names
    .map((name) => join(modules, name))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
    .slice(0, MAX_LINKED);
  return existing(links).flatMap((target) => [
    target,
    ...existing(foldersAbove(target).map((above) => join(above, 'node_modules'))),
  ]);
}

const existing = (paths: readonly string[]): string[] => paths.flatMap((path) => realPath(path) ?? []);

function realFile(path: string): { readonly real: string; readonly stats: Stats } | undefined {
  try {
    const real = realpathSync(path);
    const stats = statSync(real);
    return stats.isFile() ? { real, stats } : undefined;
  } catch {
    return undefined;
  }
}

type CommandLine = Pick<Extract<ServerEntry['reach'], { kind: 'stdio' }>, 'command' | 'args' | 'env'>;

/** A path as written in a command line. It may not exist. */
export interface CodePath {
  readonly path: string;
  /** If false, the file counts only if it looks like code: `server.ts data.csv` names code and data. */
  readonly isCode: boolean;
}

/**
 * The files that a command line may run, found by its words: files that it names, also in an option
 * (`--require=./a.js`), in a shell line or in a variable (`NODE_OPTIONS`); files that an interpreter derives from a
 * name (`node tools/server`, `node .`, `python -m tools`); files that a package manager reads (`npm run serve`, `npx
 * server`).
 */
function startedCode({ command, args, env }: CommandLine): readonly CodePath[] {
  const inner = [...args, ...Object.values(env)].flatMap((word) => word.split(/[\s=:;,&|'"()]+/));
  const named = [command, ...args, ...inner].filter((word) => word !== '');
  return [
    { path: command, isCode: true },
    ...named.map((path) => ({ path, isCode: false })),
    ...named.flatMap((path) => addedExtensions.map((added) => ({ path: path + added, isCode: false }))),
    ...impliedPaths(basename(command), args).map((path) => ({ path, isCode: true })),
  ];
}

const addedExtensions = ['.js', '.cjs', '.mjs', '.ts', '.cts', '.mts', '.py'];
const interpreter = /^(node|nodejs|bun|deno|tsx|ts-node|python[\d.]*)$/;
const ofPackage = ['package.json', 'index.js', 'index.cjs', 'index.mjs', 'index.ts'];

function impliedPaths(program: string, args: readonly string[]): readonly string[] {
  const first = args.find((word) => !word.startsWith('-'));
  if (['npm', 'pnpm', 'yarn'].includes(program)) return ['package.json', '.pnp.cjs'];
  if (['npx', 'bunx'].includes(program)) return first === undefined ? [] : [`node_modules/.bin/${first}`];
  if (!interpreter.test(program)) return [];
  if (!program.startsWith('python'))
    return first === undefined ? [] : ofPackage.map((name) => `${first}/${name}`);
  const module = args.includes('-m') ? args[args.indexOf('-m') + 1] : undefined;
  const path = module?.replaceAll('.', '/') ?? first;
  return path === undefined ? [] : ['.py', '/__init__.py', '/__main__.py'].map((added) => path + added);
}

/** The files that a `package.json` names as `main`, as Node resolves it. */
function mainOf(manifest: string): readonly string[] {
  try {
    const { main } = JSON.parse(manifest) as { readonly main?: unknown };
    return typeof main === 'string' ? [main, `${main}.js`, `${main}/index.js`] : [];
  } catch {
    return [];
  }
}
