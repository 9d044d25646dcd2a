/** The programs of the packaged command, and how their files find one another. */
import { readFileSync } from 'node:fs';
import { dirname, posix, relative, sep } from 'node:path';
import type { Plugin } from 'rolldown';
import { repositoryRoot } from '../set-up.mjs';
import { allWorkspaces, sourcesOf, type Workspace } from '../workspaces.ts';

const asked = /new URL\(\s*'([^']+)',\s*import\.meta\.url,?\s*\)/g;

/** A file by its path from the root, with `/`. */
const pathFromRoot = (file: string): string => relative(repositoryRoot, file).split(sep).join('/');

const built = (path: string): string => path.replace(/\.ts$/, '.js');

/** True for the command and the server that it starts. The VS Code extension is a package of its own. */
const isPartOfCommand = ({ name }: Workspace): boolean =>
  ['apps/cli', 'apps/server'].includes(name) || (!name.includes('/') && name !== 'testing');

/** Every file that the code names by `new URL('…', import.meta.url)`: programs and data folders. */
export function namedFiles(): readonly string[] {
  const named = allWorkspaces()
    .filter(isPartOfCommand)
    .flatMap((workspace) =>
      ownSourcesOf(workspace).flatMap((source) => {
        const file = `${workspace.folder}/${source}`;
        const folder = pathFromRoot(dirname(file));
        return [...readFileSync(file, 'utf8').matchAll(asked)].map(([, to = '']) => posix.join(folder, to));
      }),
    );
  return [...new Set(named)].sort();
}

/** Without `bin/`: the launcher of a checkout sets that checkout up. */
const ownSourcesOf = (workspace: Workspace): readonly string[] =>
  sourcesOf(workspace, 'product').filter((source) => source.startsWith('src/'));

/**
 * Bundling moves code into shared files, which breaks paths relative to a source file. This rewrites them relative to
 * the package's root, where the programs keep their paths.
 */
export const pathsFromTheRoot: Plugin = {
  name: 'paths-from-the-root',
  transform: {
    filter: { id: /\.ts$/, code: 'import.meta.url' },
    handler(code, id) {
      const folder = posix.dirname(pathFromRoot(id));
      return code
        .replaceAll(asked, (_, to: string) => `new URL('${built(posix.join(folder, to))}', packageRoot)`)
        .replaceAll('import.meta.url', `new URL('${built(pathFromRoot(id))}', packageRoot).href`);
    },
  },
};

/** The first line of each bundled file: the path from there to the package's root. */
export function rootOf(fileName: string): string {
  const up = '../'.repeat(fileName.split('/').length - 1) || './';
  return `const packageRoot = new URL('${up}', import.meta.url);`;
}
