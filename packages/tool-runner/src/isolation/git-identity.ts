import { spawnSync } from 'node:child_process';

/** Who the person is for git: all that commands learn about them (RN-5). */
export interface PersonName {
  readonly name: string | undefined;
  readonly email: string | undefined;
}

/** Asks git itself, outside of any repository, so that nothing of a workspace has a say. */
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
