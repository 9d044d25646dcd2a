import { type CustomTool, defaultLimits } from '@countersign/protocol';
import {
  AgentFixture,
  codeOf,
  digest,
  EngineFixture,
  type Listener,
  ScriptedModel,
  settle,
  toolCall,
} from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { availableTools } from '../approve/stored-policies.ts';
import type { Store } from '../store.ts';
import { storeRunnerReport } from './runners.ts';

const tool = (name: string, more: Partial<CustomTool> = {}): CustomTool => ({
  name,
  description: 'Deploys',
  input_schema: {
    type: 'object',
    properties: { environment: { type: 'string' } },
    required: ['environment'],
  },
  risk_level: 'MEDIUM',
  read_only: false,
  destructive: false,
  network: false,
  category: 'custom',
  requires_approval: false,
  ...more,
});

/** What a heartbeat does with the tools of a runner. */
const reportTools = (store: Store, tools: readonly CustomTool[], runnerId = 'runner-1'): Promise<boolean> =>
  store.write((tx) => storeRunnerReport(tx, 'ada', runnerId, { tools }, store.now()));

describe('[TL-3] the limits of a runner', () => {
  it('are combined with the operator’s: the stricter ones apply to validation and to the listed tools', async () => {
    const fixture = await EngineFixture.open();
    await fixture.listen({ runnerId: 'runner-1' });
    const { policies } = fixture.engine;
    const limits = { commandTimeoutMaxSeconds: 60, entries: 5_000 };
    const remember = () =>
      fixture.store.write((tx) => storeRunnerReport(tx, 'ada', 'runner-1', { limits }, fixture.store.now()));
    const run = (timeout: number) => fixture.submit('execute_command', { command: 'ls', args: [], timeout });
    expect(await run(120)).toMatchObject({ status: 'executing' });

    expect([await remember(), await remember()]).toEqual([true, false]); // the second time nothing is new
    policies.forget('ada');
    const facts = await policies.runnerFacts('ada', '/workspace');
    expect(facts.limits).toEqual({ ...defaultLimits, commandTimeoutMaxSeconds: 60 });
    expect(await run(61)).toMatchObject({ status: 'failed', error_type: 'TIMEOUT_TOO_LONG' });
    expect(await run(60)).toMatchObject({ status: 'executing' });

    const schemaOf = (tools: readonly { name: string; input_schema: Record<string, unknown> }[]) =>
      tools.find(({ name }) => name === 'shell_exec')?.input_schema;
    expect(schemaOf(availableTools({ version: 1, rules: [] }, facts))).toMatchObject({
      properties: {
        timeout: {
          default: 30,
          maximum: 60,
          description: 'Seconds until the command is stopped, at most 60.',
        },
      },
    });
    expect(
      schemaOf(availableTools({ version: 1, rules: [] }, { tools: [], limits: defaultLimits, rules: [] })),
    ).toMatchObject({ properties: { timeout: { maximum: 300 } } });
  });
});

