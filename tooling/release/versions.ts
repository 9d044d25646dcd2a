/** One version for everything in this repository. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `wanted`: patch, minor, major or a version. Returns undefined for anything else, and for a version that is not
 * newer.
 */
export function nextVersion(now: string, wanted: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = now.split('.').map(Number);
  const named: Record<string, string> = {
    major: `${major + 1}.0.0`,
    minor: `${major}.${minor + 1}.0`,
    patch: `${major}.${minor}.${patch + 1}`,
  };
  const next = named[wanted] ?? wanted;
  if (!/^\d+\.\d+\.\d+$/.test(next)) return undefined;
  return next.localeCompare(now, 'en', { numeric: true }) > 0 ? next : undefined;
}

/** Files that contain the version, each with its new text. */
export function filesWithVersion(root: string, now: string, next: string): Map<string, string> {
  const changed = new Map<string, string>();
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const manifests = globSync(['package.json', '{packages,apps,tests}/*/package.json', 'bench/package.json'], {
    cwd: root,
  });
  // Our packages depend on each other by exact version; only ours are named @countersign/….
  const own = (text: string) =>
    text
      .replace(`"version": "${now}"`, `"version": "${next}"`)
      .replaceAll(
        new RegExp(`("@countersign/[\\w-]+": )"${now.replaceAll('.', '\\.')}"`, 'g'),
        `$1"${next}"`,
      );
  for (const path of manifests) changed.set(path, own(read(path)));
  changed.set('package-lock.json', lockWithVersion(read('package-lock.json'), next));
  const emacs = 'apps/emacs/countersign.el';
  changed.set(emacs, read(emacs).replace(/^;; Version: .*$/m, `;; Version: ${next}`));
  return changed;
}

interface Lock {
  version: string;
  packages: Record<string, { version?: string; dependencies?: Record<string, string> }>;
}

function lockWithVersion(text: string, next: string): string {
  const lock = JSON.parse(text) as Lock;
  lock.version = next;
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path.includes('node_modules/')) continue;
    if (entry.version !== undefined) entry.version = next;
    for (const kind of ['dependencies', 'devDependencies'] as const) {
      const names = (entry as Record<string, Record<string, string> | undefined>)[kind] ?? {};
      for (const name of Object.keys(names)) if (name.startsWith('@countersign/')) names[name] = next;
    }
  }
  return `${JSON.stringify(lock, null, 2)}\n`;
}
