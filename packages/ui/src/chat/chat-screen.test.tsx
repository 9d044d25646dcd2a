// @vitest-environment happy-dom
import type { Message } from '@countersign/protocol';
import { cleanup, fireEvent, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { useState } from 'react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  anApproval,
  event,
  examples,
  openPage,
  Refused,
  requestEvent,
  settle,
  TestServer,
} from '../page-fixture.test-data.tsx';
import { ChatScreen } from './chat-screen.tsx';

afterEach(cleanup);

const place = { project_id: 'p1', session_id: 's1' };
const run_id = 'r1';
const message = (id: string, change: Partial<Message> = {}): Message => ({
  message_id: id,
  session_id: 's1',
  run_id,
  role: 'assistant',
  content: '',
  complete: true,
  created_at: '2026-02-21T06:19:00Z',
  ...change,
});
const created = (id: string, change: Partial<Message> = {}) =>
  ({
    event: 'message.created',
    data: { ...message(id, change), project_id: 'p1', timestamp: '2026-02-21T06:19:00Z' },
  }) as const;
const delta = (message_id: string, offset: number, text: string) =>
  ({ event: 'message.delta', data: { ...place, message_id, offset, text } }) as const;
const call = (change: object = {}) =>
  event('tool.call', {
    ...place,
    tool_id: 't1',
    tool_call_id: 'call_0',
    tool_name: 'execute_command',
    tool_params: { command: 'npm', args: ['test'] },
    status: 'approved',
    context: { message_id: 'm2', run_id, step: 0, excerpt: '' },
    ...change,
  });
const state = (agent: 'idle' | 'thinking' | 'awaiting_approval' | 'tool_execution') =>
  event('agent.state', { ...place, run_id, state: agent });

interface Setup {
  readonly sessionId?: string | null;
  readonly messages?: readonly Message[];
  readonly model?: object;
  readonly toolId?: string | null;
  readonly firstMessage?: string | null;
  readonly prepare?: (server: TestServer) => void;
}

async function openChat(setup: Setup = {}) {
  const { sessionId = 's1', messages = [], model = { model: 'anthropic:claude', problem: null } } = setup;
  const server = new TestServer();
  server.on('listMessages', { success: true, messages, next_cursor: null });
  server.on('history', { success: true, executions: [], next_cursor: null });
  server.on('getModel', { success: true, ...model });
  server.on('getRun', {
    success: true,
    run: { ...examples<{ run: object }>('bodies/getRun.response')[1]?.run, run_id },
  });
  setup.prepare?.(server);
  const onSession = vi.fn();
  const page = await openPage(
    <ChatScreen
      projectId="p1"
      sessionId={sessionId}
      toolId={setup.toolId ?? null}
      firstMessage={setup.firstMessage ?? null}
      onSession={onSession}
    />,
    { server },
  );
  await settle();
  return { ...page, onSession };
}

function TwoConversations() {
  const [sessionId, go] = useState('s1');
  const common = { projectId: 'p1', toolId: null, firstMessage: null, onSession: () => {} };
  return (
    <>
      <button type="button" onClick={() => go('s2')}>
        Another
      </button>
      <ChatScreen {...common} sessionId={sessionId} />
    </>
  );
}

const field = () => screen.getByLabelText<HTMLTextAreaElement>('Message');
const transcript = () => screen.getByRole('region', { name: 'Conversation' });
const hello = message('m1', { role: 'user', content: 'Hello' });
const asking = message('m2', {
  tool_calls: [
    {
      tool_call_id: 'call_0',
      tool_id: null,
      tool_name: 'execute_command',
      tool_params: { command: 'npm', args: ['test'] },
    },
  ],
});

describe('[UI-6] a card that waits, from the message field', () => {
  const preview = { kind: 'summary', summary: 'Runs the tests.' } as const;
  const digest = `sha256:${'a'.repeat(64)}` as const;
  const waiting = anApproval({ ...place, tool_id: 't1', approval_id: 'a1', preview, digest });
  async function openWaiting() {
    const page = await openChat({ messages: [hello, asking] });
    await page.server.emit(call({ status: 'awaiting_approval' }), requestEvent(waiting));
    const field = screen.getByRole('textbox');
    field.focus();
    return { ...page, field, card: () => document.querySelector('[data-approval=a1]') };
  }

  it.each(['{Escape}', '{ArrowUp}'])('%s goes to it, and y approves it', async (key) => {
    const { server, clock, card } = await openWaiting();
    await clock.advance(500);
    await userEvent.keyboard(key);
    expect(document.activeElement).toBe(card());
    await userEvent.keyboard('y');
    await settle();
    expect(server.bodiesOf('approve')).toHaveLength(1);
  });

  it('Ctrl+Enter approves it from the empty field, which keeps the focus', async () => {
    const { server, clock, field } = await openWaiting();
    await userEvent.keyboard('{Control>}{Enter}{/Control}');
    await settle();
    expect(server.bodiesOf('approve')).toEqual([]); // too quick
    await clock.advance(500);
    await userEvent.keyboard('{Control>}{Enter}{/Control}');
    await settle();
    expect(server.bodiesOf('approve')).toHaveLength(1);
    expect(document.activeElement).toBe(field);
  });

  it('what is typed is a message, and decides nothing', async () => {
    const { server, clock, field } = await openWaiting();
    await clock.advance(500);
    await userEvent.keyboard('yes{ArrowUp}');
    expect(document.activeElement).toBe(field);
    await userEvent.keyboard('{Control>}{Enter}{/Control}');
    await settle();
    expect(server.bodiesOf('approve')).toEqual([]);
    expect(server.bodiesOf('sendMessage')).toHaveLength(1);
  });
});

