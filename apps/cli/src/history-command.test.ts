import { createServer, type Server } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { main } from './main.ts';
import { fakeTerminal } from './screen/screen-fixture.test-data.ts';

let server: Server | undefined;
afterEach(() => server?.close());

it('[UI-6] shows what a server names as text: it cannot write to the terminal', async () => {
  const body = { success: true, executions: [], next_cursor: 'next\u001b]0;owned\u0007' };
  const listening = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const { port } = listening.address() as { port: number };
  const terminal = fakeTerminal();
  const env = {
    COUNTERSIGN_URL: `http://127.0.0.1:${port}`,
    COUNTERSIGN_TOKEN: 't',
    HOME: '/nowhere',
    LANG: 'C',
  };
  expect(await main(['history'], terminal, env)).toBe(0);
  expect(terminal.out()).toContain('--cursor next⟨U+001B⟩]0;owned⟨U+0007⟩');
  expect(['\u001b', '\u0007'].filter((control) => terminal.out().includes(control))).toEqual([]);
});
