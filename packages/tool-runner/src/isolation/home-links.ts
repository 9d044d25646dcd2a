import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onDisk } from './name-on-disk.ts';
import { realInside } from './real-inside.ts';
import type { FoundPlace } from './workspace-scan.ts';

/**
 * What the person's home takes from this workspace (VA-3). Whoever keeps their dotfiles in a repository has links to it
 * in the home: `~/.zshrc` leads to `zsh/zshrc`, whose name says nothing, and which the next shell executes.
 */
export function linkedFromHome(home: string, root: string): FoundPlace[] {
  const links = [
    ...linksIn(home).filter((name) => name.startsWith('.')),
    ...linksIn(join(home, '.config')).map((name) => join('.config', name)),
  ];
  return links
    .flatMap((link) => realInside(root, join(home, link)))
    .map((real) => ({
      path: real.slice(root.length + 1),
      type: statSync(onDisk(real)).isDirectory() ? 'directory' : 'file',
    }));
}

function linksIn(folder: string): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // there is none, or it is not ours to see
  }
  return entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
}