describe('the transcript', () => {
  it('shows an answer as it is streamed', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.emit(created('m2', { complete: false }), delta('m2', 0, 'The **answer'));
    expect(transcript().textContent).toContain('answer');
    await server.emit(delta('m2', 12, '** is 42.'));
    await vi.waitFor(() => expect(transcript().querySelector('strong')?.textContent).toBe('answer'));
    await server.emit(created('m2', { content: 'The **answer** is 42.' }));
    expect(transcript().querySelector('[aria-busy="true"]')).toBeNull();
  });

  it('[EV-4] fetches the conversation when a piece of an answer is missing', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.emit(created('m2', { complete: false }));
    server.on('listMessages', {
      success: true,
      messages: [hello, message('m2', { content: 'one two ', complete: false })],
      next_cursor: null,
    });
    await server.emit(delta('m2', 8, 'three'));
    await settle();
    await vi.waitFor(() => expect(transcript().textContent).toContain('one two three'));
  });

  it('[UI-6] shows HTML as text, loads no image, highlights code, and keeps links from reaching back', async () => {
    const content =
      'Look: <script>alert(1)</script> ![x](https://evil.test/a.png) [link](https://example.test)\n\n```js\nconst a = 1;\n```';
    await openChat({ messages: [hello, message('m2', { content })] });
    await vi.waitFor(
      () => expect(transcript().querySelector('.hljs-keyword')?.textContent).toBe('const'),
      10_000,
    );
    expect(transcript().querySelector('script, img')).toBeNull();
    expect(transcript().textContent).toContain('<script>alert(1)</script>');
    expect(transcript().textContent).toContain('[image not loaded: x]');
    expect(within(transcript()).getByRole('link').getAttribute('rel')).toContain('noreferrer');
  });

  it.each([
    // The model that answered counts, not the question's first character or the current model.
    ['manual', 'anthropic:claude', '/read_file path=README.md', false],
    ['anthropic:claude', 'anthropic:claude', '/explain this', true],
    ['anthropic:claude', 'manual', 'Explain this', true],
    ['manual', 'anthropic:claude', 'Explain this', false],
  ])('shows an answer of %s as it is or as Markdown, while the model is %s', async (...story) => {
    const [answered, configured, content, isMarkdown] = story;
    const question = message('m1', { role: 'user', content, model: answered });
    const answer = message('m2', { content: '# A heading', model: answered });
    await openChat({ messages: [question, answer], model: { model: configured, problem: null } });
    const heading = () => within(transcript()).queryByRole('heading', { name: 'A heading' });
    await vi.waitFor(() => expect(heading() !== null).toBe(isMarkdown));
    expect(transcript().textContent?.includes('# A heading')).toBe(!isMarkdown);
  });

  it('shows an answer that comes now by the model of its run', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.emit(
      created('m2', { role: 'user', content: '/explain this', model: 'anthropic:claude' }),
      created('m3', { content: '# A heading', model: 'anthropic:claude' }),
    );
    await vi.waitFor(() =>
      expect(within(transcript()).queryByRole('heading', { name: 'A heading' })).not.toBeNull(),
    );
  });

  it('shows notes of the system, and leaves out tool messages', async () => {
    await openChat({
      messages: [
        hello,
        message('m2', { role: 'tool', content: 'raw data' }),
        message('m3', { role: 'system', content: 'The model failed.' }),
      ],
    });
    expect(transcript().textContent).toContain('The model failed.');
    expect(transcript().textContent).not.toContain('raw data');
  });

  it('reads every page of a long conversation', async () => {
    await openChat({
      prepare: (server) =>
        server.on('listMessages', ({ url }) =>
          url.includes('cursor=c2')
            ? { success: true, messages: [message('m2', { content: 'second page' })], next_cursor: null }
            : { success: true, messages: [hello], next_cursor: 'c2' },
        ),
    });
    await vi.waitFor(() => expect(transcript().textContent).toContain('second page'));
  });

  it('says when it could not be read, and reads it when asked again', async () => {
    const { server } = await openChat({
      prepare: (one) =>
        one.on('listMessages', () => {
          throw new Refused(404, 'NOT_FOUND');
        }),
    });
    expect(screen.getByRole('alert').textContent).toContain('That could not be read.');
    server.on('listMessages', { success: true, messages: [hello], next_cursor: null });
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    await settle();
    expect(transcript().textContent).toContain('Hello');
  });

  it('goes to the call that the person came for', async () => {
    const scrolled = vi.spyOn(Element.prototype, 'scrollIntoView').mockImplementation(() => {});
    const execution = {
      ...examples<{ executions: object[] }>('bodies/history.response')[0]?.executions[0],
      tool_id: 't9',
      run_id: null,
    };
    await openChat({
      messages: [hello],
      toolId: 't9',
      prepare: (server) =>
        server.on('history', { success: true, executions: [execution], next_cursor: null }),
    });
    expect(scrolled.mock.contexts.map((element) => (element as Element).id)).toContain('call-t9');
    scrolled.mockRestore();
  });

  describe('and its end', () => {
    const newest = () => screen.queryByRole('button', { name: 'Newest messages' });
    const heightOf = (box: HTMLElement, scrollHeight: number) =>
      Object.defineProperties(box, {
        scrollHeight: { value: scrollHeight, configurable: true },
        clientHeight: { value: 500, configurable: true },
      });
    const scrollTo = (box: HTMLElement, top: number) => {
      box.scrollTop = top;
      fireEvent.scroll(box);
    };
    async function openAtEnd() {
      const page = await openChat({ messages: [hello] });
      const box = heightOf(transcript(), 2000);
      scrollTo(box, 1500);
      return { ...page, box };
    }

    it('leaves the person alone who has scrolled up, and brings them back', async () => {
      const { box } = await openAtEnd();
      scrollTo(box, 100);
      await userEvent.click(newest() as HTMLElement);
      expect(box.scrollTop).toBe(2000);
      expect(newest()).toBeNull();
    });

    it('is followed on when much came before the event of the last scrolling', async () => {
      const { box } = await openAtEnd();
      heightOf(box, 2600);
      fireEvent.scroll(box);
      expect(newest()).toBeNull();
    });

    it('is where whoever sends something is brought', async () => {
      const { box, server } = await openAtEnd();
      scrollTo(box, 100);
      expect(newest()).not.toBeNull();
      await userEvent.type(field(), 'Go on{Enter}');
      await settle();
      expect(server.bodiesOf('sendMessage')).toMatchObject([{ content: 'Go on' }]);
      expect(box.scrollTop).toBe(1500);
      expect(newest()).toBeNull();
    });
  });
});

