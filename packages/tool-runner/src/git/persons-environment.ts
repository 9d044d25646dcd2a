import { realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fixedPath, isInside } from '../isolation/fixed-path.ts';
import { tryOr } from '../try-or.ts';

/** Variables of git that say how the person signs in or reaches the network. The others say which repository to use. */
const keptGitVariables =
  /^GIT_(ASKPASS|SSH|SSH_COMMAND|SSH_VARIANT|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM|SSL_\w+|PROXY_\w+|HTTP_\w+|EXEC_PATH)$/;
/** Variables that decide which code a program loads, that belong to npm's own run, or that hold our own secrets. */
const droppedVariables = /^(GIT_|LD_|DYLD_|BASH_ENV$|ENV$|BASH_FUNC_|COUNTERSIGN_|npm_|INIT_CWD$|NODE_)/;
/** Variables that name one program. */
const programVariables = ['GIT_ASKPASS', 'SSH_ASKPASS', 'GIT_SSH', 'GIT_EXEC_PATH'];

/**
 * The environment of the person's own git, outside isolation: the runner's own, without what names a repository or a
 * program of the workspace. npm puts `node_modules/.bin` of the folder it was called in on PATH, so a runner that was
 * started with npx would otherwise find a git or ssh that the repository brought along.
 */
export function personsEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  { root, home }: { readonly root: string; readonly home: string },
): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(own))
    if (value !== undefined && (keptGitVariables.test(name) || !droppedVariables.test(name)))
      environment[name] = value;
  for (const name of programVariables)
    if (environment[name] !== undefined && !isOutside(environment[name], root)) delete environment[name];
  const folders = (own.PATH ?? '').split(':').filter((folder) => isOutside(folder, root));
  return {
    ...environment,
    HOME: home,
    PATH: (folders.length > 0 ? folders : fixedPath([], undefined)).join(':'),
    LC_ALL: 'C.UTF-8',
  };
}

/** Whether an absolute path is outside the workspace, with links resolved. A relative one depends on where we are. */
export function isOutside(path: string, root: string): boolean {
  if (!isAbsolute(path) || isInside(root, path)) return false;
  return !isInside(
    root,
    tryOr(() => realpathSync(path), path),
  );
}
