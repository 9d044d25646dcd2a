import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../lab/src/waiting.ts';
import { RunnerServer, RunnerStory } from './runner/runner-story.ts';

// Real isolated processes, perhaps on a busy machine.

/** Custom tools (RN-8) with the real server, `countersign connect`, and tool servers from npm. */

const cli = fileURLToPath(new URL('../../../apps/cli/bin/countersign.mjs', import.meta.url));
const scriptedServer = fileURLToPath(
  new URL('../../../packages/tool-runner/src/custom/hostile-server.test-data.ts', import.meta.url),
);
const { resolve } = createRequire(import.meta.url);
const fromNpm = (name: string): string =>
  join(dirname(resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js');

let server: RunnerServer;
let story: RunnerStory;
beforeAll(async () => {
  server = await RunnerServer.start();
  story = await RunnerStory.open(server, 'ada');
  configure({
    files: {
      command: 'node',
      args: [fromNpm('server-filesystem'), '.'],
      countersign: { risk: { list_directory: 'LOW' } },
    },
    everything: { command: 'node', args: [fromNpm('server-everything')], env: { SECRET: 'hunter2-secret' } },
  });
  story.write('notes.md', 'hello\n');
  story.write('.env', 'KEY=secret\n');
  await story.startRunner();
  await untilListed('files__write_file', 'everything__echo');
});
afterAll(async () => {
  await story?.close();
  await server?.close();
});

const configure = (mcpServers: object) =>
  story.write(join(story.home, '.config/countersign/mcp.json'), JSON.stringify({ mcpServers }), 0o600);

async function listed() {
  const { tools } = await story.agent.availableTools({ params: { project_id: story.projectId } });
  return tools.filter(({ category }) => category === 'custom');
}

async function untilListed(...names: readonly string[]): Promise<void> {
  await until(
    async () => {
      const known = (await listed()).map(({ name }) => name);
      return names.every((name) => known.includes(name));
    },
    {
      otherwise: async () => `${names} are not among ${JSON.stringify(await listed())}\n${story.runner.log}`,
    },
  );
}

const ask = async (tool: string, params: object): Promise<string> => {
  const asked = await story.ask(tool, params);
  if (typeof asked !== 'string') throw new Error(asked.message);
  return asked;
};

describe('[RN-8] the official filesystem server', () => {
  it('[TL-1] has its tools in the catalogue, with schema, hints and risk', async () => {
    const tools = Object.fromEntries((await listed()).map((tool) => [tool.name, tool]));
    expect(tools.files__write_file).toMatchObject({
      category: 'custom',
      risk_level: 'HIGH', // its own hint says that it is destructive
      requires_approval: true,
      timeout_seconds: 600,
      read_only: false,
      input_schema: { required: ['path', 'content'] },
    });
    expect(tools.files__read_text_file).toMatchObject({ risk_level: 'MEDIUM', read_only: true });
    expect(tools.files__list_directory).toMatchObject({ risk_level: 'LOW', requires_approval: false });
  });

  it('[AP-7] writes what a person approved, and its card describes the call', async () => {
    const toolId = await ask('files__write_file', { path: 'made.txt', content: 'from a custom tool' });
    const card = await story.card(toolId);
    expect(card).toMatchObject({
      risk_level: 'HIGH',
      preview: {
        kind: 'custom',
        server: 'files',
        tool: 'write_file',
        network: false,
        hints: ['destructive'],
        runs: expect.stringContaining('server-filesystem/dist/index.js .'),
      },
    });
    expect(card.reasons.map(({ rule }) => rule)).toEqual(['CUSTOM-1', 'CUSTOM-2']);
    expect(existsSync(story.at('made.txt'))).toBe(false);
    const ended = await story.approvedToTheEnd(toolId);
    expect(ended).toMatchObject({ status: 'completed', result: { success: true } });
    expect(story.read('made.txt')).toBe('from a custom tool');
  });

  it('reads with approval, lists without where the person allowed it, and never sees a secret', async () => {
    expect(await story.call('files__read_text_file', { path: 'notes.md' })).toMatchObject({
      status: 'completed',
      result: { success: true, content: 'hello\n' },
    });
    const unasked = await ask('files__list_directory', { path: '.' });
    const ended = await story.untilFinal(unasked);
    expect(ended).toMatchObject({
      status: 'completed',
      result: { content: expect.stringContaining('notes.md') },
    });
    const { execution } = await story.look(unasked);
    expect(execution).toMatchObject({ approved_by: 'config', requires_approval: false, attempt: 1 });
    expect(await story.call('files__read_text_file', { path: '.env' })).toMatchObject({
      result: { content: '' },
    });
    expect(await story.call('files__read_text_file', { path: '/etc/passwd' })).toMatchObject({
      status: 'failed',
      code: 'EXECUTION_FAILED',
      message: expect.stringContaining('Access denied'),
    });
  });

  it('[AP-5] does nothing when the person rejects', async () => {
    const toolId = await ask('files__write_file', { path: 'never.txt', content: 'x' });
    const { approval_id, project_id } = await story.card(toolId);
    await story.person.client.reject({
      params: { approval_id, project_id },
      body: { reason: 'no', message: 'use notes.md' },
    });
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'rejected' });
    expect(existsSync(story.at('never.txt'))).toBe(false);
  });

  it('[AP-4] can be granted for the session, for one tool', async () => {
    const toolId = await ask('files__get_file_info', { path: 'notes.md' });
    await story.approve(await story.card(toolId), { scope: 'class' });
    await story.untilFinal(toolId);
    const again = await story.untilFinal(await ask('files__get_file_info', { path: 'made.txt' }));
    expect(again.status).toBe('completed');
    expect((await story.look(again.toolId)).execution.grant_id).not.toBeNull();
    const other = await ask('files__directory_tree', { path: '.' });
    expect((await story.card(other)).risk_level).toBe('MEDIUM');
  });

  it('refuses an unknown tool and invalid parameters with a clear error', async () => {
    expect(await story.ask('files__format_disk', {})).toMatchObject({
      status: 'refused',
      code: 'UNKNOWN_TOOL',
      message: expect.stringContaining('files__read_file'),
    });
    expect(await story.ask('files__write_file', { path: 'a' })).toMatchObject({
      code: 'INVALID_PARAMS',
      message: expect.stringContaining('content is missing'),
    });
  });
});