describe('a tool call', () => {
  it('is shown as it happens, with progress and live output', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.emit(created('m2', { tool_calls: asking.tool_calls }));
    expect(transcript().textContent).toContain('Run npm test');
    await server.emit(call(), state('tool_execution'));
    expect(transcript().textContent).toContain('Approved');
    expect(transcript().textContent).toContain('A tool is running…');
    const progress = { ...place, tool_id: 't1' };
    await server.emit(
      event('tool.progress', {
        ...progress,
        progress: 40,
        message: 'testing',
        output: { stream: 'stdout', chunk: 'ok 1\n\u001b[31mred' },
      }),
    );
    expect(transcript().textContent).toContain('Running npm test');
    expect(transcript().querySelector('progress')?.value).toBe(40);
    expect(transcript().textContent).toContain('testing');
    expect(transcript().textContent).toContain('ok 1\nred');
    expect(transcript().querySelector('.ansi-red')?.textContent?.trim()).toBe('red');
    const result = {
      success: true,
      stdout: 'all good',
      stderr: 'a warning',
      exit_code: 0,
      execution_time: 1,
    };
    await server.emit(
      event('tool.result', {
        ...progress,
        tool_call_id: 'call_0',
        status: 'completed',
        result,
        error: null,
        execution_time_ms: 1500,
        late: false,
      }),
    );
    const row = screen.getByRole('button', { name: /^Ran npm test/ });
    expect(row.textContent).toBe('Ran npm testDone2 lines1.5 s');
    // Output that was watched stays; the unfolded row shows more.
    expect(transcript().textContent).toContain('all good\na warning');
    expect(transcript().textContent).not.toContain('Open in the history');
    await userEvent.click(row);
    for (const text of ['all good', 'a warning', 'Open in the history'])
      expect(transcript().textContent).toContain(text);
    await userEvent.click(row);
    expect(transcript().textContent).not.toContain('Open in the history');
  });

  it('[TL-2] says that a command exited with 1, also where its result is left out (founding documents: tools-specification)', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.emit(created('m2', { tool_calls: asking.tool_calls }), call());
    await server.emit(
      event('tool.result', {
        ...place,
        tool_id: 't1',
        tool_call_id: 'call_0',
        status: 'completed',
        result: null,
        omitted: ['result'],
        error: null,
        exit_code: 1,
        execution_time_ms: 1500,
        late: false,
      }),
    );
    await settle();
    expect(transcript().querySelector('.call-facts')?.textContent).toContain('exit 1');
    expect(transcript().querySelector('.mark-nonzero')).not.toBeNull();
  });

  it('[AG-3] that was not made before its run ended waits no longer', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.emit(created('m2', { tool_calls: asking.tool_calls }), state('thinking'));
    const row = () => transcript().querySelector('.call') as HTMLElement;
    expect(row().textContent).toContain('In the queue');
    expect(row().querySelector('.mark-pending')).not.toBeNull();
    await server.emit(state('idle'));
    expect(row().textContent).toContain('Not started');
    expect(row().querySelector('.mark-pending')).toBeNull();
  });

  it('[AG-3] that waited when the person stopped the run was not started, and only the note says why', async () => {
    const { server } = await openChat({ messages: [hello, asking] });
    const approval = anApproval({
      ...place,
      tool_id: 't1',
      tool_call_id: 'call_0',
      context: { message_id: 'm2', run_id, step: 0, excerpt: 'Hello' },
    });
    const stopped = 'You stopped this run.';
    await server.emit(
      call({ status: 'awaiting_approval' }),
      requestEvent(approval),
      created('m3', { role: 'system', content: stopped }),
      state('idle'),
      event('approval.resolved', {
        ...place,
        approval_id: approval.approval_id,
        tool_id: 't1',
        status: 'cancelled',
        reason: null,
        message: null,
      }),
      event('tool.result', {
        ...place,
        tool_id: 't1',
        tool_call_id: 'call_0',
        status: 'cancelled',
        not_started: true,
        result: null,
        execution_time_ms: null,
        late: false,
        error: { code: 'EXECUTION_CANCELLED', message: stopped, recoverable: false },
      }),
    );
    const row = transcript().querySelector('.call') as HTMLElement;
    expect(row.querySelector('.call-facts')?.textContent).toBe('Not started');
    expect(transcript().textContent?.split(stopped)).toHaveLength(2);
    expect(row.textContent).not.toContain(stopped);
  });

  it('of a run that still runs waits also on a page that is opened now', async () => {
    const running = { ...examples<{ run: object }>('bodies/getRun.response')[1]?.run, run_id };
    await openChat({
      messages: [hello, asking],
      prepare: (server) => server.on('getRun', { success: true, run: { ...running, status: 'running' } }),
    });
    expect(transcript().querySelector('.call')?.textContent).toContain('In the queue');
  });

  it('[EV-4] of a message that ended while the conversation was read is shown', async () => {
    const read = Promise.withResolvers<void>();
    const { server } = await openChat({
      prepare: (server) =>
        server.on('listMessages', async () => {
          await read.promise;
          const begun = message('m2', { role: 'assistant', content: 'I te', complete: false });
          return { success: true, messages: [hello, begun], queued: [], next_cursor: null };
        }),
    });
    const said = { content: 'I test.', tool_calls: asking.tool_calls };
    await server.emit(created('m2', { role: 'assistant', ...said }), call({ status: 'executing' }));
    read.resolve();
    await settle();
    const shown = transcript().querySelector('[data-message=m2]');
    expect(shown?.textContent).toContain('I test.');
    expect(shown?.querySelector('.call-title')?.textContent).toBe('Running npm test');
    expect(shown?.querySelector('.caret')).toBeNull();
  });

  it('shows its approval in its place, and what became of it', async () => {
    const { server, live } = await openChat({ messages: [hello, asking] });
    const approval = anApproval({
      ...place,
      tool_id: 't1',
      tool_call_id: 'call_0',
      context: { message_id: 'm2', run_id, step: 0, excerpt: 'Hello' },
    });
    await server.emit(
      call({ status: 'awaiting_approval' }),
      requestEvent(approval),
      state('awaiting_approval'),
    );
    expect(within(transcript()).getByText('Agent wants to run npm test')).toBeTruthy();
    expect(transcript().querySelector('.call-line')).toBeNull(); // the row is the card
    expect(transcript().textContent).toContain('The agent waits for your decision.');
    await server.emit(
      event('approval.updated', {
        ...place,
        approval_id: approval.approval_id,
        tool_id: 't1',
        tool_params: { command: 'npm', args: ['run'] },
      }),
      event('approval.resolved', {
        ...place,
        approval_id: approval.approval_id,
        tool_id: 't1',
        status: 'rejected',
        device: 'test page', // in another window of the same browser, or in the editor's own diff
        reason: null,
        message: null,
      }),
    );
    expect(transcript().querySelector('[data-approval]')).toBeNull();
    // As after a reload: a device is named by what it calls itself, whichever window it was.
    const facts = [...transcript().querySelectorAll('.call-fact')].map(({ textContent }) => textContent);
    expect(facts).toEqual(['You rejected this']);
    expect(live.conversations.all.get().get('s1')?.calls.get('t1')?.params).toEqual({
      command: 'npm',
      args: ['run'],
    });
  });

  it('says why it failed, and a late result or an undo changes nothing', async () => {
    const { server } = await openChat({ messages: [hello, asking] });
    const failed = { ...place, tool_id: 't1', tool_call_id: 'call_0', result: null, execution_time_ms: null };
    await server.emit(
      call(),
      event('tool.result', {
        ...failed,
        status: 'failed',
        late: false,
        error: { code: 'NO_RUNNER', message: 'Nobody is there.', recoverable: false },
      }),
      event('tool.result', { ...failed, status: 'completed', late: true, error: null }),
      event('tool.result', { ...failed, status: 'completed', late: false, undo_id: 'u1', error: null }),
    );
    expect(transcript().textContent).toContain('Failed');
    expect(transcript().textContent).toContain('Nobody is there.');
  });

  it('[RN-3] an undone call has no tick any more, here and on the next visit', async () => {
    const { server } = await openChat({ messages: [hello, asking] });
    const done = {
      ...place,
      tool_id: 't1',
      tool_call_id: 'call_0',
      status: 'completed' as const,
      result: null,
      error: null,
      execution_time_ms: 5,
      late: false,
    };
    await server.emit(call(), event('tool.result', done));
    expect(transcript().querySelector('.mark-completed')).not.toBeNull();
    const conflict = { code: 'UNDO_CONFLICT', message: 'It was changed since.', recoverable: false } as const;
    await server.emit(event('tool.result', { ...done, status: 'failed', error: conflict, undo_id: 'u1' }));
    expect(transcript().querySelector('.mark-completed')).not.toBeNull();
    await server.emit(event('tool.result', { ...done, undo_id: 'u2' }));
    expect(transcript().querySelector('.mark-completed')).toBeNull();
    expect(transcript().querySelector('.call-state')?.textContent).toBe('Undone');
    cleanup();
    const execution = {
      ...examples<{ executions: object[] }>('bodies/history.response')[0]?.executions[0],
      tool_id: 't1',
      run_id,
      tool_call_id: 'call_0',
      status: 'completed',
      undone_at: '2026-02-21T06:20:00Z',
    };
    await openChat({
      messages: [hello, asking],
      prepare: (one) => one.on('history', { success: true, executions: [execution], next_cursor: null }),
    });
    expect(transcript().querySelector('.mark-undone')).not.toBeNull();
  });

  it('can be cancelled while it runs', async () => {
    const { server } = await openChat({ messages: [hello, asking] });
    await server.emit(call());
    await userEvent.click(screen.getByRole('button', { name: 'Cancel' }));
    await settle();
    expect(server.requests.filter(({ route }) => route === 'cancelExecution').map(({ url }) => url)).toEqual([
      '/my/tools/t1/cancel',
    ]);
  });

  it('of an earlier visit is fetched when somebody looks', async () => {
    const execution = {
      ...examples<{ executions: object[] }>('bodies/history.response')[0]?.executions[0],
      tool_id: 't1',
      run_id,
      tool_call_id: 'call_0',
      tool_name: 'read_file',
      status: 'completed',
      error: null,
      approval_id: null,
    };
    await openChat({
      messages: [hello, asking],
      prepare: (server) => {
        server.on('history', ({ url }) =>
          url.includes('cursor')
            ? { success: true, executions: [], next_cursor: null }
            : { success: true, executions: [execution], next_cursor: 'c' },
        );
        const detail = examples<object>('bodies/getExecution.response')[0];
        server.on('getExecution', {
          ...detail,
          execution,
          result: { success: true, content: 'the whole file' },
        });
      },
    });
    await userEvent.click(screen.getByRole('button', { name: /^Read / }));
    await settle();
    expect(transcript().textContent).toContain('the whole file');
  });

  describe('after a reload', () => {
    const ended = (change: object = {}) => ({
      ...examples<{ executions: object[] }>('bodies/history.response')[0]?.executions[0],
      ...place,
      tool_id: 't1',
      run_id,
      tool_call_id: 'call_0',
      tool_name: 'execute_command',
      tool_params: { command: 'npm', args: ['test'] },
      status: 'completed',
      exit_code: 1,
      execution_time_ms: 1500,
      approval_id: 'a1',
      approved_by: 'user',
      decision: null,
      error: null,
      undone_at: null,
      ...change,
    });
    const output = Array.from({ length: 20 }, (_, n) => `line ${n}`).join('\n');
    const result = { success: false, stdout: output, stderr: 'it broke', exit_code: 1, execution_time: 1 };
    const told = (value: object, error = {}) =>
      message('m3', {
        role: 'tool',
        tool_id: 't1',
        content: JSON.stringify({
          status: 'success',
          tool_call_id: 'call_0',
          result: value,
          execution_time_ms: 1500,
          ...error,
        }),
      });
    const open = (executions: object[], messages: readonly Message[]) =>
      openChat({
        messages,
        prepare: (server) => server.on('history', { success: true, executions, next_cursor: null }),
      });

    it('the last lines of a failed command are there, without a further request', async () => {
      const { server } = await open([ended()], [hello, asking, told(result)]);
      expect(transcript().querySelector('.call-facts')?.textContent).toBe('Doneexit 11.5 sYou approved this');
      expect(transcript().querySelector('pre')?.textContent).toMatch(/^line 9\n[\s\S]*line 19\nit broke\n$/);
      expect(server.requests.filter(({ route }) => route === 'getExecution')).toEqual([]);
      await userEvent.click(screen.getByRole('button', { name: 'Show all 21 lines' }));
      expect(transcript().querySelector('pre')?.textContent).toMatch(/^line 0\n/);
    });

    it('[RN-12] a command says how many files it changed and what did not land; unfolded it can be undone', async () => {
      const landed = {
        success: true,
        stdout: 'made\n',
        stderr: '',
        exit_code: 0,
        execution_time: 1,
        changed_files: [{ path: 'src/a.ts', operation: 'modified' }],
        withheld: [{ path: '.git/hooks/pre-commit' }],
        conflicts: [{ path: 'b.ts' }],
        undoable: true,
      };
      const { server } = await open([ended({ exit_code: 0 })], [hello, asking, told(landed)]);
      const text = () => transcript().textContent ?? '';
      expect(text()).toContain('1 line, 1 file changed');
      expect(text()).toContain(
        'Withheld and kept aside, because it would run code later: .git/hooks/pre-commit',
      );
      expect(text()).toContain('b.ts');
      expect(text()).not.toContain('src/a.ts');
      await userEvent.click(screen.getByRole('button', { name: /^Ran / }));
      await settle();
      expect(text()).toContain('src/a.ts');
      await userEvent.click(screen.getByRole('button', { name: 'Undo this change' }));
      await settle();
      expect(server.bodiesOf('undoExecution')).toEqual([{ force: false }]);
    });

    it('a rejection is there', async () => {
      await open([ended({ status: 'rejected', approved_by: null, exit_code: undefined })], [hello, asking]);
      expect(transcript().querySelector('.call-facts')?.textContent).toBe('RejectedYou rejected this');
    });

    it('what was shortened for the model is fetched as a whole when somebody looks', async () => {
      const short = {
        success: true,
        content: 'a\n[… 9 characters are left out here; ask for a part of it …]',
      };
      const { server } = await open(
        [ended({ tool_name: 'read_file', tool_params: { path: 'a.ts' }, exit_code: undefined })],
        [hello, asking, told({ ...short, encoding: 'utf-8', size: 3, truncated: false })],
      );
      server.on('getExecution', {
        ...examples<object>('bodies/getExecution.response')[0],
        execution: ended({ tool_name: 'read_file', tool_params: { path: 'a.ts' } }),
        result: { success: true, content: 'all of it', encoding: 'utf-8', size: 3, truncated: false },
      });
      await userEvent.click(screen.getByRole('button', { name: /^Read a\.ts/ }));
      await settle();
      expect(transcript().textContent).toContain('all of it');
      expect(transcript().textContent).not.toContain('ask for a part of it');
    });

    it('the output of a failed call without a run is fetched', async () => {
      await openChat({
        messages: [hello],
        prepare: (server) => {
          const execution = ended({ run_id: null });
          server.on('history', { success: true, executions: [execution], next_cursor: null });
          server.on('getExecution', {
            ...examples<object>('bodies/getExecution.response')[0],
            execution,
            result,
          });
        },
      });
      await settle();
      expect(transcript().querySelector('pre')?.textContent).toContain('it broke');
    });
  });

  it('says that policy blocked it, not that it failed', async () => {
    const { server } = await openChat({ messages: [hello, asking] });
    await server.emit(
      call(),
      event('tool.result', {
        ...place,
        tool_id: 't1',
        tool_call_id: 'call_0',
        result: null,
        execution_time_ms: null,
        status: 'failed',
        late: false,
        error: { code: 'DENIED_BY_POLICY', message: 'Denied by the policy.', recoverable: false },
      }),
    );
    expect(transcript().querySelector('.call-state')?.textContent).toBe('Blocked');
  });

  it('of a run that goes on is found again after a reload', async () => {
    const execution = {
      ...examples<{ executions: object[] }>('bodies/history.response')[0]?.executions[0],
      tool_id: 't1',
      run_id,
      status: 'awaiting_approval',
    };
    await openChat({
      messages: [hello],
      prepare: (server) => {
        server.on('history', { success: true, executions: [execution], next_cursor: null });
        server.on('getRun', {
          success: true,
          run: { ...examples<{ run: object }>('bodies/getRun.response')[0]?.run, run_id },
        });
      },
    });
    expect(transcript().textContent).toContain('The agent waits for your decision.');
    expect(screen.getByRole('button', { name: 'Stop' })).toBeTruthy();
  });
});

