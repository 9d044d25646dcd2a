import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { main } from './main.ts';
import { FakeScreen, fakeTerminal } from './screen/screen-fixture.test-data.ts';
import { widthOf } from './screen/text-width.ts';

let server: Server | undefined;
afterEach(() => server?.close());

/** Starts a server that answers with this body. Returns the environment that names it. */
async function serverThatAnswers(body: object): Promise<Record<string, string>> {
  const listening = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const { port } = listening.address() as { port: number };
  return {
    COUNTERSIGN_URL: `http://127.0.0.1:${port}`,
    COUNTERSIGN_TOKEN: 't',
    HOME: '/nowhere',
    LANG: 'C',
  };
}

it('[UI-6] shows what a server names as text: it cannot write to the terminal', async () => {
  const body = { success: true, executions: [], next_cursor: 'next\u001b]0;owned\u0007' };
  const terminal = fakeTerminal();
  const env = await serverThatAnswers(body);
  expect(await main(['history'], terminal, env)).toBe(0);
  expect(terminal.out()).toContain('--cursor next⟨U+001B⟩]0;owned⟨U+0007⟩');
  expect(['\u001b', '\u0007'].filter((control) => terminal.out().includes(control))).toEqual([]);
});

it.each([120, 80, 40])('[UI-4] fits a terminal of %s columns, with every id whole', async (columns) => {
  const file = new URL('../../../packages/protocol/fixtures/bodies/history.response.json', import.meta.url);
  const [{ executions }] = JSON.parse(readFileSync(file, 'utf8')) as [{ executions: [{ tool_id: string }] }];
  const long = { tool_name: 'write_file', tool_params: { path: 'a/long/path/'.repeat(9) } };
  const execution = { ...executions[0], ...long, undone_at: null };
  const rows = [
    { ...execution, error: null, undoable: true },
    { ...execution, error: { code: 'COMMAND_FAILED', message: '', recoverable: false }, undoable: false },
    { ...execution, status: 'completed', error: null, exit_code: 1, undoable: false },
  ];
  const env = await serverThatAnswers({ success: true, executions: rows, next_cursor: null });
  const screen = new FakeScreen(columns, 40);
  const terminal = { ...fakeTerminal({ screen }), screen };
  expect(await main(['history'], terminal, env)).toBe(0);
  const lines = screen.text.trimEnd().split('\n');
  expect(lines.filter((line) => widthOf(line) > columns)).toEqual([]);
  expect(lines.filter((line) => line.includes(execution.tool_id))).toHaveLength(3);
  expect(lines.join(' ')).toMatch(/can be undone.*COMMAND_FAILED.*≠.*exit 1/);
  expect(lines.filter((line) => /Wr(ote|ite) a\//.test(line))).toHaveLength(3);
});
