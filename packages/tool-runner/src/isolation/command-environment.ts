import { spawnSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { tryOr } from '../try-or.ts';

/** By default, a command gets only these variables of the runner's environment (VA-7). */
const passedOn = /^(LANG|LC_[A-Z]+|TERM|TZ)$/;
/** These variables decide which code a program loads, or hold secrets. They are not passed even if the person adds them. */
const neverPassedOn = /^(LD_|DYLD_|BASH_ENV$|ENV$|BASH_FUNC_|COUNTERSIGN_)/;

/** Returns the environment of a command. `own` is the runner's environment; `added` are names that the person allows. */
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

/** In a container, the runner's user id may have no name. */
export const userName = (): string => tryOr(() => userInfo().username, 'user');

/** The person's name and address for git. Commands learn nothing else about the person (RN-5). */
export interface PersonName {
  readonly name: string | undefined;
  readonly email: string | undefined;
}

/** Reads the name from git's global configuration. Git runs outside the workspace, which could influence it. */
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
