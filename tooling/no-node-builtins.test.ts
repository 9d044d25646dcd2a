/**
 * Packages that run in a browser use no Node built-in. Each is bundled with everything that it imports from npm, and
 * the bundle is searched, so a dependency that starts to use a built-in is found too.
 */
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { allWorkspaces } from './workspaces.ts';

const browserPackages = ['protocol', 'policy', 'client', 'approvals', 'ui'];

describe('packages that also run in a browser', () => {
  const existing = allWorkspaces().filter(({ name }) => browserPackages.includes(name));

  it.each(existing)('$name pulls in no Node built-in', async ({ folder }) => {
    expect(await builtinsBehind(join(folder, 'src', 'index.ts'))).toEqual([]);
  });

  it('covers at least protocol and policy', () => {
    expect(existing.map(({ name }) => name)).toEqual(expect.arrayContaining(['protocol', 'policy']));
  });
});

describe('the search', () => {
  it('finds a built-in behind a dependency, with and without node:', async () => {
    const modules = {
      entry: `export { read } from 'dependency'; export * from 'required'; export const late = import('node:os');`,
      dependency: `import { readFileSync } from 'node:fs'; export const read = readFileSync;`,
      required: `exports.join = require('path/posix').join;`,
    };
    expect(await builtinsBehind('entry', [inMemory(modules)])).toEqual([
      'node:fs from dependency',
      'node:os from entry',
      'path/posix from required',
    ]);
  });

  it('fails when a dependency cannot be found, rather than leaving it out', async () => {
    const modules = { entry: `export * from 'no-such-package';` };
    await expect(builtinsBehind('entry', [inMemory(modules)])).rejects.toThrow('no-such-package');
  });
});

/** Each Node built-in that the bundle of `entry` would ask for, with the module that asks. */
async function builtinsBehind(entry: string, plugins: Plugin[] = []): Promise<readonly string[]> {
  const found = new Set<string>();
  const notice: Plugin = {
    name: 'notice-builtins',
    resolveId(specifier, importer) {
      if (!isBuiltin(specifier)) return null;
      found.add(`${specifier} from ${importer}`);
      return { id: specifier, external: true };
    },
  };
  const bundle = await rolldown({
    input: entry,
    platform: 'browser',
    plugins: [notice, ...plugins],
    treeshake: false, // an import that is dropped here may stay in another bundler
    onLog(level, log) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      // "use client" is for frameworks that render on a server; in a bundle it means nothing.
      if (log.code === 'MODULE_LEVEL_DIRECTIVE') return;
      if (level === 'warn') throw new Error(`${log.code}: ${log.message}`);
    },
  });
  await bundle.generate();
  await bundle.close();
  return [...found].sort();
}

function inMemory(modules: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'in-memory',
    resolveId: (specifier) => (specifier in modules ? specifier : null),
    load: (id) => modules[id] ?? null,
  };
}
