/**
 * Files that a program executes although the command does not name them. Callers list those that exist, so that the
 * digest covers them (AP-8).
 */

/** Files that `node a` tries if `a` is not a file. */
export const nodeLookups = (script: string): readonly string[] =>
  ['.js', '.json', '.node', '.ts', '.mjs', '.cjs'].map((extension) => `${script}${extension}`);

/** Files that `python -m a.b` runs if they exist in the workspace. They come before installed modules. */
export function pythonModuleFiles(module: string): readonly string[] {
  if (!/^[A-Za-z_][\w.]*$/.test(module)) return [];
  const path = module.split('.').join('/');
  return [`${path}.py`, `${path}/__main__.py`, `${path}/__init__.py`];
}

const clientHooks =
  `applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
  pre-rebase post-checkout post-merge pre-push post-rewrite reference-transaction post-index-change pre-auto-gc`.split(
    /\s+/,
  );

/** The hooks of git and of husky, and git's configuration, which may name further hooks. */
export const gitHookFiles: readonly string[] = [
  '.git/config',
  ...clientHooks.map((hook) => `.git/hooks/${hook}`),
  ...clientHooks.map((hook) => `.husky/${hook}`),
];
