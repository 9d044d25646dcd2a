import { ToolCallPolicy } from '@countersign/policy';
import { AgentFixture, ScriptedModel, settle, toolCall } from '@countersign/testing';
import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => vi.restoreAllMocks());

const write = (content: string, id: string) => toolCall('write_file', { path: 'c.md', content }, id);
const statuses = async (agent: AgentFixture) =>
  (await agent.store.read((tx) => tx.history('ada', { limit: 10 }))).map(
    ({ tool_call_id, status, error_type }) => [tool_call_id, status, error_type],
  );

it('[EX-1] the server decides once about each call of a step', async () => {
  const decide = vi.spyOn(ToolCallPolicy.prototype, 'decide');
  const model = new ScriptedModel([[write('x', 'call_0'), write('y', 'call_1')], ['Done.']]);
  const agent = await AgentFixture.open({ model });
  agent.runner.decide = () => undefined; // nobody approves: an approval would add decisions to the count
  await agent.say('Go.');
  expect(await statuses(agent)).toEqual([['call_0', 'awaiting_approval', null]]);
  expect(decide.mock.calls.map(([tool]) => tool)).toEqual(['write_file', 'write_file']);
});

it('[RK-5] a call that waited for another one is judged by the policy as it is then', async () => {
  const model = new ScriptedModel([[write('x', 'call_0'), write('y', 'call_1')], ['Done.']]);
  const agent = await AgentFixture.open({ model });
  agent.runner.decide = () => undefined;
  await agent.say('Go.');
  const { policies, approvals } = agent.node.engine;
  const { approval_id } = await (await agent.listen()).last('tool.approval_request');
  await policies.replace('ada', { version: 1, rules: [{ id: 'no', effect: 'deny', tool: 'write_file' }] });
  await approvals.rejectTool(agent.person, approval_id, {});
  await settle();
  expect((await statuses(agent)).toSorted()).toEqual([
    ['call_0', 'rejected', 'APPROVAL_REJECTED'],
    ['call_1', 'failed', 'DENIED_BY_POLICY'],
  ]);
});
