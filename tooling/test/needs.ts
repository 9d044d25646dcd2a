/** Programs that a part of the suite needs from the system, and how to install them. */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { env, getuid } from 'node:process';

/** A program of the system, or a package that leaves an executable file in a known place. */
export interface ProgramNeed {
  /** Looked for on the PATH, or by its absolute path. */
  readonly program: string;
  readonly debianPackage: string;
}

/** Something that we download and keep ourselves. */
export interface DownloadNeed {
  readonly name: string;
  isInstalled(): boolean;
  /** Returns whether it is available now. */
  fetch(): Promise<boolean>;
}

export type Need = ProgramNeed | DownloadNeed;

/** Installs missing programs where we may (as root on Debian); returns what is still missing. */
export async function installMissing(needs: readonly Need[]): Promise<readonly Need[]> {
  const missing: Need[] = [...(await installPrograms(needs.filter((need) => 'program' in need)))];
  for (const need of needs)
    if ('fetch' in need && !need.isInstalled() && !(await need.fetch())) missing.push(need);
  return missing;
}

/** How a person can install it. */
export const installHint = (need: Need): string =>
  'program' in need ? `apt-get install ${need.debianPackage} (on Debian)` : 'run it again with network';

export const nameOf = (need: Need): string => ('program' in need ? need.program : need.name);

async function installPrograms(needs: readonly ProgramNeed[]): Promise<readonly ProgramNeed[]> {
  const missing = needs.filter((need) => !isOnPath(need.program));
  if (missing.length === 0 || !mayInstall()) return missing;

  const packages = missing.map((need) => need.debianPackage);
  console.log(`Installing ${packages.join(', ')}, which the tests need …`);
  // A fresh container has no package lists, and existing lists may be outdated.
  if (!(await aptGet('install', ...packages)) && (await aptGet('update')))
    await aptGet('install', ...packages);
  return missing.filter((need) => !isOnPath(need.program));
}

function isOnPath(program: string): boolean {
  if (isAbsolute(program)) return isExecutable(program);
  return (env.PATH ?? '')
    .split(delimiter)
    .some((folder) => folder !== '' && isExecutable(join(folder, program)));
}

function mayInstall(): boolean {
  return getuid?.() === 0 && isOnPath('apt-get');
}

function aptGet(...args: string[]): Promise<boolean> {
  const child = spawn('apt-get', ['--yes', '--quiet', '--no-install-recommends', ...args], {
    stdio: 'ignore',
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  return new Promise((resolve) => {
    child.on('error', () => resolve(false));
    child.on('close', (code) => resolve(code === 0));
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
