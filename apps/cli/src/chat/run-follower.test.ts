import type { CountersignEvent, Message } from '@countersign/protocol';
import { settle } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { type Run, RunFollower } from './run-follower.ts';

const timestamp = '2026-11-15T12:00:00Z';
const message = (over: Partial<Message>): Message => ({
  message_id: 'm1',
  session_id: 's',
  run_id: 'r',
  role: 'assistant',
  content: '',
  complete: false,
  created_at: timestamp,
  ...over,
});
const created = (over: Partial<Message>): CountersignEvent => ({
  event: 'message.created',
  data: { ...message(over), project_id: 'p', timestamp },
});
const delta = (offset: number, text: string, message_id = 'm1'): CountersignEvent => ({
  event: 'message.delta',
  data: { project_id: 'p', session_id: 's', message_id, offset, text },
});
const state = (name: 'idle' | 'thinking', run_id = 'r'): CountersignEvent => ({
  event: 'agent.state',
  data: { project_id: 'p', session_id: 's', run_id, state: name, timestamp },
});
const reset: CountersignEvent = { event: 'stream.reset', data: { reason: 'old', timestamp } };

function setUp({ stored = [], status = 'completed' }: { stored?: Message[][]; status?: Run['status'] } = {}) {
  const lines: string[] = [];
  const notices: string[] = [];
  const states: string[] = [];
  const server = { status, isDown: false };
  const run = () => ({ run_id: 'r', status: server.status }) as Run;
  const pages = stored.length === 0 ? [[]] : stored;
  const follower = new RunFollower({
    client: {
      getRun: async () => {
        if (server.isDown) throw new Error('down');
        return { success: true, run: run() };
      },
      listMessages: async (input) => {
        if (server.isDown) throw new Error('down');
        const page = Number(input.query?.cursor ?? 0);
        const next_cursor = page + 1 < pages.length ? String(page + 1) : null;
        return { success: true, messages: pages[page] ?? [], queued: [], next_cursor };
      },
    },
    projectId: 'p',
    sessionId: 's',
    runId: 'r',
    onLines: (fresh) => lines.push(...fresh),
    onNotice: (text) => notices.push(text),
    onState: (name) => states.push(name),
  });
  const receive = (...events: CountersignEvent[]) => {
    for (const event of events) follower.receive(event);
  };
  return { follower, receive, lines, notices, states, server };
}

describe('a run that is followed', () => {
  it('[EV-1] tells whole lines once, keeps the one that is being written, and ends with the run', async () => {
    const { follower, receive, lines, states } = setUp();
    receive(state('thinking'), created({}), delta(0, 'one\ntw'));
    expect([lines, follower.tail]).toEqual([['one'], 'tw']);
    receive(delta(6, 'o'), delta(3, '\ntwo'), created({ content: 'one\ntwo', complete: true }));
    expect([lines, follower.tail, states]).toEqual([['one', 'two'], '', ['thinking']]);
    receive(state('idle', 'another'), state('idle'));
    expect(await follower.ended).toMatchObject({ status: 'completed' });
  });

  it('passes over what belongs to other runs and other roles, and tells why it ended', () => {
    const { receive, lines, notices } = setUp();
    receive(
      created({ run_id: 'other', content: 'x', complete: true }),
      created({ role: 'user', content: 'x', complete: true }),
      delta(0, 'x', 'unknown'),
      created({ message_id: 'm2', role: 'system', content: 'The model failed.', complete: true }),
    );
    expect([lines, notices]).toEqual([[], ['The model failed.']]);
  });

  it('prints the reply again when the model started over', () => {
    const { receive, lines } = setUp();
    receive(created({}), delta(0, 'first\n'), delta(0, 'second\n'));
    expect(lines).toEqual(['first', '…', 'second']);
  });

  it('[EV-2] reads again what was missed or too large for the stream, over several pages', async () => {
    const whole = message({ content: 'one\ntwo\n', complete: true });
    const { receive, lines } = setUp({ stored: [[message({ run_id: 'old', content: 'no' })], [whole]] });
    receive(created({}), delta(4, 'two\n'));
    await settle();
    expect(lines).toEqual(['one', 'two']);
    const large = setUp({ stored: [[message({ content: 'large\n', complete: true })]] });
    large.receive(created({ omitted: ['content'] }));
    await settle();
    expect(large.lines).toEqual(['large']);
  });

  it('after a reset asks for the state of the run, and continues while it runs', async () => {
    const { follower, receive, lines, server } = setUp({
      status: 'running',
      stored: [[message({ content: 'the answer', complete: true })]],
    });
    receive(reset);
    await settle();
    expect(lines).toEqual([]);
    server.status = 'stopped';
    receive(reset);
    expect(await follower.ended).toMatchObject({ status: 'stopped' });
    expect(lines).toEqual(['the answer']);
  });

  it('fails when the server can no longer be asked', async () => {
    const { follower, receive, server } = setUp();
    server.isDown = true;
    receive(state('idle'));
    await expect(follower.ended).rejects.toThrow('down');
    const other = setUp();
    other.server.isDown = true;
    other.receive(created({ omitted: ['content'] }));
    await expect(other.follower.ended).rejects.toThrow('down');
  });
});
