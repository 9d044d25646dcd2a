import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('../bin/countersign.mjs', import.meta.url));

it('countersign serve: listens, and ends well when it is asked to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-cli-serve-'));
  const env = { ...process.env, XDG_DATA_HOME: folder, LC_ALL: 'C' };
  const server = spawn(process.execPath, [program, 'serve', '--port', '0'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const address = await new Promise<string>((resolve, reject) => {
      let text = '';
      server.stdout.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        const [, found] = /listens on (\S+)\n/.exec(text) ?? [];
        if (found !== undefined) resolve(found);
      });
      server.once('exit', (code) => reject(new Error(`it ended with ${code}: ${text}`)));
    });
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGTERM');
    expect(await ended).toBe(0);
    await expect(fetch(`${address}/healthz`)).rejects.toThrow();
  } finally {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
});
