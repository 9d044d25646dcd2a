import { spawnSync } from 'node:child_process';
import { userInfo } from 'node:os';

/** The only variables that a command gets from the runner's environment by default (VA-7). */
const passedOn = /^(LANG|LC_[A-Z]+|TERM|TZ)$/;
/** Variables that decide which code a program loads, or that hold secrets: not passed even if the person adds them. */
const neverPassedOn = /^(LD_|DYLD_|BASH_ENV$|ENV$|BASH_FUNC_|COUNTERSIGN_)/;

/** The environment of a command: by allow-list from `own`, the environment of the runner. */
export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  places: { readonly path: string; readonly home: string; readonly temporary: string },
  added: readonly string[],
): Record<string, string> {
  const environment: Record<string, string> = {
    PATH: places.path,
    HOME: places.home,
    TMPDIR: places.temporary,
    USER: userName(),
  };
  for (const [name, value] of Object.entries(own)) {
    const isWanted = passedOn.test(name) || (added.includes(name) && !neverPassedOn.test(name));
    if (value !== undefined && isWanted && !Object.hasOwn(environment, name)) environment[name] = value;
  }
  return environment;
}

/** A container may run us under an id that has no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'user';
  }
}

/** The person's name for git: all that commands learn about the person (RN-5). */
export interface PersonName {
  readonly name: string | undefined;
  readonly email: string | undefined;
}

/** Asks git itself, outside of any repository, so that no workspace can influence it. */
export function readPersonName(home: string): PersonName {
  const { stdout } = spawnSync(
    'git',
    ['config', '--global', '--includes', '--null', '--get-regexp', '^user\\.'],
    {
      cwd: '/',
      env: { HOME: home, PATH: '/usr/local/bin:/usr/bin:/bin' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 2_000,
    },
  );
  const values = new Map<string, string>();
  for (const entry of (stdout ?? '').split('\0')) {
    const newline = entry.indexOf('\n');
    if (newline > 0) values.set(entry.slice(0, newline), entry.slice(newline + 1));
  }
  return { name: values.get('user.name'), email: values.get('user.email') };
}