describe('[RN-8] the tools of a runner', () => {
  let fixture: EngineFixture;
  let runner: Listener;
  beforeEach(async () => {
    fixture = await EngineFixture.open();
    runner = await fixture.listen({ runnerId: 'runner-1' });
  });
  const known = async (workspace: string | null = '/workspace') =>
    (await fixture.engine.policies.runnerFacts('ada', workspace)).tools.map(({ name }) => name);

  it('are kept with it, over a restart, and told to whoever lists tools', async () => {
    const screen = await fixture.listen();
    expect(await known()).toEqual([]);
    await reportTools(fixture.store, [tool('deploy__run')]);
    expect(await known()).toEqual(['deploy__run']);
    expect(await known('/elsewhere')).toEqual([]);
    expect(await known(null)).toEqual([]);
    await settle();
    expect(screen.all('runner.changed')).toMatchObject([{ runner_id: 'runner-1', state: 'connected' }]);
    await reportTools(fixture.store, [tool('deploy__run')]);
    await settle();
    expect(screen.all('runner.changed')).toHaveLength(1); // nothing is new
    await reportTools(fixture.store, [tool('x__y')], 'nobody');
    await fixture.restart();
    expect(await known()).toEqual(['deploy__run']);
    await fixture.listen({ runnerId: 'runner-1' });
    expect(await known()).toEqual(['deploy__run']); // reconnecting does not report tools, so the known ones stay
  });

  it('are those of the connected runner, if there were several', async () => {
    await reportTools(fixture.store, [tool('old__tool')]);
    runner.close();
    await fixture.clock.advance(31_000);
    await fixture.listen({ runnerId: 'runner-2' });
    await reportTools(fixture.store, [tool('new__tool')], 'runner-2');
    expect(await known()).toEqual(['new__tool']);
  });

  it('are asked about, claimed and reported like any other; others are refused', async () => {
    await reportTools(fixture.store, [tool('deploy__run')]);
    expect(await fixture.submit('deploy__run', {})).toMatchObject({
      status: 'failed',
      error_type: 'INVALID_PARAMS',
    });
    expect(await fixture.submit('deploy__walk', {})).toMatchObject({
      status: 'failed',
      error_type: 'UNKNOWN_TOOL',
    });
    const asked = await fixture.submit('deploy__run', { environment: 'staging' });
    expect(asked).toMatchObject({ status: 'awaiting_approval', risk_level: 'MEDIUM' });
    await fixture.preview(asked.approval_id);
    const request = await runner.last('tool.approval_request');
    expect(request.offered_scopes.map(({ label }) => label)).toEqual([
      'All calls of deploy__run in this session',
      'Always: all calls of deploy__run',
      'Everything in this session',
    ]);
    await fixture.approve(asked.approval_id, { digest: digest('a') });
    expect(await fixture.claim(asked.id)).toMatchObject({ status: 'executing' });
    await fixture.report(asked.id, { result: { success: true, content: 'done' } });
    expect(await fixture.execution(asked.id)).toMatchObject({ status: 'completed' });
  });

  it('run unasked where the person’s configuration says so, and no longer once it does not', async () => {
    await reportTools(fixture.store, [tool('deploy__run', { risk_level: 'LOW' })]);
    const params = { environment: 'staging' };
    const runs = await fixture.submit('deploy__run', params);
    expect(runs).toMatchObject({ status: 'approved', approved_by: 'config', risk_level: 'MEDIUM' });
    expect(await fixture.claim(runs.id)).toMatchObject({ status: 'executing' });
    const late = await fixture.submit('deploy__run', params);
    await reportTools(fixture.store, [tool('deploy__run')]);
    expect(await codeOf(fixture.claim(late.id))).toBe('GRANT_REVOKED');
    expect(await fixture.submit('deploy__run', params)).toMatchObject({ status: 'awaiting_approval' });
  });
});

it('[AG-4] are offered to the model, but for those that a rule denies, and run one after the other', async () => {
  const model = new ScriptedModel([
    [toolCall('deploy__run', { environment: 'a' }), toolCall('deploy__run', { environment: 'b' })],
    ['Done.'],
  ]);
  const policy = {
    version: 1 as const,
    rules: [{ id: 'no', effect: 'deny' as const, tool: 'deploy__destroy' }],
  };
  const agent = await AgentFixture.open({ model, policy });
  await reportTools(agent.store, [tool('deploy__run'), tool('deploy__destroy')]);
  await agent.say('Deploy it.');
  await settle();
  const offered = model.requests[0]?.request.tools.map(({ name }) => name) ?? [];
  expect(offered).toContain('deploy__run');
  expect(offered).toContain('read_file');
  expect(offered).not.toContain('deploy__destroy');
  expect(agent.runner.executed.map(({ tool: name, params }) => [name, params.environment])).toEqual([
    ['deploy__run', 'a'],
    ['deploy__run', 'b'],
  ]);
});
