// @vitest-environment happy-dom
import type { Message, QueuedMessage } from '@countersign/protocol';
import { cleanup, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { event, examples, openPage, Refused, settle, TestServer } from '../page-fixture.test-data.tsx';
import { ChatScreen } from './chat-screen.tsx';

afterEach(cleanup);

const place = { project_id: 'p1', session_id: 's1' };
const hello = {
  message_id: 'm1',
  session_id: 's1',
  run_id: 'r1',
  role: 'user',
  content: 'Hello',
  complete: true,
  created_at: '2026-02-21T06:19:00Z',
} satisfies Message;
const queuedMessage = (message_id: string, content: string, change: Partial<QueuedMessage> = {}) => ({
  message_id,
  content,
  when_busy: 'queue' as const,
  created_at: '2026-02-21T06:19:00Z',
  ...change,
});
const queueOf = (...queued: QueuedMessage[]) => event('queue.changed', { ...place, queued });
const agentIs = (state: 'idle' | 'thinking') => event('agent.state', { ...place, run_id: 'r1', state });
const field = () => screen.getByLabelText<HTMLTextAreaElement>('Message');
const queue = () => screen.queryByRole('region', { name: 'Queued messages' });
const button = (name: string) => screen.getByRole('button', { name });

async function openChat(queued: readonly QueuedMessage[] = []) {
  const server = new TestServer();
  server.on('listMessages', { success: true, messages: [hello], queued, next_cursor: null });
  server.on('history', { success: true, executions: [], next_cursor: null });
  server.on('getModel', { success: true, model: 'anthropic:claude', problem: null });
  server.on('getRun', {
    success: true,
    run: { ...examples<{ run: object }>('bodies/getRun.response')[1]?.run, run_id: 'r1' },
  });
  const page = await openPage(
    <ChatScreen projectId="p1" sessionId="s1" toolId={null} firstMessage={null} onSession={() => {}} />,
    { server },
  );
  await settle();
  return page;
}

describe('[AG-5] while the agent works', () => {
  it('Enter queues a message, Ctrl+Enter and the button send it now, and Stop stays', async () => {
    const { server } = await openChat();
    await server.emit(agentIs('thinking'));
    await userEvent.type(field(), 'then this{Enter}');
    await settle();
    expect(field().value).toBe('');
    await userEvent.type(field(), 'now this{Control>}{Enter}{/Control}');
    await settle();
    await userEvent.type(field(), 'and this');
    expect([button('Queue'), button('Stop')]).toBeTruthy();
    await userEvent.click(button('Send now'));
    await settle();
    expect(server.bodiesOf('sendMessage')).toEqual([
      { content: 'then this', session_id: 's1', when_busy: 'queue' },
      { content: 'now this', session_id: 's1', when_busy: 'send_now' },
      { content: 'and this', session_id: 's1', when_busy: 'send_now' },
    ]);
  });

  it('reads the conversation again when a message was queued behind a run that the page has not heard of', async () => {
    const { server } = await openChat();
    server.on('sendMessage', {
      success: true,
      message_id: 'm2',
      session_id: 's1',
      run_id: 'r1',
      queued: true,
    });
    server.on('getRun', {
      success: true,
      run: {
        ...examples<{ run: object }>('bodies/getRun.response')[1]?.run,
        run_id: 'r1',
        status: 'running',
      },
    });
    await userEvent.type(field(), 'then this{Enter}');
    await settle();
    expect(button('Stop')).toBeTruthy();
  });
});

describe('[AG-5] queued messages', () => {
  it('are shown on a reload and as they change, until the agent takes them', async () => {
    const { server } = await openChat([queuedMessage('q1', 'first')]);
    expect(queue()?.textContent).toContain('Queued first');
    await server.emit(
      queueOf(queuedMessage('q1', 'first'), queuedMessage('q2', 'second', { when_busy: 'send_now' })),
    );
    expect(queue()?.textContent).toContain('Goes to the agent after the call that is running second');
    await server.emit(queueOf());
    expect(queue()).toBeNull();
  });

  it('are fetched where an event has no room for them', async () => {
    const { server } = await openChat();
    const large = queuedMessage('q1', 'a long text');
    server.on('listMessages', { success: true, messages: [hello], queued: [large], next_cursor: null });
    await server.emit(queueOf({ ...large, content: '', omitted: ['content'] }));
    await settle();
    expect(queue()?.textContent).toContain('a long text');
  });

  it('can be sent now and removed', async () => {
    const { server } = await openChat([queuedMessage('q1', 'first'), queuedMessage('q2', 'second')]);
    const second = within(document.querySelector('[data-queued=q2]') as HTMLElement);
    await userEvent.click(second.getByRole('button', { name: 'Send now' }));
    await userEvent.click(second.getByRole('button', { name: 'Remove' }));
    await settle();
    const asked = server.requests
      .filter(({ url }) => url.includes('/chat/queue/'))
      .map(({ route, url }) => [route, url]);
    expect(asked).toEqual([
      ['sendQueuedMessage', '/my/projects/p1/chat/queue/q2/send'],
      ['removeQueuedMessage', '/my/projects/p1/chat/queue/q2'],
    ]);
  });

  it('can be changed: Enter saves, Escape leaves them as they were', async () => {
    const { server } = await openChat([queuedMessage('q1', 'first')]);
    await userEvent.click(button('Edit'));
    expect(document.activeElement).toBe(screen.getByLabelText('Queued message'));
    await userEvent.keyboard(' and more{Escape}');
    expect(server.bodiesOf('changeQueuedMessage')).toEqual([]);
    await userEvent.click(button('Edit'));
    await userEvent.keyboard(' and more{Enter}');
    await settle();
    expect(server.bodiesOf('changeQueuedMessage')).toEqual([{ content: 'first and more' }]);
    expect(screen.queryByLabelText('Queued message')).toBeNull();
  });

  it('keep what was typed when the agent takes them meanwhile', async () => {
    const { server } = await openChat([queuedMessage('q1', 'first')]);
    await userEvent.click(button('Edit'));
    await userEvent.keyboard(' and more');
    await server.emit(queueOf());
    expect(queue()?.textContent).toContain('The agent has taken this message already.');
    await userEvent.click(button('Send as a new message'));
    await settle();
    expect(server.bodiesOf('sendMessage')).toMatchObject([{ content: 'first and more' }]);
    expect(queue()).toBeNull();
  });

  it('say why the server refused', async () => {
    const { server } = await openChat([queuedMessage('q1', 'first')]);
    server.on('removeQueuedMessage', () => {
      throw new Refused(409, 'MESSAGE_SENT');
    });
    await userEvent.click(button('Remove'));
    await settle();
    expect(within(queue() as HTMLElement).getByRole('alert').textContent).toContain('MESSAGE_SENT');
  });
});

describe('[UI-1] arrow-up in the empty field', () => {
  it('brings earlier messages back, newest first, and arrow-down leads forward again', async () => {
    const { server } = await openChat();
    const second = { ...hello, message_id: 'm2', content: 'Second\nline' };
    await server.emit({
      event: 'message.created',
      data: { ...second, project_id: 'p1', timestamp: '2026-02-21T06:19:00Z' },
    });
    field().focus();
    await userEvent.keyboard('{ArrowUp}');
    expect(field().value).toBe('Second\nline');
    field().setSelectionRange(0, 0);
    await userEvent.keyboard('{ArrowUp}');
    expect(field().value).toBe('Hello');
    await userEvent.keyboard('{ArrowUp}');
    expect(field().value).toBe('Hello');
    await userEvent.keyboard('{ArrowDown}');
    expect(field().value).toBe('Second\nline');
    await userEvent.keyboard('{ArrowDown}');
    expect(field().value).toBe('');
    await userEvent.keyboard('{ArrowUp}{ArrowUp}');
    await userEvent.type(field(), '!{ArrowUp}');
    expect(field().value).toMatch(/!$/); // a text that was changed is not replaced
  });
});
