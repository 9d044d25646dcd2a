import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sensitivePlaces } from '@countersign/policy';
import { realPath } from '../real-disk.ts';
import { tryOr } from '../try-or.ts';
import { isInside } from './fixed-path.ts';

/** What the person lets commands see outside the workspace: `readable` and `path` in `runner.json` (RN-5). */
export interface ProgramFolders {
  /** Absolute, or beginning with `~/`. */
  readonly readable: readonly string[];
  /** Folders in which programs are found, before the system's. They are readable too. */
  readonly path: readonly string[];
}
export const noProgramFolders: ProgramFolders = { readable: [], path: [] };

/** The folders that no setting may show, beside those that are sensitive everywhere. */
export interface ForbiddenFolders {
  readonly root: string;
  readonly home: string;
  readonly stateFolder: string;
  /** Countersign's configuration folder. */
  readonly configFolder?: string | undefined;
}

export type FolderCheck =
  /** `real` is the folder with links resolved. */
  | { readonly state: 'shown'; readonly path: string; readonly real: string }
  | { readonly state: 'missing'; readonly path: string }
  /** The workspace is visible anyway, and programs are never found in it (VA-4). */
  | { readonly state: 'in workspace'; readonly path: string }
  | { readonly state: 'refused'; readonly path: string; readonly problem: string };

/** Checks each entry as the disk is now. */
export function checkShownFolders(entries: readonly string[], forbidden: ForbiddenFolders): FolderCheck[] {
  const secrets = entries.length === 0 ? [] : secretFolders(forbidden);
  return entries.map((entry): FolderCheck => {
    const path = resolve(entry.startsWith('~/') ? join(forbidden.home, entry.slice(2)) : entry);
    // Also checked as written: a sensitive folder must not be listed, even while it does not exist.
    const asWritten = problemWith(path, forbidden, secrets);
    if (asWritten !== undefined) return { state: 'refused', path, problem: asWritten };
    const real = realPath(path);
    if (real === undefined || !tryOr(() => statSync(real).isDirectory(), false))
      return { state: 'missing', path };
    const problem = problemWith(real, forbidden, secrets);
    if (problem !== undefined) return { state: 'refused', path, problem };
    return isInside(forbidden.root, real) ? { state: 'in workspace', path } : { state: 'shown', path, real };
  });
}

/** Returns why a folder must not be shown to commands. */
function problemWith(
  path: string,
  { home }: ForbiddenFolders,
  secrets: readonly string[],
): string | undefined {
  // A colon separates the folders of PATH.
  if (!path.isWellFormed() || path.includes(':')) return 'its name is not UTF-8, or has a colon in it';
  const isOfSystem = forbiddenFolders.some((folder) => isInside(path, folder) || isInside(folder, path));
  if (isOfSystem || path === '/tmp') return 'it belongs to the system';
  if ([home, realPath(home) ?? home].some((folder) => isInside(path, folder)))
    return 'it contains your home folder';
  if (wholeOnly.includes(path)) return "it contains other people's folders";
  const secret = secrets.find((folder) => isInside(path, folder) || isInside(folder, path));
  if (secret !== undefined) return `it contains or lies in ${secret}, which is sensitive`;
  const kind = sensitivePlaces.find(path.slice(1))?.kind;
  return kind === undefined ? undefined : `it is sensitive: ${kind}`;
}

/** Never shown as a whole, but folders in them may be. */
const wholeOnly: readonly string[] = ['/home', '/root', '/Users', '/mnt', '/media'];
/** Isolation has its own. */
const forbiddenFolders = ['/etc', '/proc', '/dev', '/sys', '/run', '/var/run', '/boot'];

function secretFolders({ home, stateFolder, configFolder }: ForbiddenFolders): string[] {
  const own = [stateFolder, ...(configFolder === undefined ? [] : [configFolder])];
  const all = [...own, ...secretsOfHome.map((name) => join(home, name))];
  return [...new Set(all.flatMap((folder) => [folder, realPath(folder) ?? folder]))];
}

/** Where people's programs keep secrets. A folder that contains one of these is refused even if it does not exist. */
const secretsOfHome = `.ssh .aws .gnupg .azure .kube .gcloud .docker .password-store .config/gcloud .config/gh
  .config/git .config/containers .config/countersign .local/state/countersign .local/share/countersign
  .local/share/keyrings .local/share/kwalletd .mozilla .thunderbird .config/google-chrome .config/chromium
  .config/BraveSoftware .config/1Password .config/op .config/Bitwarden .claude .codex .gemini .terraform.d .vault-token
  Library/Keychains Library/Application\u00a0Support`
  .split(/[ \n]+/)
  .map((name) => name.replace('\u00a0', ' '));

/** The message about a refused entry of `runner.json`. */
export const refusedEntry = (path: string, problem: string): string =>
  `runner.json lets commands read "${path}", but ${problem}`;
