import type { Execution } from '@countersign/protocol';
import { expect, it } from 'vitest';
import { event, examples } from '../page-fixture.test-data.tsx';
import { emptyConversation, withEvent, withHistory } from './conversation.ts';

const [example] = examples<{ executions: Execution[] }>('bodies/history.response');
const execution = (change: object): Execution =>
  ({ ...example?.executions[0], tool_id: 't1', approved_by: null, decision: null, ...change }) as Execution;
const decisionOf = (change: object) =>
  withHistory(emptyConversation, [], [execution(change)], () => '').calls.get('t1')?.decision;

const decided = { scope: 'always', device: 'VS Code', reason: null, message: 'Go on' };

it('a decision of the history is shown with its scope, device and message', () => {
  const decision = { ...decided, status: 'approved', decided_at: '2026-02-21T06:19:00Z' };
  expect(decisionOf({ approved_by: 'user', decision })).toMatchObject({
    ...decided,
    status: 'approved',
    approvedBy: 'user',
  });
});

it.each([
  [{ approved_by: 'config' }, 'approved'],
  [{ approved_by: 'user', status: 'failed' }, 'approved'],
  [{ status: 'rejected', approval_id: 'a1' }, 'rejected'],
  [{ status: 'timeout', approval_id: 'a1' }, 'timeout'],
])('without one, the call tells: %j', (change, status) => {
  expect(decisionOf(change)).toMatchObject({ status, device: null });
});

it.each([
  { approved_by: 'auto' },
  { status: 'failed', approval_id: null },
  { status: 'awaiting_approval', approval_id: 'a1' },
])('nobody decided: %j', (change) => expect(decisionOf(change)).toBeNull());

it.each(['class', null] as const)('a call that a grant or rule allows says so while it runs: %s', (scope) => {
  const allowed = event('tool.call', { tool_id: 't1', approved_by: 'config', scope });
  const decision = scope && { status: 'approved', scope, device: null, reason: null, message: null };
  expect(withEvent(emptyConversation, allowed).calls.get('t1')?.decision).toEqual(
    decisionOf({ approved_by: 'config', decision }),
  );
});

it('a decision that arrives has the scope that the history tells later', () => {
  const call = event('tool.call', { tool_id: 't1' });
  const how = { ...decided, scope: 'always', status: 'approved' } as const;
  const resolved = event('approval.resolved', { tool_id: 't1', approved_by: 'user', ...how });
  const { calls } = withEvent(withEvent(emptyConversation, call), resolved);
  expect(calls.get('t1')?.decision).toEqual({ ...how, approvedBy: 'user' });
});