describe('[RN-8] the official everything server', () => {
  it('returns every kind of content', async () => {
    expect(await story.call('everything__echo', { message: 'hi' })).toMatchObject({
      result: { content: 'Echo: hi' },
    });
    expect(await story.call('everything__get-tiny-image', {})).toMatchObject({
      result: { items: [{ type: 'image', mime_type: 'image/png', encoding: 'base64' }] },
    });
    expect(await story.call('everything__get-resource-links', { count: 2 })).toMatchObject({
      result: { items: [{ type: 'resource_link' }, { type: 'resource_link' }] },
    });
    expect(
      await story.call('everything__get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
    ).toMatchObject({ result: { items: [{ type: 'resource', mime_type: 'text/plain' }] } });
    expect(await story.call('everything__get-structured-content', { location: 'New York' })).toMatchObject({
      result: { structured_content: { temperature: expect.anything() } },
    });
    const { result } = await story.call('everything__get-env', {});
    expect(result.content).toContain('"SECRET": "[masked]"');
    expect(result.content).not.toContain('COUNTERSIGN');
  });

  it('[EV-1] reports progress, and can be cancelled', async () => {
    const long = await story.call('everything__trigger-long-running-operation', { duration: 1, steps: 4 });
    expect(long.status).toBe('completed');
    const progress = story.person.all('tool.progress').filter(({ tool_id }) => tool_id === long.toolId);
    // Steps that come quickly one after the other are sent as one: which of the four arrive depends on the machine.
    expect([25, 50, 75, 100]).toContain(progress[0]?.progress);

    const toolId = await ask('everything__trigger-long-running-operation', { duration: 60, steps: 60 });
    await story.approve(await story.card(toolId));
    await story.untilStatus(toolId, 'executing');
    await until(() => story.person.all('tool.progress').some(({ tool_id }) => tool_id === toolId), {
      otherwise: () => `no progress\n${story.runner.log}`,
    });
    await story.agent.cancelExecution({ params: { tool_id: toolId } });
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'cancelled' });
    expect(await story.call('everything__echo', { message: 'again' })).toMatchObject({ status: 'completed' });
  });
});

