// @vitest-environment happy-dom
import type { Session } from '@countersign/protocol';
import { cleanup, fireEvent, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { event, openPage, Refused, settle, TestServer } from '../page-fixture.test-data.tsx';
import { ChatScreen } from './chat-screen.tsx';

afterEach(cleanup);

const session = (change: Partial<Session> = {}): Session => ({
  session_id: 's1',
  project_id: 'p1',
  title: 'One',
  mode: 'ask',
  created_at: '2026-02-21T06:19:00Z',
  last_message_at: null,
  ...change,
});

async function openChat(sessionId: string | null = 's1', known: Session = session()) {
  const server = new TestServer();
  let stored = known;
  server.on('listSessions', () => ({ success: true, sessions: [stored] }));
  server.on('listMessages', { success: true, messages: [], next_cursor: null });
  server.on('history', { success: true, executions: [], next_cursor: null });
  server.on('getModel', { success: true, model: 'anthropic:claude', problem: null });
  server.on('createSession', () => ({ success: true, session: stored }));
  server.on('changeSession', ({ body }) => {
    stored = { ...stored, ...(body as Partial<Session>) };
    return { success: true, session: stored };
  });
  const page = await openPage(
    <ChatScreen
      projectId="p1"
      sessionId={sessionId}
      toolId={null}
      firstMessage={null}
      onSession={() => {}}
    />,
    { server },
  );
  await settle();
  return page;
}

const mode = () => screen.getByRole<HTMLSelectElement>('combobox', { name: 'Mode' });
const meaning = () => document.querySelector('.mode-meaning')?.textContent;
const altM = () =>
  fireEvent.keyDown(document.activeElement ?? document.body, { code: 'KeyM', key: 'm', altKey: true });

describe('[AP-11] the mode of a conversation', () => {
  it('is switched by the list, says what it means, and the sentence goes with the next message', async () => {
    const { server, clock } = await openChat();
    expect([mode().value, meaning()]).toEqual(['ask', '']);
    await userEvent.selectOptions(mode(), 'Accept edits');
    expect(meaning()).toMatch(/^Accept edits\. In this conversation file tools change files/);
    await clock.advance(600);
    expect(server.bodiesOf('changeSession')).toEqual([{ mode: 'accept_edits' }]);
    expect(mode().value).toBe('accept_edits');
    await userEvent.type(screen.getByLabelText('Message'), 'Go{Enter}');
    await settle();
    expect(meaning()).toBe('');
  });

  it('Alt+M cycles through the modes, and a mode that was only passed is not sent', async () => {
    const { server, clock } = await openChat();
    screen.getByLabelText('Message').focus();
    altM();
    await clock.advance(599);
    expect(server.bodiesOf('changeSession')).toEqual([]);
    altM();
    await settle();
    expect(mode().value).toBe('read_only');
    altM();
    await clock.advance(599);
    expect(server.bodiesOf('changeSession')).toEqual([{ mode: 'read_only' }]);
    await clock.advance(1);
    expect(server.bodiesOf('changeSession')).toEqual([{ mode: 'read_only' }, { mode: 'ask' }]);
    expect(mode().value).toBe('ask');
  });

  it.each([
    ['ask', 'Read only', 'read_only'],
    ['accept_edits', 'Ask', 'ask'],
    ['accept_edits', 'Read only', 'read_only'],
  ] as const)('is stricter at once: from %s to %s', async (from, name, to) => {
    const { server } = await openChat('s1', session({ mode: from }));
    await userEvent.selectOptions(mode(), name);
    await settle();
    expect(server.bodiesOf('changeSession')).toEqual([{ mode: to }]);
  });

  it('of two quick switches, the last one stays', async () => {
    const { server } = await openChat('s1', session({ mode: 'accept_edits' }));
    await userEvent.selectOptions(mode(), 'Ask');
    await userEvent.selectOptions(mode(), 'Read only');
    await settle();
    expect(server.bodiesOf('changeSession').at(-1)).toEqual({ mode: 'read_only' });
    expect(mode().value).toBe('read_only');
  });

  it('is saved before a message that follows at once', async () => {
    const { server } = await openChat();
    await userEvent.selectOptions(mode(), 'Read only');
    await userEvent.type(screen.getByLabelText('Message'), 'Look{Enter}');
    await settle();
    const order = server.requests.map(({ route }) => route).filter((route) => /^(change|send)/.test(route));
    expect(order).toEqual(['changeSession', 'sendMessage']);
  });

  it('is chosen before the first message, and saved before it', async () => {
    const { server } = await openChat(null);
    await userEvent.selectOptions(mode(), 'Read only');
    expect(server.bodiesOf('changeSession')).toEqual([]);
    await userEvent.type(screen.getByLabelText('Message'), 'Look{Enter}');
    await settle();
    const order = server.requests
      .map(({ route }) => route)
      .filter((route) => /^(create|change|send)/.test(route));
    expect(order).toEqual(['createSession', 'changeSession', 'sendMessage']);
  });

  it.each(['Accept edits', 'Read only'])(
    'a message does not go out before the server has answered to %s',
    async (name) => {
      const { server } = await openChat();
      const answered = Promise.withResolvers<void>();
      server.on('changeSession', async () => {
        await answered.promise;
        throw new Refused(503, 'NO_RUNNER');
      });
      await userEvent.selectOptions(mode(), name);
      await userEvent.type(screen.getByLabelText('Message'), 'Look{Enter}');
      await settle();
      expect(server.bodiesOf('sendMessage')).toEqual([]);
      answered.resolve();
      await settle();
      expect(server.bodiesOf('sendMessage')).toEqual([]);
      expect(screen.getByRole('alert').textContent).toContain('NO_RUNNER');
    },
  );

  it('returns to the previous mode, and says why, when the server refuses', async () => {
    const { server, clock } = await openChat();
    server.on('changeSession', () => {
      throw new Refused(503, 'NO_RUNNER');
    });
    await userEvent.selectOptions(mode(), 'Accept edits');
    await clock.advance(600);
    await settle();
    expect(mode().value).toBe('ask');
    expect(screen.getByRole('alert').textContent).toContain('NO_RUNNER');
  });

  it('follows a switch on another device', async () => {
    const { server, clock } = await openChat();
    server.on('listSessions', { success: true, sessions: [session({ mode: 'read_only' })] });
    await server.emit(event('session.changed', { session: session({ mode: 'read_only' }) }));
    await clock.advance(400);
    await settle();
    expect(mode().value).toBe('read_only');
    expect(meaning()).toMatch(/^Read only\./);
  });
});
