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
  { env = {}, said = [] }: { env?: Record<string, string>; said?: string[] } = {},
): Promise<string> {
  let text = '';
  const io: ProgramIo = {
    env: { XDG_DATA_HOME: folder, COUNTERSIGN_LOG_LEVEL: 'silent', ...env },
    write: (part) => {
      text += part;
    },
    writeError: (part) => void said.push(part),
    stopped: () => meanwhile(text),
  };
  await serveProgram(argv, io, { logger: pino({ level: 'silent' }) });
  return text;
}

const signIn = (link: string): Promise<Response> => {
  const { origin, hash } = new URL(link);
  return fetch(`${origin}/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: hash.slice('#sign-in='.length) }),
  });
};
const whoIs = async (origin: string, token: string): Promise<number> =>
  (await fetch(`${origin}/my/projects`, { headers: { authorization: `Bearer ${token}` } })).status;

describe('countersign serve', () => {
  it('prints where it listens and a link that signs in once', async () => {
    await run(['--port', '0'], async (text) => {
      const link = new URL(/(http:\S+#sign-in=\S+)/.exec(text)?.[1] as string);
      expect(text).toContain(`Countersign listens on ${link.origin}\n`);
      const { token } = (await (await signIn(link.href)).json()) as { token: string };
      expect([await whoIs(link.origin, token), (await signIn(link.href)).status]).toEqual([200, 401]);
    });
  });

  it('[RE-5] --link makes another link of the server that runs, good once', async () => {
    await run(['--port', '0'], async (text) => {
      const { origin, port } = new URL(/(http:\S+#sign-in=\S+)/.exec(text)?.[1] as string);
      const said: string[] = [];
      const link = (await run(['--link', '--port', port], undefined, { said })).trimEnd();
      expect(said).toEqual(['Open this to sign in (once, within 60 s):\n']);
      expect(link).toMatch(new RegExp(`^${origin}/#sign-in=[A-Za-z0-9_-]{16,200}$`));
      expect([(await signIn(link)).status, (await signIn(link)).status]).toEqual([200, 401]);
      // A link for another database is signed with another secret, so it is refused.
      const database = join(folder, 'other', 'x.db');
      await expect(run(['--link', '--port', port, '--database', database])).rejects.toThrow(
        'keeps no secret',
      );
      await run(['--port', '0', '--database', database]);
      const foreign = (await run(['--link', '--port', port, '--database', database])).trimEnd();
      expect((await signIn(foreign)).status).toBe(401);
    });
  });

  it('--link says why there is none', async () => {
    await expect(run(['--link', '--port', '1'])).rejects.toThrow('No server answers at http://127.0.0.1:1 (');
    await expect(run(['--link', '--port', '0'])).rejects.toThrow('Name the port');
    const env = {
      COUNTERSIGN_HOST: '0.0.0.0',
      COUNTERSIGN_AUTH_SECRET: 'x'.repeat(32),
      COUNTERSIGN_PUBLIC_ORIGINS: 'https://example.org',
    };
    await expect(run(['--link'], undefined, { env })).rejects.toThrow('--token-for PERSON');
  });

  it('[RE-5] --token-for makes a token that the server takes for that person', async () => {
    await run(['--port', '0'], async (text) => {
      const { origin } = new URL(/(http:\S+#sign-in=\S+)/.exec(text)?.[1] as string);
      const said: string[] = [];
      const token = (await run(['--token-for', 'ada', '--days', '2'], undefined, { said })).trimEnd();
      expect(said.join('')).toMatch(/^A token for ada, until 20\d\d-\d\d-\d\d\./);
      expect([await whoIs(origin, token), await whoIs(origin, `${token.slice(0, -4)}AAAA`)]).toEqual([
        200, 401,
      ]);
      const { sub, iat, exp, scope } = JSON.parse(atob(token.split('.')[1] ?? '')) as Record<string, number>;
      expect({ sub, scope, seconds: (exp ?? 0) - (iat ?? 0) }).toEqual({
        sub: 'ada',
        scope: undefined,
        seconds: 2 * 86_400,
      });
    });
    await expect(run(['--token-for', 'a b'])).rejects.toThrow('Who is the token for?');
    await expect(run(['--token-for', 'ada', '--days', '0'])).rejects.toThrow('--days 0');
    for (const database of [':memory:', join(folder, 'mistyped', 'countersign.db')])
      await expect(run(['--token-for', 'ada', '--database', database])).rejects.toThrow('keeps no secret');
  });

  it('[UI-4] prints Russian if the environment asks for it', async () => {
    const env = { LANG: 'ru_RU.UTF-8' };
    await run(
      ['--port', '0'],
      async (text) =>
        expect(text).toMatch(/^Countersign слушает на http.*\nОткройте, чтобы войти .*\nЕщё одна ссылка/),
      { env },
    );
    expect(await run(['--help'], undefined, { env })).toContain('Порт, на котором слушать');
    expect(await run(['--help', '--lang', 'en'], undefined, { env })).toContain('Port to listen on');
    await expect(run(['--lang', 'fr'], undefined, { env })).rejects.toThrow('Языка «fr» у нас нет');
  });

  it('keeps its secret across restarts, readable by its owner only', async () => {
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