describe('[RN-8] after a restart or a change of configuration', () => {
  it('[AP-10] the server still knows the tools before the runner reports them again', async () => {
    await server.crash();
    await until(async () => (await listed().catch(() => [])).length > 0, {
      otherwise: () => 'the server forgot the tools',
    });
    expect(await story.call('everything__echo', { message: 'back' })).toMatchObject({ status: 'completed' });
  });

  it('a tool that was just created works', async () => {
    story.run(process.execPath, cli, 'tools', 'new', 'ship', '--in', join(story.parent, 'ship'), '--add');
    await untilListed('ship__ship');
    expect(await story.call('ship__ship', { environment: 'staging' })).toMatchObject({
      status: 'completed',
      result: { content: 'Deployed to staging.' },
    });
    expect(await story.ask('ship__ship', { environment: 'moon' })).toMatchObject({ code: 'INVALID_PARAMS' });
  });

  it("a workspace's server waits until the person allows it on this machine", async () => {
    story.write('tools/server.ts', readFileSync(scriptedServer, 'utf8'));
    const args = ['--disable-warning=ExperimentalWarning', 'tools/server.ts'];
    story.write('.mcp.json', JSON.stringify({ mcpServers: { theirs: { command: 'node', args } } }));
    const notice = () =>
      story.runner.said.find(
        (line) => (line.tool_server as { name?: string } | undefined)?.name === 'theirs',
      );
    await until(() => notice() !== undefined, {
      otherwise: () => `the runner does not mention it\n${story.runner.log}`,
    });
    expect(notice()).toMatchObject({ tool_server: { state: 'not_allowed' } });

    const tools = (...words: string[]) =>
      story.run('sh', '-c', '"$@" || true', 'sh', process.execPath, cli, 'tools', ...words, '--json');
    const question = JSON.parse(tools('allow', 'theirs')) as {
      digest: string;
      runs: string;
      files: string[];
    };
    expect(question).toMatchObject({ runs: `node ${args.join(' ')}`, files: ['tools/server.ts'] });
    expect((await listed()).map(({ name }) => name)).not.toContain('theirs__do');
    tools('allow', 'theirs', '--digest', question.digest);
    await untilListed('theirs__do');
    expect(await story.call('theirs__do', { what: 'version' })).toMatchObject({
      result: { content: 'version 1' },
    });

    // Approved, then the server changes the tool's description: asked again, and nothing ran before.
    const toolId = await ask('theirs__do', { what: 'version' });
    const before = await story.card(toolId);
    await story.call('theirs__do', { what: 'change' });
    await until(async () => (await listed()).some(({ description }) => description === 'Version 2'), {
      otherwise: () => 'the changed list did not arrive',
    });
    await story.approve(before);
    const again = await story.card(toolId, ({ digest }) => digest !== before.digest);
    expect(again.preview).toMatchObject({ summary: 'Version 2' });
    await story.approve(again);
    expect(await story.untilFinal(toolId)).toMatchObject({ result: { content: 'version 2' } });

    story.write('tools/server.ts', '// another program\n');
    await until(async () => !(await listed()).some(({ name }) => name.startsWith('theirs__')), {
      otherwise: () => 'its tools are still offered',
    });
  });
});
