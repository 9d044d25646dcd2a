/** Our workspaces as they are on disk, for the tests of the import table. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseSync, Visitor } from 'rolldown/utils';
import { repositoryRoot } from './set-up.mjs';

export interface Workspace {
  /** As docs/style.md names it: `policy`, `apps/cli`, `bench`. */
  readonly name: string;
  readonly folder: string;
  readonly manifest: Manifest;
}

export interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** All workspaces. */
export function allWorkspaces(): readonly Workspace[] {
  const folders = ['packages', 'apps', 'tests'].flatMap((parent) =>
    existsSync(join(repositoryRoot, parent))
      ? readdirSync(join(repositoryRoot, parent)).map((name) => `${parent}/${name}`)
      : [],
  );
  return [...folders, 'bench']
    .map((folder) => ({ folder: join(repositoryRoot, folder), name: folder.replace(/^packages\//, '') }))
    .filter(({ folder }) => existsSync(join(folder, 'package.json')))
    .map(({ folder, name }) => ({
      folder,
      name,
      manifest: readJson(join(folder, 'package.json')) as Manifest,
    }));
}

/** The sources of a workspace, relative to its folder. */
export function sourcesOf(workspace: Workspace, kind: 'product' | 'test'): readonly string[] {
  return globSync('**/*.{ts,tsx,mts,mjs,js}', {
    cwd: workspace.folder,
    exclude: ['**/node_modules/**', '**/dist/**'],
  })
    .filter((path) => /\.test(-data)?\.tsx?$/.test(path) === (kind === 'test'))
    .sort();
}

/** The modules that a module imports: static, re-exported, dynamic and type-only. */
export function importsOf(path: string, text = readFileSync(path, 'utf8')): readonly string[] {
  const found = new Set<string>();
  const add = (source: { value?: unknown } | null | undefined) => {
    if (typeof source?.value === 'string') found.add(source.value);
  };
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path} does not parse: ${errors[0].message}`);
  new Visitor({
    ImportDeclaration: (node) => add(node.source),
    ExportNamedDeclaration: (node) => add(node.source),
    ExportAllDeclaration: (node) => add(node.source),
    ImportExpression: (node) => add(node.source as { value?: unknown }),
    TSImportType: (node) => add(node.source as { value?: unknown }),
  }).visit(program);
  return [...found];
}

/** The workspace that an import leads to; undefined for npm packages, Node, and the importer itself. */
export function workspaceBehind(
  specifier: string,
  importer: string,
  all: readonly Workspace[],
): Workspace | undefined {
  const isIn = (path: string) => (workspace: Workspace) => `${path}/`.startsWith(`${workspace.folder}/`);
  if (!specifier.startsWith('.')) {
    return all.find(({ manifest }) => `${specifier}/`.startsWith(`${manifest.name}/`));
  }
  const target = all.find(isIn(resolve(dirname(importer), specifier)));
  return target === all.find(isIn(importer)) ? undefined : target;
}

/** The workspaces that a TypeScript project references; undefined when there is no such project. */
export function referencesOf(
  workspace: Workspace,
  project: 'tsconfig.json' | 'tsconfig.test.json',
  all: readonly Workspace[],
): readonly string[] | undefined {
  const path = join(workspace.folder, project);
  if (!existsSync(path)) return undefined;
  const { references = [] } = readJson(path) as { references?: readonly { path: string }[] };
  return references
    .map((reference) => resolve(workspace.folder, reference.path))
    .map((folder) => all.find((other) => other.folder === folder)?.name ?? `nothing at ${folder}`)
    .filter((name) => name !== workspace.name)
    .sort();
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
