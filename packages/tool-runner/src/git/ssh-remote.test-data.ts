import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** Where Debian's openssh-server puts it; it insists on being called by its whole path. */
export const sshServerProgram = '/usr/sbin/sshd';

/** A real sshd on this machine for one key, and a real agent that holds it. */
export interface SshRemote {
  /** `ssh://user@127.0.0.1:port`. */
  readonly url: string;
  /** The agent's socket, for SSH_AUTH_SOCK. */
  readonly agent: string;
  /** The line of known_hosts that a person gets by answering "yes" once. */
  readonly knownHost: string;
  readonly identities: () => string;
  close(): void;
}

export async function startSshRemote(): Promise<SshRemote> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-ssh-'));
  const at = (name: string): string => join(folder, name);
  for (const name of ['host', 'person'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', at(name)]);
  const port = await freePort();
  const [, hostKey = ''] = readFileSync(at('host.pub'), 'utf8').split(' ');
  writeFileSync(at('authorized'), readFileSync(at('person.pub')));
  writeFileSync(
    at('config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${at('host')}`,
      `PidFile ${at('pid')}`,
      `AuthorizedKeysFile ${at('authorized')}`,
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'UsePAM no',
      'StrictModes no',
      'PermitRootLogin yes',
      '',
    ].join('\n'),
  );
  // sshd started by root wants a folder to lock its helper in.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  const server = spawn(sshServerProgram, ['-D', '-e', '-f', at('config')], { stdio: 'ignore' });
  const agent = spawn('ssh-agent', ['-D', '-a', at('agent')], { stdio: 'ignore' });
  await until(() => existsSync(at('agent')));
  await until(() => accepts(port));
  const environment = { ...process.env, SSH_AUTH_SOCK: at('agent') };
  execFileSync('ssh-add', ['-q', at('person')], { env: environment });
  // Only the agent has the key from here on.
  rmSync(at('person'));
  return {
    url: `ssh://${userInfo().username}@127.0.0.1:${port}`,
    agent: at('agent'),
    knownHost: `[127.0.0.1]:${port} ssh-ed25519 ${hostKey}\n`,
    identities: () => execFileSync('ssh-add', ['-l'], { env: environment, encoding: 'utf8' }),
    close() {
      for (const program of [server, agent] satisfies ChildProcess[]) program.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A home in which ssh finds what a person has there: ssh takes it from the account, so a configuration says where. */
export function sshHome(home: string, { knownHost }: SshRemote): string {
  mkdirSync(join(home, '.ssh'), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, '.ssh/known_hosts'), knownHost);
  const program = join(home, 'ssh');
  writeFileSync(
    program,
    `#!/bin/sh\nexec ssh -F /dev/null -o UserKnownHostsFile=${join(home, '.ssh/known_hosts')} -o BatchMode=yes "$@"\n`,
  );
  chmodSync(program, 0o755);
  return program;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await wait(20);
}
