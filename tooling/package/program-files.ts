/** The programs of the packaged command, and how their files find each other. */
import { readFileSync } from 'node:fs';
import { dirname, posix, relative, sep } from 'node:path';
import type { Plugin } from 'rolldown';
import { repositoryRoot } from '../set-up.mjs';
import { allWorkspaces, sourcesOf, type Workspace } from '../workspaces.ts';

const asked = /new URL\(\s*'([^']+)',\s*import\.meta\.url,?\s*\)/g;

/** A file by its path from the root, with `/`. */
const pathFromRoot = (file: string): string => relative(repositoryRoot, file).split(sep).join('/');

const built = (path: string): string => path.replace(/\.ts$/, '.js');

/** The command and the server that it starts; an editor's extension is a package of its own. */
const isPartOfCommand = ({ name }: Workspace): boolean =>
  ['apps/cli', 'apps/server'].includes(name) || (!name.includes('/') && name !== 'testing');

/** Every file that its code names by `new URL('…', import.meta.url)`: programs, and folders with data. */
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

/** Without the launcher of a checkout, which sets that up. */
const ownSourcesOf = (workspace: Workspace): readonly string[] =>
  sourcesOf(workspace, 'product').filter((source) => source.startsWith('src/'));

/**
 * Code moves into shared files when it is bundled, so a path from its own place leads nowhere. It is written from the
 * package's root instead, where the programs keep their places.
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

/** What stands first in each file: where the package's root is, seen from it. */
export function rootOf(fileName: string): string {
  const up = '../'.repeat(fileName.split('/').length - 1) || './';
  return `const packageRoot = new URL('${up}', import.meta.url);`;
}
