import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cannotIsolate, IsolationFixture, mayUseNetwork, mayWrite } from './isolation-fixture.test-data.ts';

describe.skipIf(cannotIsolate)('[RN-5] the gate of a conversation', () => {
  let fixture: IsolationFixture;
  beforeEach(() => {
    fixture = new IsolationFixture({ killDelayMs: 300 });
  });
  afterEach(() => fixture.remove());

  const line = async (session: string, text: string, confinement = mayUseNetwork) => {
    const place = await fixture.starter.placeOf(session, { withNetwork: confinement.network !== false });
    return fixture.run('bash', ['-c', text], confinement, { place });
  };
  // This machine is refused, which only the gate says.
  const curl = `curl -sS --noproxy none.invalid http://localhost:9/`;
  const refusal = 'Countersign: localhost:9 cannot be reached by commands in isolation\n';

  it('is one socket of the runner, which every command with network of the conversation uses', async () => {
    const { stdout } = await line('a', `${curl}; echo $http_proxy; ls /run/countersign 2>&1`);
    expect(stdout.slice(0, refusal.length)).toBe(refusal);
    expect(stdout).toMatch(/\nhttp:\/\/countersign:[0-9a-f]{48}@127\.0\.0\.1:[1-9]\d*\nls: /);
    const [, key, port] = /:([0-9a-f]{48})@127\.0\.0\.1:(\d+)/.exec(stdout) ?? [];
    const again = await line('a', `${curl}; echo $http_proxy`);
    expect(again.stdout).toContain(refusal);
    expect(again.stdout).toContain(`@127.0.0.1:${port}`);
    expect(again.stdout).not.toContain(key);
    // No process of ours is left in there.
    expect((await line('a', 'ls -d /proc/[0-9]* | wc -l', mayWrite)).stdout.trim()).toMatch(/^[2-5]$/);
  });

  it('[AP-9] is of no use without the key of a command that runs, and nobody can take its port', async () => {
    const first = await line('a', 'echo $http_proxy');
    const [, key = '', port] = /countersign:([0-9a-f]{48})@127\.0\.0\.1:(\d+)/.exec(first.stdout) ?? [];
    const ask = (login: string): string =>
      `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET http://localhost:9/ HTTP/1.1\\r\\n${login}connection: close\\r\\nhost: x\\r\\n\\r\\n' >&3; head -1 <&3`;
    const login = (text: string): string =>
      `proxy-authorization: Basic ${Buffer.from(`countersign:${text}`).toString('base64')}\\r\\n`;
    for (const attempt of [ask(''), ask(login('')), ask(login(key)), ask(login('0'.repeat(48)))])
      expect((await line('a', attempt, mayWrite)).stdout).toMatch(/^HTTP\/1.1 407 /);
    // While a command runs, its key is accepted. For a command of another conversation, the port does not exist.
    const running = line('a', 'echo up; sleep 2');
    expect((await line('b', ask(''), mayWrite)).stdout).toBe('');
    const take = `python3 -c 'import socket; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1); s.bind(("127.0.0.1", ${port})); s.listen()'`;
    expect((await line('a', take, mayWrite)).stderr).toContain('Address already in use');
    await running;
  });

  it('ends with the conversation', async () => {
    await line('a', 'true');
    await fixture.starter.endConversation('a');
    expect((await line('a', curl)).stdout).toBe(refusal);
  });
});
