/** The official client at `countersign mcp`, beside the real server and runner. tests/e2e starts the program itself. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client as Person } from '@countersign/client';
import { personsFolders } from '@countersign/tool-runner';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { main } from '../main.ts';
import { fakeTerminal } from '../screen/screen-fixture.test-data.ts';
import { ServerFixture } from '../server-fixture.test-data.ts';
import { wordsFor } from '../words.ts';
import { mcpCommand } from './mcp-command.ts';

const polling = { interval: 20 };
let server: ServerFixture;
let person: Person;
const running: (() => Promise<void>)[] = [];
beforeAll(async () => {
  server = await ServerFixture.start();
  person = await server.client();
  server.open(['connect', server.workspace, '--no-prompt']);
  await vi.waitFor(async () => {
    const { runners } = await person.listRunners();
    expect(runners.some(({ connected }) => connected)).toBe(true);
  }, polling);
  writeFileSync(join(server.workspace, 'a.txt'), 'hello\n');
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((end) => end()));
});
afterAll(async () => {
  await server?.endSessions();
  await server?.close();
});

type Mode = 'legacy' | { pin: string };
interface Started {
  readonly agent: Client;
  /** How often the client was told that the list of tools changed. */
  readonly heard: { times: number };
  readonly asked: unknown[];
}

async function start(
  mode: Mode,
  { elicits = false, env = {}, from = [server.workspace] as readonly string[] } = {},
): Promise<Started> {
  const asked: unknown[] = [];
  const heard = { times: 0 };
  const agent = new Client(
    { name: 'test', version: '1' },
    {
      versionNegotiation: { mode },
      capabilities: elicits ? { elicitation: { url: {} } } : {},
      listChanged: {
        tools: {
          autoRefresh: false,
          debounceMs: 0,
          onChanged: () => {
            heard.times += 1;
          },
        },
      },
    },
  );
  if (elicits) {
    agent.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params);
      return { action: 'accept' };
    });
  }
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const argv = [...from, '--name', 'Robot'];
  const context = { terminal: fakeTerminal(), env: { ...server.env, ...env }, words: () => wordsFor({}) };
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const status = mcpCommand(argv, context, () => ({ transport: theirs, ended }));
  running.push(async () => {
    end();
    expect(await status).toBe(0);
  });
  const transport = ours;
  await agent.connect(transport);
  return { agent, asked, heard };
}

const pending = () =>
  vi.waitFor(async () => {
    const [approval] = (await person.listApprovals()).approvals;
    if (!approval || approval.digest === null) throw new Error('Nothing waits');
    return approval;
  }, polling);

describe.each([
  ['2025', 'legacy'],
  ['2026', { pin: '2026-07-28' }],
] as [string, Mode][])('countersign mcp, for a program of %s', (_year, mode) => {
  it('[UI-5] reads, and writes what the person approves', async () => {
    const { agent } = await start(mode);
    expect(agent.getInstructions()).toContain('wait_for_call');
    const { tools } = await agent.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['read_file', 'wait_for_call']));
    const read = await agent.callTool({ name: 'read_file', arguments: { path: 'a.txt' } });
    expect(read.structuredContent).toMatchObject({ status: 'success', result: { content: 'hello\n' } });
    expect(read.content).toEqual([{ type: 'text', text: 'hello' }]);
    expect((await agent.listPrompts()).prompts.map(({ name }) => name)).toContain('review_changes');
    const { messages } = await agent.getPrompt({ name: 'plan_first', arguments: { task: 'Do it' } });
    expect(messages[0]?.content).toMatchObject({ text: expect.stringContaining('Do it') });
    const [{ uri = '' } = {}] = (await agent.listResources()).resources;
    expect((await agent.readResource({ uri })).contents[0]).toMatchObject({ mimeType: 'text/markdown' });
    expect((await agent.listResourceTemplates()).resourceTemplates).toHaveLength(1);

    const progress: unknown[] = [];
    const written = agent.callTool(
      { name: 'write_file', arguments: { path: 'b.txt', content: 'new' } },
      { onprogress: (one) => progress.push(one) },
    );
    const { approval_id, project_id, digest, agent: who } = await pending();
    expect(who).toBe('Robot');
    await person.approve({ params: { approval_id, project_id }, body: { digest: String(digest) } });
    expect((await written).structuredContent).toMatchObject({ status: 'success' });
    expect(readFileSync(join(server.workspace, 'b.txt'), 'utf8')).toBe('new');
    expect(progress.length).toBeGreaterThan(0);
  });

  it('[RN-8] is notified when the person adds or removes a tool, and calls it', async () => {
    const { agent, heard } = await start(mode);
    const names = async () => (await agent.listTools()).tools.map(({ name }) => name);
    expect(await names()).not.toContain('ship__ship');
    const folder = join(server.folder, `ship-${heard.times}-${Math.random()}`);
    expect(await server.run('tools', 'new', 'ship', '--in', folder, '--add')).toMatchObject({ status: 0 });
    await vi.waitFor(async () => {
      expect([heard.times > 0, (await names()).includes('ship__ship')]).toEqual([true, true]);
    }, polling);
    const shipped = agent.callTool({ name: 'ship__ship', arguments: { environment: 'staging' } });
    const { approval_id, project_id, digest } = await pending();
    await person.approve({ params: { approval_id, project_id }, body: { digest: String(digest) } });
    expect((await shipped).structuredContent).toMatchObject({
      status: 'success',
      result: { content: 'Deployed to staging.' },
    });
    const before = heard.times;
    rmSync(join(personsFolders(server.env).config, 'mcp.json'));
    await vi.waitFor(async () => {
      expect([heard.times > before, (await names()).includes('ship__ship')]).toEqual([true, false]);
    }, polling);
  });

  it('[AP-9] shows the link if the program can show it; the reply decides nothing, and the call can be cancelled', async () => {
    const { agent, asked } = await start(mode, { elicits: true });
    const given = new AbortController();
    const written = agent.callTool(
      { name: 'write_file', arguments: { path: 'c.txt', content: 'new' } },
      { signal: given.signal },
    );
    written.catch(() => {});
    const { tool_id } = await pending();
    await vi.waitFor(
      () =>
        expect(asked).toMatchObject([
          { mode: 'url', url: expect.stringContaining(`${server.address}/#/approvals/`) },
        ]),
      polling,
    );
    expect((await person.getExecution({ params: { tool_id } })).execution.status).toBe('awaiting_approval');
    given.abort();
    await vi.waitFor(async () => {
      const { execution } = await person.getExecution({ params: { tool_id } });
      expect(execution.status).toBe('cancelled');
    }, polling);
  });
});

