import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pause, until } from '../../lab/src/waiting.ts';
import { isAlive, Machine, processesBelow, type ReadyLine, type UpProcess } from './up-process.ts';
import { approve, cardOf, signInAsPerson, useLink, wholeLoop } from './up-story.ts';

let machine: Machine;
beforeEach(() => {
  machine = new Machine();
});
afterEach(() => machine.close());

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const shippedGreeting = file('../../../apps/cli/sample-workspace/src/greeting.js');

/** Stops it with Ctrl-C, and checks that nothing of it is left. */
async function stop(up: UpProcess, address: string): Promise<void> {
  const tree = [up.pid, ...processesBelow(up.pid).map(({ pid }) => pid)];
  expect(tree.length).toBeGreaterThan(1);
  expect(await up.kill('SIGINT')).toBe('0');
  await untilGone(tree);
  await expect(fetch(`${address}/healthz`)).rejects.toThrow();
}

const untilGone = (pids: readonly number[]) =>
  until(() => !pids.some(isAlive), { otherwise: () => `Left: ${pids.filter(isAlive)}` });

describe('countersign up', () => {
  it('[UI-4] runs the whole loop in a sample workspace: read, edit with approval, test run', async () => {
    const shipped = readFileSync(shippedGreeting, 'utf8');
    const up = machine.up('--json');
    const ready = await up.ready();
    expect(up.out.trim().split('\n')).toHaveLength(1);
    expect(ready).toMatchObject({
      ready: true,
      pid: up.pid,
      address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
    });
    const page = await fetch(ready.address);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>Countersign')]);
    const settings = await (await fetch(`${ready.address}/page-settings.json`)).json();
    expect(settings).toEqual({ first_message: ready.first_message });

    const person = await signInAsPerson(ready);
    expect(await useLink(ready.sign_in_link)).toEqual({ status: 401, token: '' }); // RE-5: single use
    const answer = await wholeLoop(person, ready);
    expect(answer).toMatch(/read_file: \d+ bytes\n.*Helo.*edit_file: .*exit code 0.*pass 1/s);
    expect(readFileSync(join(ready.workspace, 'src/greeting.js'), 'utf8')).toContain('Hello, ');
    expect(readFileSync(shippedGreeting, 'utf8')).toBe(shipped);

    // The runner has its own token, limited to what a runner does.
    const { tokens } = await person.client.listTokens();
    expect(tokens.map(({ scope }) => scope).sort()).toEqual(['person', 'person', 'runner']);
    person.close();
    await stop(up, ready.address);

    // The next start uses the same address, where the browser is still signed in.
    const again = machine.up('--json');
    const second = await again.ready();
    expect([second.address, second.project_id]).toEqual([ready.address, ready.project_id]);
    expect(readFileSync(join(ready.workspace, 'src/greeting.js'), 'utf8')).toBe(shipped);
    const { tokens: left } = await person.client.listTokens();
    expect(
      left
        .filter(({ revoked_at }) => revoked_at === null)
        .map(({ scope }) => scope)
        .sort(),
    ).toEqual(['person', 'person', 'runner']);
    await stop(again, second.address);
  });

  it('[UI-4] says that one is running for the same folder, and prints a new link to it', async () => {
    const folder = machine.folder('mine', { 'a.md': 'mine' });
    const up = machine.up(folder, '--json');
    const ready = await up.ready();
    expect(ready.first_message).toBe(null);
    const second = await machine.up(folder, '--json').ready();
    expect(second).toMatchObject({ already_running: true, address: ready.address, pid: up.pid });
    expect((await useLink(second.sign_in_link)).status).toBe(200);
    const third = machine.up(folder);
    expect(await third.ended).toBe('0');
    expect(third.out).toContain(`running already for ${folder} (process ${up.pid})`);
    expect(third.out).toMatch(/#sign-in=/);
    // Other folders have their own server, and other commands find the server.
    const other = await machine.up(machine.folder('other'), '--json').ready();
    expect(other.already_running).toBe(undefined);
    const approvals = machine.run('approvals', '--json', '--server', ready.address);
    expect([await approvals.ended, approvals.errors]).toEqual(['0', '']);
    await stop(up, ready.address);
    expect(
      JSON.parse(readFileSync(join(machine.home, '.config/countersign/credentials.json'), 'utf8')),
    ).toMatchObject({
      servers: { [other.address]: {} },
    });
  });

  it('[UI-4] of two started at the same moment one runs, and the other says so', async () => {
    const folder = machine.folder('мой проект, с пробелами');
    const both = [machine.up(folder, '--json'), machine.up(folder, '--json')];
    const ready = await Promise.all(both.map((up) => up.ready()));
    expect(ready.map(({ already_running = false }) => already_running).sort()).toEqual([false, true]);
    const [one, other] = ready as [ReadyLine, ReadyLine];
    expect([other.address, other.pid, other.workspace]).toEqual([one.address, one.pid, folder]);
    for (const { sign_in_link } of ready) expect((await useLink(sign_in_link)).status).toBe(200);
    const runs = both.find(({ pid }) => pid === one.pid);
    await stop(runs as UpProcess, one.address);
  });

  it('[UI-4] uses another port when the default is taken, but fails when a port was given', async () => {
    const folder = machine.folder('mine');
    const first = machine.up(folder, '--json');
    const { address } = await first.ready();
    await stop(first, address);
    const port = Number(new URL(address).port);
    const squatter = createServer().listen(port, '127.0.0.1');
    try {
      const up = machine.up(folder, '--no-open');
      const [, now] = await up.says(new RegExp(`Port ${port} is taken, so it is (\\d+) this time`));
      await up.says(/Countersign is ready/);
      await stop(up, `http://127.0.0.1:${now}`);
      const named = machine.up(folder, '--port', String(port));
      expect(await named.ended).toBe('2');
      expect(named.errors).toMatch(new RegExp(`Port ${port} is taken.*\\[USAGE\\]`));
    } finally {
      squatter.close();
    }
  });

  it('[AP-10] restarts a killed server; pending approvals are still there', async () => {
    const folder = machine.folder('mine', { 'a.md': 'before' });
    const up = machine.up(folder, '--no-open');
    const [, link] = await up.says(/(http:\S+#sign-in=\S+)/);
    const address = new URL(link as string).origin;
    const person = await signInAsPerson({ address, sign_in_link: link } as never);
    const { projects } = await person.client.listProjects();
    const project_id = projects[0]?.project_id as string;
    const content = '/write_file path=a.md content=after';
    await person.client.sendMessage({ params: { project_id }, body: { content } });
    await cardOf(person, 'write_file');
    process.kill(up.server, 'SIGKILL');
    await up.says(/ended unexpectedly \(SIGKILL\).*The server is back/s);
    await approve(person, 'write_file');
    await until(() => readFileSync(join(folder, 'a.md'), 'utf8') === 'after', {
      otherwise: () => `It was not written: ${up.out}${up.errors}`,
    });
    person.close();
    await stop(up, address);
  });

  it('[UI-4] ends with a clear message when the server does not stay up', async () => {
    const up = machine.up(machine.folder('mine'), '--no-open');
    await up.says(/Countersign is ready/);
    for (let deaths = 1; deaths <= 4; deaths += 1) {
      process.kill(up.server, 'SIGKILL');
      if (deaths === 4) break;
      await until(() => up.out.split('The server is back').length === deaths + 1, {
        otherwise: () => up.out,
      });
    }
    expect(await up.ended).toBe('1');
    expect(up.errors).toContain('The server does not stay up: SIGKILL');
  });

  it('[UI-4] leaves no server behind when it is killed itself', async () => {
    const up = machine.up(machine.folder('mine'), '--json');
    const { address } = await up.ready();
    const { server } = up;
    await up.kill('SIGKILL');
    await untilGone([server]);
    await expect(fetch(`${address}/healthz`)).rejects.toThrow();
    // Leftover files do not prevent the next start.
    expect((await machine.up(join(machine.home, 'mine'), '--json').ready()).already_running).toBe(undefined);
  });

  it('[UI-4] ends at once on a second Ctrl-C, but treats a duplicated one as one', async () => {
    const up = machine.up(machine.folder('mine'), '--no-open');
    const [, link] = await up.says(/(http:\S+#sign-in=\S+)/);
    const address = new URL(link as string).origin;
    const person = await signInAsPerson({ address, sign_in_link: link } as never);
    const { projects } = await person.client.listProjects();
    const project_id = projects[0]?.project_id as string;
    // It ignores SIGTERM, so a graceful stop takes 10 s.
    const content = `/shell_exec {"command": "trap '' TERM; echo begun; sleep 60; sleep 60"}`;
    await person.client.sendMessage({ params: { project_id }, body: { content } });
    await approve(person, 'shell_exec');
    await person.next('tool.progress', ({ output }) => JSON.stringify(output).includes('begun'));
    person.close();
    const tree = processesBelow(up.pid).map(({ pid }) => pid);
    up.signal('SIGINT');
    up.signal('SIGINT');
    await up.says(/Ctrl-C again leaves at once/);
    await pause(400);
    expect(isAlive(up.pid)).toBe(true);
    expect(await up.kill('SIGINT')).toBe('130');
    await untilGone(tree);
  });

  it('[UI-4] opens the link in the browser, if there is one', async () => {
    const programs = machine.folder('programs', { 'xdg-open': `#!/bin/sh\necho "$1" > "$HOME/opened"\n` });
    chmodSync(join(programs, 'xdg-open'), 0o755);
    const desktop = new Machine({ PATH: `${programs}:${process.env.PATH}`, DISPLAY: ':9' });
    try {
      const opened = join(desktop.home, 'opened');
      const quiet = desktop.up('--no-open');
      await quiet.says(/Ctrl-C ends everything/);
      const [, quietLink] = await quiet.says(/(http:\S+#sign-in=\S+)/);
      await stop(quiet, new URL(quietLink as string).origin);
      expect(existsSync(opened)).toBe(false);
      const up = desktop.up();
      const [, link] = await up.says(/(http:\S+#sign-in=\S+).*opened in your browser/s);
      await until(() => existsSync(opened) && readFileSync(opened, 'utf8') === `${link}\n`, {
        otherwise: () => `Not opened: ${link}`,
      });
      await up.says(/\/edit_file path=src\/greeting\.js old=Helo new=Hello/);
    } finally {
      await desktop.close();
    }
  });

  it('[UI-4] puts no secret on a command line, and makes files readable by their owner only', async () => {
    const up = machine.up('--json');
    const { pid, workspace } = await up.ready();
    for (const { command } of processesBelow(pid)) expect(command).not.toMatch(/sign-in|eyJ/);
    const kept = join(machine.home, '.local/state/countersign');
    expect(statSync(kept).mode & 0o777).toBe(0o700);
    expect(workspace).not.toContain('/countersign/');
  });

  it('[UI-4] explains a bad folder and wrong arguments', async () => {
    const missing = machine.up(join(machine.home, 'nowhere'));
    expect([await missing.ended, missing.errors]).toEqual([
      '2',
      expect.stringContaining('WORKSPACE_NOT_FOUND'),
    ]);
    const odd = machine.up('a', 'b');
    expect([await odd.ended, odd.errors]).toEqual(['2', expect.stringContaining('[USAGE]')]);
    const help = machine.up('--help');
    expect([await help.ended, help.out]).toEqual(['0', expect.stringContaining('countersign up DIR')]);
  });

  it.skipIf(!existsSync('/usr/bin/bwrap'))('[AG-1] needs no network at all', () => {
    const inside = ['--dev-bind', '/', '/', '--unshare-net', '--die-with-parent', process.execPath];
    const out = execFileSync('bwrap', [...inside, file('./up-offline-program.ts')], {
      encoding: 'utf8',
      timeout: 300_000,
    });
    expect(out).toMatch(/exit code 0.*pass 1.*ended with 0\n$/s);
  });
});
