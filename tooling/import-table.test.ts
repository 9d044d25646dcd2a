/** Enforces the import table of docs/style.md. A change here is a change of architecture. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  allWorkspaces,
  importsOf,
  referencesOf,
  sourcesOf,
  type Workspace,
  workspaceBehind,
} from './workspaces.ts';

const packages = [
  'protocol',
  'policy',
  'engine',
  'store',
  'client',
  'approvals',
  'tool-runner',
  'runner-client',
  'ui',
];

/** Which of our workspaces the product code of a workspace may import. */
const importTable: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  policy: ['protocol'],
  engine: ['protocol', 'policy'],
  store: ['protocol', 'engine'],
  client: ['protocol'],
  approvals: ['protocol', 'client'],
  'tool-runner': ['protocol', 'policy'],
  'runner-client': ['protocol', 'client', 'tool-runner'],
  ui: ['protocol', 'client', 'approvals'],
  /** For authors of tools: it runs in their server's process and imports nothing of ours. */
  'tool-kit': [],
  testing: packages, // imported by tests only
  'apps/server': packages,
  'apps/web': packages,
  'apps/vscode': packages,
  /** `tools new` writes the path of the tool kit on this machine. */
  'apps/cli': [...packages, 'tool-kit'],
  'apps/emacs': packages,
  /** It starts a server, as tests/e2e does. */
  bench: [...packages, 'testing', 'apps/server'],
  'tests/e2e': [
    ...packages,
    'testing',
    'tests/lab',
    'apps/server',
    'apps/web',
    'apps/vscode',
    'apps/cli',
    'apps/emacs',
  ],
  'tests/faults': ['protocol', 'engine', 'client', 'testing', 'tests/lab'],
  /** Servers, runners and people for tests/e2e and tests/faults. */
  'tests/lab': ['store', 'protocol', 'client', 'tool-runner', 'testing', 'apps/server', 'apps/cli'],
};

const all = allWorkspaces();

describe.each(all)('$name', (workspace) => {
  const allowed = importTable[workspace.name] ?? [];
  const allowedInTests = [...allowed, 'testing'];

  it('has a row in the import table', () => {
    expect(Object.keys(importTable)).toContain(workspace.name);
  });

  it('imports only what its row allows', () => {
    expect(offences(workspace, 'product', allowed)).toEqual([]);
  });

  it('imports in its tests only what its row allows, and testing', () => {
    expect(offences(workspace, 'test', allowedInTests)).toEqual([]);
  });

  it('lists in its manifest only what its row allows', () => {
    const { dependencies, optionalDependencies, peerDependencies, devDependencies } = workspace.manifest;
    const forProduct = ours({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    expect(forProduct.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(ours(devDependencies).filter((name) => !allowedInTests.includes(name))).toEqual([]);
  });

  it('refers in its TypeScript project to just what its manifest lists', () => {
    const listed = ours(workspace.manifest.dependencies);
    expect(referencesOf(workspace, 'tsconfig.json', all)).toEqual(listed);
  });

  it('refers in the TypeScript project of its tests only to what they may import', () => {
    const references = referencesOf(workspace, 'tsconfig.test.json', all) ?? [];
    expect(references.filter((name) => !allowedInTests.includes(name))).toEqual([]);
  });
});

describe('the import table', () => {
  it('lets nothing but bench, tests/e2e and tests/lab import an app', () => {
    const importers = Object.keys(importTable).filter((name) =>
      importTable[name]?.some((imported) => imported.startsWith('apps/')),
    );
    expect(importers).toEqual(['bench', 'tests/e2e', 'tests/lab']);
  });

  it('lets no product code import testing', () => {
    const importers = Object.keys(importTable).filter((name) => importTable[name]?.includes('testing'));
    expect(importers).toEqual(['bench', 'tests/e2e', 'tests/faults', 'tests/lab']);
  });

  it('finds every form of import', () => {
    const text = `
      import { a } from '@countersign/one';
      import type { B } from '@countersign/two';
      export { c } from '../../three/src/index.ts';
      export * from '@countersign/four';
      const five = await import('@countersign/five');
      type Six = import('@countersign/six').Six;
      const noImport = "from '@countersign/seven'";`;
    expect([...importsOf('example.ts', text)].sort()).toEqual([
      '../../three/src/index.ts',
      '@countersign/five',
      '@countersign/four',
      '@countersign/one',
      '@countersign/six',
      '@countersign/two',
    ]);
  });

  it('finds an import that bypasses a manifest, by relative path or below a package name', () => {
    const importer = join(folderOf('protocol'), 'src/index.ts');
    const targets = ['../../policy/src/index.ts', '@countersign/policy/src/verdict.ts', './risk.ts', 'zod'];
    expect(targets.map((target) => workspaceBehind(target, importer, all)?.name)).toEqual([
      'policy',
      'policy',
      undefined,
      undefined,
    ]);
  });
});

/** Imports that a row does not allow, as `file imports workspace`. */
function offences(
  workspace: Workspace,
  kind: 'product' | 'test',
  allowed: readonly string[],
): readonly string[] {
  return sourcesOf(workspace, kind).flatMap((source) => {
    const path = join(workspace.folder, source);
    return importsOf(path)
      .map((specifier) => workspaceBehind(specifier, path, all)?.name)
      .filter((name) => name !== undefined && name !== workspace.name && !allowed.includes(name))
      .map((name) => `${source} imports ${name}`);
  });
}

/** The dependencies that are workspaces of ours, by name. */
function ours(dependencies: Readonly<Record<string, string>> | undefined): readonly string[] {
  const names = Object.keys(dependencies ?? {});
  return all
    .filter(({ manifest }) => names.includes(manifest.name))
    .map(({ name }) => name)
    .sort();
}

function folderOf(name: string): string {
  return all.find((workspace) => workspace.name === name)?.folder ?? `no workspace ${name}`;
}
