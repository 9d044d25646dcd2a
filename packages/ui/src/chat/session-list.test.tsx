// @vitest-environment happy-dom
import type { Session } from '@countersign/protocol';
import { cleanup, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openPage, Refused, settle, TestServer } from '../page-fixture.test-data.tsx';
import { fileNameOf } from '../text/download.ts';
import { SessionList } from './session-list.tsx';

afterEach(cleanup);

const session = (session_id: string, title: string): Session => ({
  session_id,
  project_id: 'p1',
  title,
  mode: 'ask',
  created_at: '2026-02-21T06:19:00Z',
  last_message_at: null,
});

async function openList() {
  const server = new TestServer();
  const all = [session('s1', 'Fix the tests'), session('s2', 'Write docs')];
  server.on('listSessions', ({ url }) => ({
    success: true,
    sessions: url.includes('q=') ? all.filter(({ title }) => url.includes(title.split(' ')[1] ?? '')) : all,
  }));
  const page = await openPage(<SessionList projectId="p1" current="s1" />, { server });
  return {
    ...page,
    titles: () => [...document.querySelectorAll('.session-title')].map((one) => one.textContent),
  };
}
async function choose(title: string, name: string) {
  await userEvent.click(screen.getByRole('button', { name: `More about “${title}”` }));
  await userEvent.click(screen.getByRole('menuitem', { name }));
  await settle();
}

describe('the list of conversations', () => {
  it('is searched when the person pauses', async () => {
    const { server, clock, titles } = await openList();
    await userEvent.type(screen.getByRole('searchbox', { name: 'Search conversations' }), 'docs');
    expect(server.requests.filter(({ url }) => url.includes('q='))).toEqual([]);
    await clock.advance(250);
    await settle();
    expect(titles()).toEqual(['Write docs']);
    await userEvent.clear(screen.getByRole('searchbox'));
    await userEvent.type(screen.getByRole('searchbox'), 'nowhere');
    await clock.advance(250);
    await settle();
    expect(document.body.textContent).toContain('No conversation has these words.');
    await userEvent.clear(screen.getByRole('searchbox'));
    await clock.advance(250);
    expect(titles()).toHaveLength(2);
  });

  it('renames: Enter saves, Escape leaves the title', async () => {
    const { server, titles } = await openList();
    await choose('Write docs', 'Rename');
    await userEvent.keyboard('Other{Escape}');
    expect(titles()).toContain('Write docs');
    await choose('Write docs', 'Rename');
    await userEvent.keyboard('Better docs{Enter}');
    await settle();
    expect(server.bodiesOf('changeSession')).toEqual([{ title: 'Better docs' }]);
    expect(titles()).toContain('Better docs');
  });

  it('deletes only after a question, and says why it could not', async () => {
    const { server } = await openList();
    server.on('deleteSession', () => {
      throw new Refused(409, 'RUN_ACTIVE');
    });
    await choose('Fix the tests', 'Delete…');
    const dialog = within(screen.getByRole('dialog', { hidden: true }));
    expect(dialog.getByText('Delete “Fix the tests”?')).toBeTruthy();
    expect(server.requests.some(({ route }) => route === 'deleteSession')).toBe(false);
    await userEvent.click(dialog.getByText('Delete the conversation'));
    await settle();
    expect(dialog.getByRole('alert', { hidden: true }).textContent).toContain('RUN_ACTIVE');
    server.on('deleteSession', { success: true });
    await userEvent.click(dialog.getByText('Delete the conversation'));
    await settle();
    expect(screen.queryByRole('dialog', { hidden: true })).toBeNull();
  });

  it('exports as Markdown', async () => {
    const { server } = await openList();
    server.on('history', { success: true, executions: [], next_cursor: null });
    const saved = vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:saved');
    await choose('Fix the tests', 'Export as Markdown');
    const [blob] = saved.mock.calls[0] ?? [];
    expect(await (blob as Blob).text()).toMatch(
      /^# Fix the tests\n\n## Agent.*\n\nI will run the tests first\./,
    );
    saved.mockRestore();
  });

  it('says why it could not be exported', async () => {
    const { server } = await openList();
    server.on('listMessages', () => {
      throw new Refused(404, 'NOT_FOUND');
    });
    await choose('Fix the tests', 'Export as Markdown');
    expect(screen.getByRole('alert').textContent).toContain('NOT_FOUND');
  });
});

it('a file name has letters and digits only', () => {
  expect(fileNameOf('Fix: the “tests”/../x', 'md')).toBe('Fix-the-tests-x.md');
  expect(fileNameOf('…', 'md')).toBe('conversation.md');
});
