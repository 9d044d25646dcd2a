import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Never looked up in the environment's PATH, which a workspace may have a say in. */
const toolFolders = ['/usr/local/bin', '/usr/bin', '/bin', '/run/current-system/sw/bin'];

export interface IsolationTools {
  readonly bubblewrap: string;
  readonly prlimit: string;
}

export type Probe = { readonly tools: IsolationTools } | { readonly problem: string };

export function findTool(name: string): string | undefined {
  return toolFolders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Whether this machine isolates: found out by doing it once, which takes some 10 ms. */
export function probeIsolation(bubblewrap = findTool('bwrap'), platform: string = process.platform): Probe {
  if (platform !== 'linux') return { problem: `isolation needs Linux, and this is ${platform}` };
  const prlimit = findTool('prlimit');
  if (bubblewrap === undefined || !existsSync(bubblewrap)) return { problem: 'bubblewrap is not installed' };
  if (prlimit === undefined) return { problem: 'prlimit (of util-linux) is not installed' };
  const problem = tryBubblewrap(bubblewrap, ['--unshare-net', '--proc', '/proc', '--dev', '/dev']);
  return problem === undefined ? { tools: { bubblewrap, prlimit } } : { problem };
}

/** What bubblewrap complains of when it starts a program with these arguments; undefined when it works. `input` is its descriptor 0. */
export function tryBubblewrap(
  bubblewrap: string,
  args: readonly string[],
  program: readonly string[] = ['/bin/true'],
  input: Uint8Array = new Uint8Array(),
): string | undefined {
  const everything = [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--ro-bind',
    '/',
    '/',
  ];
  const { status, stderr, error } = spawnSync(bubblewrap, [...everything, ...args, '--', ...program], {
    env: {},
    encoding: 'utf8',
    input,
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: 5_000,
  });
  if (status === 0) return undefined;
  return `bubblewrap does not work here (${error?.message ?? (stderr.trim() || `it ended with ${status}`)})`;
}