describe('countersign mcp', () => {
  it('[AP-9] works with a token of an agent alone, and ends its own when it ends', async () => {
    const made = JSON.parse((await server.run('tokens', 'new', 'fixed', '--json')).out);
    const env = { COUNTERSIGN_TOKEN: made.token, COUNTERSIGN_URL: server.address };
    const { agent } = await start('legacy', { env });
    const read = await agent.callTool({ name: 'read_file', arguments: { path: 'a.txt' } });
    expect(read.structuredContent).toMatchObject({ status: 'success' });
    await vi.waitFor(async () => {
      const robots = (await person.listTokens()).tokens.filter(({ name }) => name === 'Robot');
      expect([robots.length, robots.every(({ revoked_at }) => revoked_at !== null)]).toEqual([6, true]);
    }, polling);
  });

  it('takes the project that the person names, in a folder that is none', async () => {
    const { projects } = await person.listProjects();
    const project = projects.find(({ workspace }) => workspace === server.workspace);
    const { agent } = await start('legacy', { from: ['/', '--project', String(project?.project_id)] });
    const read = await agent.callTool({ name: 'read_file', arguments: { path: 'a.txt' } });
    expect(read.structuredContent).toMatchObject({ status: 'success' });
  });

  it('says on standard error what is missing', async () => {
    expect(await server.run('mcp', server.workspace, '--server', 'http://127.0.0.1:9')).toMatchObject({
      status: 2,
      error: expect.stringContaining('not signed in'),
    });
    const env = { ...server.env, COUNTERSIGN_URL: 'http://127.0.0.1:9', COUNTERSIGN_TOKEN: 'x' };
    const terminal = fakeTerminal();
    expect(await main(['mcp', server.workspace], terminal, env)).toBe(2);
    expect(terminal.error()).toContain('does not answer');
    expect(terminal.out()).toBe('');
    expect(await server.run('mcp', '/', '--server', server.address)).toMatchObject({
      status: 2,
      error: expect.stringContaining('No project'),
    });
    expect(await server.run('mcp', '/', '--project', 'none-such')).toMatchObject({
      status: 2,
      error: expect.stringContaining('No project'),
    });
    expect(await server.run('mcp', server.workspace, '--name', 'You')).toMatchObject({
      status: 1,
      out: '',
      error: expect.stringContaining('"You" is somebody else'),
    });
    expect(await server.run('mcp', '.', 'more')).toMatchObject({ status: 2 });
    expect((await server.run('mcp', '--help')).out).toContain('never');
  });

  it('[AP-9] is out once the person has revoked its token, and makes no other', async () => {
    const { agent } = await start('legacy');
    await agent.listTools();
    const live = (await person.listTokens()).tokens.filter(
      ({ name, revoked_at }) => name === 'Robot' && revoked_at === null,
    );
    await Promise.all(live.map(({ token_id }) => person.revokeToken({ params: { token_id } })));
    for (let time = 1; time <= 2; time += 1) {
      expect(await agent.callTool({ name: 'read_file', arguments: { path: 'a.txt' } })).toMatchObject({
        isError: true,
        content: [{ type: 'text', text: expect.stringContaining('ended the access') }],
      });
    }
    await expect(agent.listTools()).rejects.toThrow('ended the access');
    const left = (await person.listTokens()).tokens.filter(
      ({ name, revoked_at }) => name === 'Robot' && revoked_at === null,
    );
    expect([live.length, left]).toEqual([1, []]);
  });

  it('each call reports that the server is gone', async () => {
    const { agent } = await start('legacy');
    await agent.listTools();
    await server.stopServer();
    const read = agent.callTool({ name: 'read_file', arguments: { path: 'a.txt' } });
    expect(await read).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining('does not answer') }],
    });
  });
});
