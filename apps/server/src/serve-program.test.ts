import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ProgramIo, serveProgram } from './serve-program.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-serve-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the program; `meanwhile` happens while it serves, and then it is asked to stop. */
async function run(
  argv: string[],
  meanwhile: (text: string) => Promise<void> = async () => {},
): Promise<string> {
  let text = '';
  const io: ProgramIo = {
    env: { XDG_DATA_HOME: folder, COUNTERSIGN_LOG_LEVEL: 'silent' },
    write: (part) => {
      text += part;
    },
    stopped: () => meanwhile(text),
  };
  await serveProgram(argv, io, { logger: pino({ level: 'silent' }) });
  return text;
}

describe('countersign serve', () => {
  it('prints where it listens and a link that signs in once', async () => {
    await run(['--port', '0'], async (text) => {
      const link = new URL(/(http:\S+#sign-in=\S+)/.exec(text)?.[1] as string);
      expect(text).toContain(`Countersign listens on ${link.origin}\n`);
      const signIn = () =>
        fetch(`${link.origin}/sign-in`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ code: link.hash.slice('#sign-in='.length) }),
        });
      const { token } = (await (await signIn()).json()) as { token: string };
      const projects = await fetch(`${link.origin}/my/projects`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect([projects.status, (await signIn()).status]).toEqual([200, 401]);
    });
  });

  it('keeps its secret for its owner only, and keeps it', async () => {
    await run(['--port', '0']);
    const path = join(folder, 'countersign', 'auth-secret');
    const made = readFileSync(path, 'utf8');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await run(['--port', '0']);
    expect(readFileSync(path, 'utf8')).toBe(made);
  });

  it('answers messages with the manual model, out of the box', async () => {
    await run(['--port', '0'], async (text) => {
      const link = new URL(/(http:\S+#sign-in=\S+)/.exec(text)?.[1] as string);
      const post = async (path: string, body: object, token?: string) => {
        const headers = {
          'content-type': 'application/json',
          ...(token && { authorization: `Bearer ${token}` }),
        };
        const response = await fetch(link.origin + path, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
        });
        return (await response.json()) as Record<string, never>;
      };
      const { token } = await post('/sign-in', { code: link.hash.slice('#sign-in='.length) });
      const { project } = (await post('/my/projects', { name: 'p' }, token)) as unknown as {
        project: { project_id: string };
      };
      const sent = await post(
        `/my/projects/${project.project_id}/chat/messages`,
        { content: 'hello' },
        token,
      );
      expect(sent).toMatchObject({
        success: true,
        run_id: expect.any(String),
        message_id: expect.any(String),
      });
    });
  });

  it('explains its settings', async () => {
    expect(await run(['--help'])).toContain('COUNTERSIGN_AUTH_ISSUER');
  });

  it('prints the configuration with its secrets masked', async () => {
    expect(JSON.parse(await run(['--print-config', '--port', '5']))).toMatchObject({
      port: 5,
      authSecret: null,
    });
  });

  it('refuses what it does not know', async () => {
    await expect(run(['extra'])).rejects.toThrow('"extra" is not expected here');
    await expect(run(['--prot', '1'])).rejects.toThrow(
      "Unknown option '--prot'. Run countersign serve --help to see how it is used.",
    );
    await expect(run(['--host', '0.0.0.0'])).rejects.toThrow(/authSecret/);
  });

  it('leaves nothing open when the port is taken', async () => {
    await run(['--port', '0'], async (text) => {
      const { port } = new URL(/(http:\S+)/.exec(text)?.[1] as string);
      const database = join(folder, 'other.db');
      await expect(run(['--port', port, '--database', database])).rejects.toThrow(/EADDRINUSE/);
      await run(['--port', '0', '--database', database]); // its lock is free again
    });
  });
});
