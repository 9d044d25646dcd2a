import { defaultLimits, sentLimits } from '@countersign/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestServer } from '../testing/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start({ commandTimeoutMs: 600_000, commandTimeoutDefaultMs: 50_000 });
});
afterAll(() => server.close());

const operators = { ...defaultLimits, commandTimeoutMaxSeconds: 600, commandTimeoutDefaultSeconds: 50 };

describe('limits over HTTP (founding documents: local-tool-execution)', () => {
  it('[TL-3] the operator raises them, the runner lowers them, and all clients see the values in force', async () => {
    const ada = await server.person('ada', '/ada');
    const get = async (path: string) => (await server.send('GET', path, { token: ada.tokens.person })).body;
    const run = async (timeout?: number) => {
      const tool_params = { command: 'npm', args: ['test'], ...(timeout !== undefined && { timeout }) };
      const { body } = await server.send('POST', '/my/tools/execute', {
        token: ada.tokens.person,
        body: { tool_name: 'execute_command', tool_params, session_id: ada.sessionId },
      });
      const { execution } = await get(`/my/tools/${body.tool_id}`);
      return [execution.status, execution.error?.code ?? execution.tool_params.timeout];
    };
    const timeoutListed = async () => {
      const { tools } = await get(`/my/projects/${ada.projectId}/tools/available`);
      const { parameters } = tools.find(({ name }: { name: string }) => name === 'execute_command');
      return [parameters.timeout.default, parameters.timeout.maximum];
    };
    expect(await timeoutListed()).toEqual([50, 600]);
    expect([await run(), await run(600), await run(601)]).toEqual([
      ['awaiting_approval', 50],
      ['awaiting_approval', 600],
      ['failed', 'TIMEOUT_TOO_LONG'],
    ]);

    const runner = await server.listen('/my/stream?runner=r&workspace=/ada', { token: ada.tokens.runner });
    await runner.untilListening();
    const beat = (limits: object) =>
      server.send('POST', `/my/projects/${ada.projectId}/runners/r/heartbeat`, {
        token: ada.tokens.runner,
        body: { queued: [], executing: [], unacknowledged: [], limits },
      });
    const lowered = { ...sentLimits(defaultLimits), commandTimeoutMaxSeconds: 40 };
    expect((await beat(lowered)).body.limits).toEqual(sentLimits(operators));
    expect(await timeoutListed()).toEqual([30, 40]);
    expect([await run(), await run(40), await run(41)]).toEqual([
      ['awaiting_approval', 30],
      ['awaiting_approval', 40],
      ['failed', 'TIMEOUT_TOO_LONG'],
    ]);
    expect(await get('/my/runners')).toMatchObject({
      runners: [{ runner_id: 'r', limits: lowered }],
      limits: sentLimits(operators),
    });
    expect((await beat({ fileBytes: -1 })).status).toBe(400);
    expect((await beat({ nameBytes: 1 })).status).toBe(400);
    runner.close();
  });

  it('[TL-3] those of the program that serves the workspace now are in force, also when it told them before', async () => {
    const eve = await server.person('eve', '/eve');
    const token = eve.tokens.person;
    const connect = async (runner: string, commandTimeoutMaxSeconds: number) => {
      const stream = await server.listen(`/my/stream?runner=${runner}&workspace=/eve`, { token });
      await stream.untilListening();
      const limits = { ...sentLimits(defaultLimits), commandTimeoutMaxSeconds };
      const path = `/my/projects/${eve.projectId}/runners/${runner}/heartbeat`;
      const body = { queued: [], executing: [], unacknowledged: [], limits };
      expect((await server.send('POST', path, { token, body })).status).toBe(200);
      return stream;
    };
    const run = async () => {
      const tool_params = { command: 'npm', args: ['test'], timeout: 100 };
      const body = { tool_name: 'execute_command', tool_params, session_id: eve.sessionId };
      const { tool_id } = (await server.send('POST', '/my/tools/execute', { token, body })).body;
      const { execution } = (await server.send('GET', `/my/tools/${tool_id}`, { token })).body;
      return execution.error?.code ?? execution.status;
    };
    (await connect('editor', 40)).close();
    const terminal = await connect('terminal', 300);
    expect(await run()).toBe('awaiting_approval');
    const editor = await connect('editor', 40);
    expect(await run()).toBe('TIMEOUT_TOO_LONG');
    terminal.close();
    editor.close();
  });
});
