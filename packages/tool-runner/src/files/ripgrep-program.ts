import { join } from 'node:path';
import { arch, platform } from 'node:process';
import { isExecutable } from '../isolation/fixed-path.ts';

/** Returns the ripgrep that an editor of the VS Code family has in its application folder; undefined if not found. */
export function ripgrepOfEditor(applicationFolder: string): string | undefined {
  const name = platform === 'win32' ? 'rg.exe' : 'rg';
  const below = [
    ['ripgrep-universal', 'bin', `${platform}-${arch}`],
    [`ripgrep-${platform}-${arch}`, 'bin'],
    ['ripgrep', 'bin'],
  ];
  return ['node_modules', 'node_modules.asar.unpacked']
    .flatMap((modules) => below.map((parts) => join(applicationFolder, modules, '@vscode', ...parts, name)))
    .find(isExecutable);
}

/** Returns the ripgrep that npm installed with this package. */
export async function ownRipgrep(): Promise<string> {
  return (await import('@vscode/ripgrep')).rgPath;
}
