import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { cannotIsolate } from './isolation-fixture.test-data.ts';

const user = 65_534;

/** Runs a module as a user without rights. Returns its JSON output, or why it could not run. */
function runAsOrdinaryUser(script: string): { readonly seen: unknown } | { readonly problem: string } {
  const node = [process.execPath, '--input-type=module', '-e', script];
  const { stdout, stderr, error } = spawnSync(
    '/usr/bin/setpriv',
    [`--reuid=${user}`, `--regid=${user}`, '--clear-groups', ...node],
    {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', HOME: '/', TMPDIR: '/tmp', SECRET_TOKEN: 'token-1' },
    },
  );
  try {
    return { seen: JSON.parse(stdout) };
  } catch {
    return { problem: error?.message ?? stderr };
  }
}

describe.skipIf(cannotIsolate)('for an ordinary user', () => {
  it('[RN-5] isolation works as for root', ({ skip }) => {
    if (process.getuid?.() !== 0) skip('this already is an ordinary user: the other tests show it');
    const result = runAsOrdinaryUser(`
      import { chmodSync, readdirSync, rmSync, statSync } from 'node:fs';
      import { join } from 'node:path';
      import { IsolationFixture, lookOnly, mayWrite } from ${JSON.stringify(import.meta.resolve('./isolation-fixture.test-data.ts'))};
      const fixture = new IsolationFixture({ killDelayMs: 200 });
      fixture.write('.env', 'SECRET');
      fixture.write('a.txt', 'hello');
      const look = await fixture.bash('id -u; cat .env a.txt; touch b 2>/dev/null || echo no; ls /proc | grep -cE "^[0-9]+$"; cat /proc/*/environ | grep -c token-1; grep CapEff /proc/self/status');
      const write = await fixture.bash('echo x > b; mkdir -p .vscode sub/.vscode; echo evil > .vscode/tasks.json; echo evil > sub/.vscode/tasks.json; ulimit -u', mayWrite);
      const bomb = await fixture.run('python3', ['-c', \`import os, signal
count = 0
try:
  while count < 3000:
    if os.fork() == 0: signal.pause()
    count += 1
except BlockingIOError: print("bounded")\`]);
      const stubborn = fixture.starter.start({ program: 'bash', args: ['-c', 'trap "" TERM; echo up; while :; do sleep 1; done'], cwd: '', confinement: lookOnly, stdin: 'ignore' });
      await new Promise((resolve) => stubborn.stdout.once('data', resolve));
      await fixture.starter.stop(stubborn);
      const hiding = fixture.starter.start({ program: 'bash', args: ['-c', 'mkdir d; echo evil > d/.envrc; chmod 311 d'], cwd: '', confinement: mayWrite, stdin: 'ignore' });
      await new Promise((resolve) => hiding.once('exit', resolve));
      await fixture.starter.stop(hiding);
      const hidden = [fixture.starter.planted(hiding).problem, await fixture.bash('true').catch(({ code }) => code)];
      chmodSync(join(fixture.root, 'd'), 0o755);
      rmSync(join(fixture.root, 'd'), { recursive: true });
      const clinging = fixture.starter.start({ program: 'bash', args: ['-c', 'mkdir -p c/.vscode e; touch c/.vscode/tasks.json e/.envrc f.pth; chmod 555 c/.vscode e'], cwd: '', confinement: mayWrite, stdin: 'ignore' });
      await new Promise((resolve) => clinging.once('exit', resolve));
      await fixture.starter.stop(clinging);
      const aside = fixture.starter.planted(clinging).setAside.map(({ path }) => path).sort();
      const mode = statSync(join(fixture.root, 'e')).mode & 0o777;
      const files = readdirSync(fixture.root, { recursive: true }).sort();
      const place = await fixture.starter.placeOf('a');
      const inPlace = (line) => fixture.run('bash', ['-c', line], mayWrite, { place });
      await inPlace('echo shared > /tmp/note');
      const server = fixture.starter.start({ program: 'python3', args: ['-uc', 'import socket; s = socket.create_server(("127.0.0.1", 3000)); print("up", flush=True); [c.sendall(b"hello") for c, _ in iter(s.accept, None)]'], cwd: '', confinement: mayWrite, stdin: 'ignore', place });
      await new Promise((resolve) => server.stdout.once('data', resolve));
      const shared = await inPlace('id -u; cat /tmp/note; head -c 5 < /dev/tcp/127.0.0.1/3000; grep CapEff /proc/self/status');
      await fixture.remove();
      console.log(JSON.stringify({ shared: shared.stdout, look: look.stdout, write: write.stdout, bomb: bomb.stdout, ended: stubborn.exitCode ?? stubborn.signalCode, hidden, aside, mode, files }));
    `);
    if ('problem' in result) skip(`no program runs as another user here: ${result.problem}`);
    else
      expect(result.seen).toEqual({
        shared: '65534\nshared\nhelloCapEff:\t0000000000000000\n',
        look: expect.stringMatching(/^65534\nhellono\n\d\n0\nCapEff:\t0000000000000000\n$/),
        write: '2048\n',
        bomb: 'bounded\n',
        ended: 137,
        hidden: ['the folder "d" cannot be listed (EACCES)', 'ISOLATION_UNAVAILABLE'],
        // None of these could be moved unchanged: a folder that is moved, and a folder that loses an entry, must be
        // writable.
        aside: ['c/.vscode', 'e/.envrc', 'f.pth'],
        mode: 0o555,
        files: ['.env', 'a.txt', 'b', 'c', 'e', 'sub'],
      });
  });
});