/** A page that goes where its chat leads, and where the person goes. */
function ChatWithPlaces() {
  const [sessionId, setSessionId] = useState<string | null>(null);
  return (
    <>
      <button type="button" onClick={() => setSessionId(null)}>
        To a new one
      </button>
      <button type="button" onClick={() => setSessionId('s2')}>
        To s2
      </button>
      <ChatScreen
        projectId="p1"
        sessionId={sessionId}
        toolId={null}
        firstMessage="/read_file path=README.md"
        onSession={setSessionId}
      />
    </>
  );
}

describe('sending', () => {
  it('begins a conversation that is named by its first words', async () => {
    const { server, onSession } = await openChat({ sessionId: null });
    server.on('createSession', {
      success: true,
      session: {
        ...examples<{ session: object }>('bodies/createSession.response')[0]?.session,
        session_id: 's2',
      },
    });
    await userEvent.type(field(), 'Fix the tests{Shift>}{Enter}{/Shift}please{Enter}');
    await settle();
    expect(server.bodiesOf('createSession')).toEqual([{ title: 'Fix the tests' }]);
    expect(server.bodiesOf('sendMessage')).toEqual([
      { content: 'Fix the tests\nplease', session_id: 's2', when_busy: 'queue' },
    ]);
    expect(onSession).toHaveBeenCalledWith('s2');
    expect(field().value).toBe('');
  });

  describe('[UI-1] the focus and the draft', () => {
    const openOwnPage = async () => {
      const server = new TestServer();
      const session = examples<{ session: object }>('bodies/createSession.response')[0]?.session;
      server.on('createSession', { success: true, session: { ...session, session_id: 's2' } });
      server.on('listMessages', { success: true, messages: [hello], next_cursor: null });
      server.on('history', { success: true, executions: [], next_cursor: null });
      server.on('getModel', { success: true, model: 'manual', problem: null });
      await openPage(<ChatWithPlaces />, { server });
      return server;
    };

    it('stay in the composer when its first message begins a conversation', async () => {
      const server = await openOwnPage();
      const wait = Promise.withResolvers<object>();
      server.on('sendMessage', () => wait.promise);
      await userEvent.type(field(), 'First{Enter}');
      await userEvent.type(field(), ' and the next');
      wait.resolve(examples<object>('bodies/sendMessage.response')[0] ?? {});
      await settle();
      await vi.waitFor(() => expect(transcript().textContent).toContain('Hello'));
      expect(document.activeElement).toBe(field());
      expect(field().value).toBe(' and the next');
    });

    it('of one conversation is not carried into another, and is there when the person comes back', async () => {
      await openOwnPage();
      await userEvent.type(field(), 'First{Enter}');
      await settle();
      await userEvent.type(field(), 'for s2 only');
      await userEvent.click(screen.getByRole('button', { name: 'To a new one' }));
      expect(field().value).toBe('');
      await userEvent.type(field(), 'for a new one only');
      await userEvent.click(screen.getByRole('button', { name: 'To s2' }));
      expect(field().value).toBe('for s2 only');
      await userEvent.clear(field());
      await userEvent.click(screen.getByRole('button', { name: 'To a new one' }));
      expect(field().value).toBe('for a new one only');
      await userEvent.click(screen.getByRole('button', { name: 'To s2' }));
      expect(field().value).toBe('');
    });

    it('go to the composer by a suggestion, so that Enter sends it', async () => {
      const server = await openOwnPage();
      screen.getByRole('button', { name: '/read_file path=README.md' }).focus();
      await userEvent.keyboard('{Enter}');
      expect(document.activeElement).toBe(field());
      expect(field().selectionStart).toBe('/read_file path=README.md'.length);
      expect(screen.queryByRole('listbox')).toBeNull();
      await userEvent.keyboard('{Enter}');
      await settle();
      expect(server.bodiesOf('sendMessage')).toMatchObject([{ content: '/read_file path=README.md' }]);
    });
  });

  it('keeps the text when it could not be sent, and says why', async () => {
    const { server } = await openChat({ messages: [hello] });
    server.on('sendMessage', () => {
      throw new Refused(429, 'RATE_LIMITED');
    });
    await userEvent.type(field(), 'Again');
    await userEvent.click(screen.getByRole('button', { name: 'Send' }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('RATE_LIMITED');
    expect(field().value).toBe('Again');
  });

  it('[EV-2] learns after a reset that the run has ended meanwhile', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.emit(state('thinking'));
    expect(screen.getByRole('button', { name: 'Stop' })).toBeTruthy();
    await server.emit(event('stream.reset'));
    expect(screen.queryByRole('button', { name: 'Stop' })).toBeNull();
  });

  it('does not say of one conversation what was refused in another', async () => {
    const server = new TestServer();
    server.on('listMessages', { success: true, messages: [hello], next_cursor: null });
    server.on('getRun', examples<object>('bodies/getRun.response')[1] ?? {});
    server.on('sendMessage', () => {
      throw new Refused(429, 'RATE_LIMITED');
    });
    await openPage(<TwoConversations />, { server });
    await userEvent.type(field(), 'Again{Enter}');
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('RATE_LIMITED');
    await userEvent.click(screen.getByRole('button', { name: 'Another' }));
    await settle();
    expect(screen.queryByRole('alert')).toBeNull();
  });

  it('[AG-3] stops a run', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.emit(state('thinking'));
    await userEvent.click(screen.getByRole('button', { name: 'Stop' }));
    await settle();
    expect(server.requests.some(({ url }) => url === `/my/runs/${run_id}/stop`)).toBe(true);
    server.on('stopRun', () => {
      throw new Refused(404, 'NOT_FOUND');
    });
    await userEvent.click(screen.getByRole('button', { name: 'Stop' }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('NOT_FOUND');
  });

  it('is not possible while the connection is lost', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.loseConnection();
    await userEvent.type(field(), 'x');
    expect(screen.getByRole('button', { name: 'Send' })).toHaveProperty('disabled', true);
  });
});

describe('completion', () => {
  it('offers tools, and takes one by Tab, arrows and Enter, or click', async () => {
    await openChat({ messages: [hello], model: { model: 'manual', problem: null }, prepare: withTools });
    await userEvent.type(field(), '/rea');
    const options = () => screen.getAllByRole('option').map(({ textContent }) => textContent);
    expect(options()[0]).toContain('/read_file');
    await userEvent.keyboard('{Tab}');
    expect(field().value).toBe('/read_file ');
    await userEvent.keyboard('{ArrowDown}{ArrowDown}{ArrowUp}');
    expect(screen.getAllByRole('option')[0]?.getAttribute('aria-selected')).toBe('true');
    await userEvent.keyboard('{Enter}');
    expect(field().value).toBe('/read_file path=');
    fireEvent.change(field(), { target: { value: '/read_file ' } });
    await userEvent.click(screen.getAllByRole('option')[1] as HTMLElement);
    expect(field().value).toBe('/read_file start_line=');
  });

  it('is closed by Escape, and Enter then sends', async () => {
    const { server } = await openChat({
      messages: [hello],
      model: { model: 'manual', problem: null },
      prepare: withTools,
    });
    await userEvent.type(field(), '/rea{Escape}');
    expect(screen.queryByRole('listbox')).toBeNull();
    await userEvent.keyboard('{Enter}');
    await settle();
    expect(server.bodiesOf('sendMessage')).toEqual([
      { content: '/rea', session_id: 's1', when_busy: 'queue' },
    ]);
  });
});

const withTools = (server: TestServer) =>
  server.on('availableTools', () => {
    const tool = (name: string, parameters: object, required: string[]) => ({
      name,
      parameters,
      category: 'filesystem',
      description: `${name}. More.`,
      input_schema: { required },
      requires_approval: false,
      risk_level: 'LOW',
      timeout_seconds: 0,
      read_only: true,
    });
    const tools = [
      tool('read_file', { path: { type: 'string' }, start_line: { type: 'integer' } }, ['path']),
    ];
    return { success: true, tools, total_count: 1 };
  });

describe('which model answers', () => {
  it('is said', async () => {
    await openChat({ messages: [hello] });
    expect(document.body.textContent).toContain('Model: anthropic:claude');
  });

  it('[AG-1] without one, what to do is said, and calls are suggested', async () => {
    await openChat({ sessionId: null, model: { model: 'manual', problem: null } });
    await userEvent.click(screen.getByRole('button', { name: '/read_file path=README.md' }));
    expect(field().value).toBe('/read_file path=README.md');
    await userEvent.click(screen.getByRole('button', { name: /Model: manual/ }));
    expect(document.body.textContent).toContain('ANTHROPIC_API_KEY');
    await userEvent.keyboard('{Escape}');
    expect(document.body.textContent).not.toContain('ANTHROPIC_API_KEY');
    await userEvent.click(screen.getByRole('button', { name: /Model: manual/ }));
    fireEvent.pointerDown(document.body);
    await settle();
    expect(document.body.textContent).not.toContain('ANTHROPIC_API_KEY');
  });

  it('[AG-1] one that lacks its key: the problem is said, and the manual model takes messages', async () => {
    const { server } = await openChat({
      messages: [hello],
      model: { model: 'openai:gpt', problem: 'It needs a key.' },
    });
    await userEvent.click(screen.getByRole('button', { name: /Model: openai:gpt/ }));
    expect(document.body.textContent).toContain('It needs a key.');
    await userEvent.type(field(), '/git_status{Enter}');
    await settle();
    expect(server.bodiesOf('sendMessage')).toEqual([
      { content: '/git_status', session_id: 's1', when_busy: 'queue', model: 'manual' },
    ]);
  });

  it('none at all: nothing can be sent', async () => {
    await openChat({ messages: [hello], model: { model: null, problem: null } });
    expect(document.body.textContent).toContain('This server has no agent');
  });

  it('suggests what the server suggests', async () => {
    await openChat({ sessionId: null, firstMessage: '/git_status\n/run npm test' });
    await userEvent.click(screen.getByRole('button', { name: /git_status/ }));
    expect(field().value).toBe('/git_status\n/run npm test');
  });
});

describe('[UI-2] running a call again (founding documents: implementation-plan)', () => {
  const detail = (change: object = {}, more: object = {}) => {
    const [example] = examples<{ execution: object }>('bodies/getExecution.response');
    const execution = { ...example?.execution, ...place, tool_id: 't1', status: 'completed', ...change };
    return { ...example, execution, ...more };
  };
  const context = { message_id: null, run_id: null, step: null, excerpt: '' };
  const openDone = async (prepare: (server: TestServer) => void) => {
    const page = await openChat({ messages: [hello], prepare });
    // The event's parameters are masked; the server has them in full.
    const tool_params = { path: 'a.md', content: '[9000 bytes]' };
    await page.server.emit(
      call({ tool_name: 'write_file', tool_params, context }),
      event('tool.result', { ...place, tool_id: 't1', tool_name: 'write_file', status: 'completed' }),
    );
    await userEvent.click(screen.getByRole('button', { name: /^Wrote a\.md/ }));
    await userEvent.click(screen.getByRole('button', { name: 'Run again' }));
    await settle();
    return page;
  };
  const whole = { tool_name: 'write_file', tool_params: { path: 'a.md', content: 'in full' } };

  it('makes the same call in the same conversation, and decides nothing', async () => {
    const { server } = await openDone((one) => {
      one.on('getExecution', detail(whole));
      one.on('executeTool', {
        ...{ success: true, tool_id: 't2', session_id: 's1', approval_id: 'a2' },
        ...{ status: 'awaiting_approval', result: null, error: null },
      });
    });
    expect(server.bodiesOf('executeTool')).toEqual([{ ...whole, session_id: 's1' }]);
    expect(server.bodiesOf('approve')).toEqual([]);
    expect(screen.getByRole('link', { name: 'Show the new call' }).getAttribute('href')).toBe('#/chat/s1/t2');
  });

  it('says why it was refused', async () => {
    await openDone((one) => {
      one.on('getExecution', detail(whole));
      one.on('executeTool', () => {
        throw new Refused(400, 'COMMAND_NOT_ALLOWED');
      });
    });
    expect(screen.getByRole('alert').textContent).toBe('refused: COMMAND_NOT_ALLOWED');
  });

  it('makes no call when the parameters are no longer kept', async () => {
    const { server } = await openDone((one) =>
      one.on('getExecution', detail(whole, { omitted: ['tool_params'] })),
    );
    expect(screen.getByRole('alert').textContent).toContain('No longer kept');
    expect(server.bodiesOf('executeTool')).toEqual([]);
  });

  it('is not offered while the call has not ended', async () => {
    const { server } = await openChat({ messages: [hello] });
    await server.emit(call({ status: 'executing', context }));
    await userEvent.click(screen.getByRole('button', { name: /^Running npm test/ }));
    expect(screen.queryByRole('button', { name: 'Run again' })).toBeNull();
  });
});

describe('[EX-10] without a runner', () => {
  it('says so, and what to run', async () => {
    const { server } = await openChat({
      sessionId: null,
      prepare: (one) => {
        one.on('listRunners', { success: true, runners: [] });
        const project = {
          ...examples<{ projects: object[] }>('bodies/listProjects.response')[0]?.projects[0],
          project_id: 'p1',
          workspace: "/home/a b's",
        };
        one.on('listProjects', { success: true, projects: [project] });
      },
    });
    expect(document.body.textContent).toContain('No runner is connected.');
    expect(document.body.textContent).toContain(`npx countersign connect '/home/a b'\\''s'`);
    const runner = {
      ...examples<{ runners: object[] }>('bodies/listRunners.response')[0]?.runners[0],
      project_id: 'p1',
      connected: true,
    };
    server.on('listRunners', { success: true, runners: [runner] });
    await server.emit(event('runner.changed', { project_id: 'p1' }));
  });
});
