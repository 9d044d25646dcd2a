import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { arch, platform } from 'node:process';

/**
 * The ripgrep that an editor of the VS Code family brings along, below its application folder; undefined where it has
 * none that we know. Code that runs in that editor trusts its programs already.
 */
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

/** Our own, which npm installed with this package. */
export async function ownRipgrep(): Promise<string> {
  return (await import('@vscode/ripgrep')).rgPath;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
