import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemorySecrets, ServerFixture } from '../server-fixture.test-data.ts';
import { Accounts } from './account.ts';

let fixture: ServerFixture;
beforeAll(async () => {
  fixture = await ServerFixture.start();
});
afterAll(() => fixture.close());

const where = { server: 'http://127.0.0.1:1', allowHttp: false };

describe('[RE-5] an account', () => {
  it.each([
    ['nothing of use', { problem: 'not a link' }],
    ['http://example.org/#sign-in=abcdefghijklmnop', { problem: 'plain', origin: 'http://example.org' }],
  ])('is not made of %s', async (pasted, problem) => {
    const accounts = new Accounts({ secrets: new MemorySecrets(), device: 'd' });
    expect(await accounts.signIn(pasted, where)).toEqual(problem);
    expect(accounts.current).toBeUndefined();
  });

  it('is not made of a code that the server does not know', async () => {
    const accounts = new Accounts({ secrets: new MemorySecrets(), device: 'd' });
    const { origin } = new URL(fixture.link);
    await expect(accounts.signIn('abcdefghijklmnop', { ...where, server: origin })).rejects.toMatchObject({
      status: 401,
    });
  });

  it('is kept in the secret storage, read by another window, and ended on the server when signing out', async () => {
    const secrets = new MemorySecrets();
    const { account, accounts } = await fixture.signIn(secrets);
    expect(account.server).toBe(new URL(fixture.link).origin);
    expect(await account.client.listProjects()).toMatchObject({ success: true });

    // A server that prints no link accepts a pasted token, if the token is valid.
    const { token } = await account.client.createToken({ body: { name: 'x', scope: 'front_end' } });
    const { server } = account;
    const pasting = new Accounts({ secrets: new MemorySecrets(), device: 'd' });
    await expect(pasting.signIn(`${token.slice(0, -4)}AAAA`, { ...where, server })).rejects.toMatchObject({
      status: 401,
    });
    expect(pasting.current).toBeUndefined();
    expect(await pasting.signIn(` ${token}\n`, { ...where, server })).toMatchObject({ server });
    expect(await pasting.current?.client.connection.token()).toBe(token);

    const otherWindow = new Accounts({ secrets, device: 'd' });
    expect([await otherWindow.load(), await otherWindow.load()]).toEqual([true, false]);
    expect(otherWindow.current?.server).toBe(account.server);
    await accounts.signOut();
    expect([accounts.current, secrets.kept.size, await otherWindow.load()]).toEqual([undefined, 0, true]);
    expect(otherWindow.current).toBeUndefined();
    await expect(account.client.listProjects()).rejects.toMatchObject({ status: 401 });
  });

  it('does not notify its own window, and does not take effect if it cannot be stored', async () => {
    const heard: boolean[] = [];
    const secrets = new MemorySecrets();
    const accounts = new Accounts({
      device: 'd',
      secrets: {
        get: (key) => secrets.get(key),
        delete: (key) => secrets.delete(key),
        // As in a real editor, every window is notified before the promise resolves.
        async store(key, value) {
          await secrets.store(key, value);
          heard.push(await accounts.load());
          if (heard.length === 2) throw new Error('The keychain is locked');
        },
      },
      fetch: async () =>
        Response.json({ success: true, token: `t${heard.length}`, expires_at: '2030-01-01T00:00:00.000Z' }),
    });
    const code = 'abcdefghijklmnop';
    const account = await accounts.signIn(code, where);
    expect([account, heard]).toEqual([accounts.current, [false]]);
    await expect(accounts.signIn(code, where)).rejects.toThrow('The keychain is locked');
    expect(accounts.current).toEqual({ server: where.server, client: expect.anything() });
    expect(await accounts.current?.client.connection.token()).toBe('t0');
  });

  it('that cannot be read counts as signed out', async () => {
    const secrets = new MemorySecrets();
    await secrets.store('countersign.account', '{"server": 5}');
    const accounts = new Accounts({ secrets, device: 'd' });
    expect([await accounts.load(), accounts.current]).toEqual([false, undefined]);
    await secrets.store('countersign.account', 'no JSON');
    expect(await accounts.load()).toBe(false);
    await accounts.signOut(); // signing out twice is harmless
  });
});
