// @vitest-environment happy-dom
import { createClient } from '@countersign/client';
import type { Approval, Execution } from '@countersign/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  anApproval,
  event,
  examples,
  requestEvent,
  settle,
  TestClock,
  TestServer,
  updateEvent,
} from '../page-fixture.test-data.tsx';
import { LiveState } from './live-state.ts';

let server: TestServer;
let live: LiveState;
let stop: () => void;
let clock: TestClock;

beforeEach(async () => {
  server = new TestServer();
  clock = new TestClock();
  live = new LiveState(
    createClient({ baseUrl: '', token: () => 'token', fetch: server.fetch, clock }),
    'test page',
    clock,
  );
  stop = live.start();
  await settle();
});
afterEach(() => stop());

/** A response that is held back until the test releases it. */
function held<T extends object>(
  answer: T,
): { readonly answer: () => Promise<T>; readonly release: () => void } {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { answer: () => released.then(() => answer), release };
}

describe('state that is read while events arrive', () => {
  it('does not put an older state of a call over a newer one', async () => {
    const [example] = examples<{ executions: Execution[] }>('bodies/history.response')[0]?.executions ?? [];
    const execution = { ...(example as Execution), status: 'approved', approval_id: null } as Execution;
    const { tool_id, session_id, project_id } = execution;
    const history = held({ success: true, executions: [execution], next_cursor: null });
    server.on('history', history.answer);
    const opened = live.conversations.open({ projectId: project_id, sessionId: session_id });
    await settle();
    await server.emit(
      event('tool.result', { tool_id, session_id, status: 'completed', undo_id: undefined, late: false }),
    );
    history.release();
    await opened;
    expect(live.conversations.all.get().get(session_id)?.calls.get(tool_id)?.status).toBe('completed');
  });

  it('[AP-2] does not wake an approval that was decided meanwhile', async () => {
    const approval = anApproval();
    const { approval_id } = approval;
    await server.emit(requestEvent(approval));
    const read = held<{ success: true; approval: Approval }>({ success: true, approval });
    server.on('getApproval', read.answer);
    const refreshed = live.approvals.refresh(approval_id);
    await settle();
    await server.emit(event('approval.resolved', { approval_id, status: 'approved' }));
    read.release();
    await refreshed;
    expect(live.approvals.entries.get().get(approval_id)?.resolution?.status).toBe('approved');
  });

  it('[AP-8] does not show an older revision, nor take a preview away', async () => {
    const preview = { kind: 'summary', summary: 'Runs the tests.' } as const;
    const approval = anApproval({ revision: 1, preview: null, digest: null });
    const { approval_id } = approval;
    await server.emit(requestEvent(approval));
    const read = held<{ success: true; approval: Approval }>({ success: true, approval });
    server.on('getApproval', read.answer);
    const refreshed = live.approvals.refresh(approval_id);
    await settle();
    await server.emit(updateEvent(approval, { revision: 1, preview }));
    read.release();
    await refreshed;
    const shown = () => live.approvals.entries.get().get(approval_id)?.approval;
    expect(shown()?.preview).toEqual(preview);
    await server.emit(updateEvent(approval, { revision: 2, preview }));
    await live.approvals.refresh(approval_id);
    expect(shown()?.revision).toBe(2);
  });
});

it('[AP-3] after a lost connection, and perhaps a sleep, the time left is the one of the server', async () => {
  const approval = anApproval({ remaining_ms: 300_000 });
  await server.emit(requestEvent(approval));
  server.on('listApprovals', { success: true, approvals: [{ ...approval, remaining_ms: 40_000 }] });
  expect(server.bodiesOf('listApprovals')).toEqual([]); // not read, because no event was missed
  await server.loseConnection();
  server.isDown = false;
  await clock.advance(5_000);
  await settle();
  const { deadline } = live.approvals.entries.get().get(approval.approval_id) ?? { deadline: 0 };
  expect(deadline - clock.monotonic()).toBeLessThanOrEqual(40_000);
});
