// @vitest-environment happy-dom
import type { ChangedFile, Message } from '@countersign/protocol';
import { cleanup, fireEvent, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { useState } from 'react';
import { afterEach, describe, expect, it } from 'vitest';
import { event, examples, openPage, Refused, settle, TestServer } from '../page-fixture.test-data.tsx';
import { ChatScreen } from './chat-screen.tsx';

afterEach(cleanup);

const place = { project_id: 'p1', session_id: 's1' };
const message = (
  message_id: string,
  role: 'user' | 'assistant',
  content: string,
  run_id: string,
): Message => ({
  message_id,
  session_id: 's1',
  run_id,
  role,
  content,
  complete: true,
  created_at: '2026-02-21T06:19:00Z',
});
const said = [
  message('m1', 'user', 'First question', 'r1'),
  message('m2', 'assistant', 'First answer', 'r1'),
  message('m3', 'user', 'Second question', 'r2'),
  message('m4', 'assistant', 'Second answer', 'r2'),
];
const written = (tool_id: string, run_id: string, path: string) => ({
  ...examples<{ executions: object[] }>('bodies/history.response')[0]?.executions[0],
  tool_id,
  tool_call_id: tool_id,
  session_id: 's1',
  run_id,
  tool_name: 'write_file',
  tool_params: { path, content: 'x' },
  status: 'completed',
});
const changed = (path: string, change: Partial<ChangedFile> = {}): ChangedFile => ({
  path,
  operation: 'modified',
  added: 2,
  removed: 1,
  diff: `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-old\n+new\n`,
  truncated: false,
  tool_ids: ['t1'],
  undoable: true,
  undone: false,
  ...change,
});

/** A page that shows the conversation which the chat opens. */
function Page() {
  const [sessionId, setSessionId] = useState<string | null>('s1');
  return (
    <>
      <output data-testid="session">{sessionId ?? 'new'}</output>
      <ChatScreen
        projectId="p1"
        sessionId={sessionId}
        toolId={null}
        firstMessage={null}
        onSession={setSessionId}
      />
    </>
  );
}

async function openChat(prepare: (server: TestServer) => void = () => {}) {
  const server = new TestServer();
  server.on('listMessages', { success: true, messages: said, next_cursor: null });
  server.on('history', { success: true, executions: [], next_cursor: null });
  server.on('getModel', { success: true, model: 'anthropic:claude', problem: null });
  server.on('getRun', {
    success: true,
    run: { ...examples<{ run: object }>('bodies/getRun.response')[1]?.run, run_id: 'r2' },
  });
  server.on('rewindSession', { success: true, session_id: 's1', message_id: 'm3', messages: 2, files: [] });
  prepare(server);
  const page = await openPage(<Page />, { server });
  await settle();
  return page;
}

const field = () => screen.getByLabelText<HTMLTextAreaElement>('Message');
const transcript = () => screen.getByRole('region', { name: 'Conversation' });
async function choose(id: string, name: string) {
  const row = document.querySelector(`[data-message=${id}]`) as HTMLElement;
  await userEvent.click(within(row).getByRole('button', { name: 'Actions for this message' }));
  await userEvent.click(screen.getByRole('menuitem', { name }));
  await settle();
}

describe('[AG-6] the menu of a message', () => {
  it('is there for each message, works by keyboard, and Escape closes it', async () => {
    await openChat();
    const buttons = screen.getAllByRole('button', { name: 'Actions for this message' });
    expect(buttons).toHaveLength(4);
    buttons[0]?.focus();
    await userEvent.keyboard('{Enter}');
    expect(document.activeElement?.textContent).toBe('Retry');
    await userEvent.keyboard('{ArrowDown}{ArrowDown}');
    expect(document.activeElement?.textContent).toBe('Rewind to before this…');
    await userEvent.keyboard('{ArrowUp}{ArrowUp}{ArrowUp}');
    expect(document.activeElement?.textContent).toBe('Branch from here');
    await userEvent.keyboard('{Escape}');
    expect(screen.queryByRole('menu')).toBeNull();
    expect(document.activeElement).toBe(buttons[0]);
  });

  it('retries: goes back without files and sends the same text', async () => {
    const { server } = await openChat();
    await choose('m3', 'Retry');
    expect(server.bodiesOf('rewindSession')).toEqual([{ message_id: 'm3', files: false }]);
    expect(server.bodiesOf('sendMessage')).toMatchObject([{ content: 'Second question' }]);
  });

  it('edits and resends in its place; Escape leaves it as it was', async () => {
    const { server } = await openChat();
    await choose('m3', 'Edit and resend');
    await userEvent.keyboard('!{Escape}');
    expect(server.bodiesOf('rewindSession')).toEqual([]);
    await choose('m3', 'Edit and resend');
    await userEvent.keyboard(', again{Enter}');
    await settle();
    expect(server.bodiesOf('rewindSession')).toEqual([{ message_id: 'm3', files: false }]);
    expect(server.bodiesOf('sendMessage')).toMatchObject([{ content: 'Second question, again' }]);
    expect(screen.queryByLabelText('New text of the message')).toBeNull();
  });

  it('keeps the new text when it could not be resent, and sends nothing when going back is refused', async () => {
    const { server } = await openChat();
    server.on('sendMessage', () => {
      throw new Refused(429, 'RATE_LIMITED');
    });
    await choose('m3', 'Edit and resend');
    await userEvent.keyboard('!{Enter}');
    await settle();
    expect(screen.getByLabelText<HTMLTextAreaElement>('New text of the message').value).toBe(
      'Second question!',
    );
    expect(screen.getByRole('alert').textContent).toContain('RATE_LIMITED');
    server.on('rewindSession', () => {
      throw new Refused(409, 'RUN_ACTIVE');
    });
    await choose('m1', 'Retry');
    expect(server.bodiesOf('sendMessage')).toHaveLength(1);
    expect(screen.getByRole('alert').textContent).toContain('RUN_ACTIVE');
  });

  it('cannot go back while the agent works', async () => {
    const { server } = await openChat();
    await server.emit(event('agent.state', { ...place, run_id: 'r2', state: 'thinking' }));
    await choose('m3', 'Retry');
    expect(server.bodiesOf('rewindSession')).toEqual([]);
    expect(screen.getByRole('menuitem', { name: 'Retry' }).getAttribute('aria-disabled')).toBe('true');
  });

  it('branches: a new conversation with what was said before, and the text in its field', async () => {
    const { server } = await openChat((one) =>
      one.on('branchSession', {
        success: true,
        session: {
          ...examples<{ session: object }>('bodies/createSession.response')[0]?.session,
          session_id: 's2',
        },
      }),
    );
    await choose('m3', 'Branch from here');
    expect(server.bodiesOf('branchSession')).toEqual([{ message_id: 'm2' }]);
    expect([screen.getByTestId('session').textContent, field().value]).toEqual(['s2', 'Second question']);
  });

  it('of an answer rewinds and branches, and leaves the field alone', async () => {
    const { server } = await openChat((one) =>
      one.on('branchSession', {
        success: true,
        session: {
          ...examples<{ session: object }>('bodies/createSession.response')[0]?.session,
          session_id: 's2',
        },
      }),
    );
    fireEvent.change(field(), { target: { value: 'a draft' } });
    await choose('m4', 'Rewind to before this…');
    await userEvent.click(screen.getByRole('button', { name: 'Rewind without files' }));
    await settle();
    expect(server.bodiesOf('rewindSession')).toMatchObject([{ message_id: 'm4', files: false }]);
    expect(field().value).toBe('a draft');
    await choose('m2', 'Branch from here');
    expect(server.bodiesOf('branchSession')).toEqual([{ message_id: 'm2' }]);
    expect([screen.getByTestId('session').textContent, field().value]).toEqual(['s2', '']);
  });

  it('a branch shows what became of the calls that it has copies of', async () => {
    const toolCall = {
      tool_call_id: 't1',
      tool_id: 't1',
      tool_name: 'write_file',
      tool_params: { path: 'a.md' },
    };
    await openChat((one) => {
      one.on('listMessages', {
        success: true,
        messages: [said[0], { ...said[1], tool_calls: [toolCall] }],
        next_cursor: null,
      });
      one.on('history', ({ url }) => ({
        success: true,
        executions: url.includes('run_id=r1') ? [written('t1', 'r1', 'a.md')] : [],
        next_cursor: null,
      }));
    });
    expect(transcript().textContent).toContain('Wrote a.md');
    expect(transcript().textContent).not.toContain('Not started');
  });

  it('branches from the first message to a new conversation', async () => {
    const { server } = await openChat();
    await choose('m1', 'Branch from here');
    expect(server.bodiesOf('branchSession')).toEqual([]);
    expect([screen.getByTestId('session').textContent, field().value]).toEqual(['new', 'First question']);
  });
});

describe('[AG-6] rewinding', () => {
  const preview = (change: object = {}) => ({
    ...examples<object>('bodies/previewRewind.response')[0],
    ...change,
  });

  it('shows files first, then puts them back and brings the text back into the field', async () => {
    const { server } = await openChat((one) => {
      one.on('previewRewind', preview());
      const command = { tool_name: 'execute_command', tool_params: { command: 'npm', args: ['test'] } };
      one.on('history', {
        success: true,
        executions: [{ ...written('0199f3a0-7c1e-7b4a-9d20-000000000100', 'r2', ''), ...command }],
        next_cursor: null,
      });
    });
    await choose('m3', 'Rewind to before this…');
    const dialog = screen.getByRole('dialog', { hidden: true });
    for (const part of [
      'This message and all that follow leave',
      'src/config.ts put back',
      'notes/plan.md removed',
      'Ran npm test', // not the tool's name
    ])
      expect(dialog.textContent).toContain(part);
    expect(server.bodiesOf('rewindSession')).toEqual([]);
    await userEvent.click(screen.getByText('Rewind and put files back'));
    await settle();
    expect(server.bodiesOf('rewindSession')).toEqual([{ message_id: 'm3', files: true, force: false }]);
    expect(screen.queryByRole('dialog', { hidden: true })).toBeNull();
    expect(field().value).toBe('Second question');
  });

  it('[RN-3] overwrites a later change only after a second yes', async () => {
    const { server } = await openChat((one) => one.on('previewRewind', preview()));
    server.on('rewindSession', ({ body }) => {
      if ((body as { force: boolean }).force)
        return { success: true, session_id: 's1', message_id: 'm3', messages: 2, files: [] };
      throw new Refused(409, 'UNDO_CONFLICT');
    });
    await choose('m3', 'Rewind to before this…');
    await userEvent.click(screen.getByText('Rewind and put files back'));
    await settle();
    expect(screen.getByRole('alert', { hidden: true }).textContent).toContain('UNDO_CONFLICT');
    await userEvent.click(screen.getByText('Put back anyway, and lose the later changes'));
    await settle();
    expect(server.bodiesOf('rewindSession')).toMatchObject([{ force: false }, { force: true }]);
  });

  it('without a runner, only the conversation can go back', async () => {
    const { server } = await openChat((one) => one.on('previewRewind', preview({ runner_connected: false })));
    await choose('m3', 'Rewind to before this…');
    expect(document.body.textContent).toContain('No runner is connected');
    expect(screen.queryByText('Rewind and put files back')).toBeNull();
    await userEvent.click(screen.getByText('Rewind without files'));
    await settle();
    expect(server.bodiesOf('rewindSession')).toMatchObject([{ files: false }]);
  });

  it('folds what was rewound, now and after a reload', async () => {
    const { server } = await openChat();
    const folded = '2 messages were rewound. The agent no longer reads them.';
    await server.emit(event('session.rewound', { ...place, message_id: 'm3', messages: 2 }));
    expect(transcript().textContent).toContain(folded);
    expect(transcript().textContent).not.toContain('Second answer');
    await userEvent.click(screen.getByRole('button', { name: 'Show them' }));
    expect(transcript().textContent).toContain('Second answer');
    expect(screen.getAllByRole('button', { name: 'Actions for this message' })).toHaveLength(2);
    cleanup();
    const rewound = said.map((one, index) => (index < 2 ? one : { ...one, rewound: true }));
    await openChat((one) => one.on('listMessages', { success: true, messages: rewound, next_cursor: null }));
    expect(transcript().textContent).toContain(folded);
  });
});

describe('[AG-6] the changes of a run', () => {
  const withChanges = (files: readonly ChangedFile[]) => (server: TestServer) => {
    server.on('history', {
      success: true,
      executions: [written('t1', 'r2', 'a.md'), written('t2', 'r1', 'b.md')],
      next_cursor: null,
    });
    server.on('runChanges', { success: true, run_id: 'r2', files });
    server.on('undoRun', { success: true, run_id: 'r2', files: [] });
  };
  const summaries = () => [...document.querySelectorAll<HTMLElement>('.run-summary')];

  it('stand at the end of each run; those of earlier runs are read when somebody looks', async () => {
    const { server } = await openChat(withChanges([changed('a.md'), changed('c.md')]));
    expect(summaries().map(({ textContent }) => textContent)).toEqual([
      '1 file changed',
      '2 files changed+4 −2Undo all',
    ]);
    expect(server.requests.filter(({ route }) => route === 'runChanges').map(({ url }) => url)).toEqual([
      '/my/runs/r2/changes',
    ]);
    await userEvent.click(screen.getByRole('button', { name: '1 file changed' }));
    await settle();
    expect(server.requests.filter(({ route }) => route === 'runChanges')).toHaveLength(2);
  });

  it('are not shown while the run is under way, nor where nothing changed', async () => {
    const { server } = await openChat(withChanges([]));
    expect(summaries()).toHaveLength(1); // the summary of the earlier run, whose changes were not loaded
    await server.emit(event('agent.state', { ...place, run_id: 'r2', state: 'thinking' }));
    expect(summaries()).toHaveLength(1);
  });

  it('show the diff of each file over the whole run', async () => {
    await openChat(
      withChanges([changed('a.md'), changed('c.md', { diff: null, added: null, removed: null })]),
    );
    await userEvent.click(screen.getByRole('button', { name: /^2 files changed/ }));
    await userEvent.click(screen.getByRole('button', { name: /^a\.md/ }));
    expect(document.querySelector('.diff')?.textContent).toContain('new');
    await userEvent.click(screen.getByRole('button', { name: /^c\.md/ }));
    expect(document.body.textContent).toContain('The diff is not kept.');
  });

  it('are undone with two clicks', async () => {
    const { server } = await openChat(withChanges([changed('a.md'), changed('c.md')]));
    await userEvent.click(screen.getByRole('button', { name: 'Undo all' }));
    expect(server.bodiesOf('undoRun')).toEqual([]);
    server.on('runChanges', { success: true, run_id: 'r2', files: [changed('a.md', { undone: true })] });
    await userEvent.click(screen.getByRole('button', { name: 'Put 2 files back' }));
    await settle();
    expect(server.bodiesOf('undoRun')).toEqual([{ force: false }]);
    expect(document.body.textContent).toContain('Undone: the files are as they were before this run.');
  });

  it('are undone with two keys: u, Enter', async () => {
    const { server } = await openChat(withChanges([changed('a.md')]));
    fireEvent.keyDown(document.body, { key: 'u', code: 'KeyU' });
    expect(document.activeElement?.textContent).toBe('Put 1 file back');
    await userEvent.keyboard('{Enter}');
    await settle();
    expect(server.bodiesOf('undoRun')).toEqual([{ force: false }]);
  });

  it('typing a u in the field undoes nothing, and Escape steps back', async () => {
    const { server } = await openChat(withChanges([changed('a.md')]));
    await userEvent.type(field(), 'u');
    expect(screen.queryByRole('button', { name: 'Put 1 file back' })).toBeNull();
    await userEvent.click(screen.getByRole('button', { name: 'Undo all' }));
    await userEvent.keyboard('{Escape}');
    expect(screen.getByRole('button', { name: 'Undo all' })).toBeTruthy();
    expect(server.bodiesOf('undoRun')).toEqual([]);
  });

  it('[RN-3] one file can be undone, and forced where it was changed since', async () => {
    const { server } = await openChat(withChanges([changed('a.md'), changed('c.md')]));
    server.on('undoRun', ({ body }) => {
      if ((body as { force: boolean }).force) return { success: true, run_id: 'r2', files: [] };
      throw new Refused(409, 'UNDO_CONFLICT');
    });
    await userEvent.click(screen.getByRole('button', { name: /^2 files changed/ }));
    await userEvent.click(screen.getAllByRole('button', { name: 'Undo' })[1] as HTMLElement);
    await userEvent.click(screen.getByRole('button', { name: 'Put it back' }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('UNDO_CONFLICT');
    await userEvent.click(screen.getByRole('button', { name: 'Undo anyway, and lose the later changes' }));
    await settle();
    expect(server.bodiesOf('undoRun')).toEqual([
      { path: 'c.md', force: false },
      { path: 'c.md', force: true },
    ]);
  });
});
