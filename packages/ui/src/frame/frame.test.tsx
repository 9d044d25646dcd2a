// @vitest-environment happy-dom
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { useState } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ChatBar } from '../chat/chat-bar.tsx';
import { ProjectPicker } from '../chat/project-picker.tsx';
import { SessionList } from '../chat/session-list.tsx';
import {
  anApproval,
  event,
  examples,
  openPage,
  Refused,
  requestEvent,
  settle,
} from '../page-fixture.test-data.tsx';
import { languages } from '../words/words.ts';
import { AppFrame } from './app-frame.tsx';
import { ApprovalAlerts } from './approval-alerts.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { links, readLocation } from './links.ts';
import { notificationText } from './notifications.ts';
import { keepPreferences, loadPreferences, preferences, useTheme } from './preferences.ts';
import { SettingsMenu } from './settings-menu.tsx';
import { Shortcuts } from './shortcuts.tsx';

beforeEach(() => loadPreferences({ getItem: () => null }));
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const menu = <SettingsMenu onShortcuts={() => {}} onSignOut={() => {}} />;

function Themed() {
  useTheme();
  return menu;
}

function Page() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Shortcuts isHelpOpen={isOpen} onHelp={setOpen} />
      <textarea data-composer aria-label="composer" />
    </>
  );
}

function Broken(): never {
  throw new Error('broken part');
}

describe('addresses', () => {
  it.each([
    ['', { screen: 'chat', sessionId: null, toolId: null }],
    ['#/chat/s1/t1', { screen: 'chat', sessionId: 's1', toolId: 't1' }],
    ['#/approvals', { screen: 'approvals', approvalId: null }],
    ['#/approvals/a1', { screen: 'approvals', approvalId: 'a1' }],
    ['#/metrics', { screen: 'metrics' }],
    ['#/permissions', { screen: 'permissions' }],
    ['#/runners', { screen: 'runners' }],
    ['#/history', { screen: 'history', toolId: null }],
    ['#/history/t1', { screen: 'history', toolId: 't1' }],
    ['#/nonsense', { screen: 'chat', sessionId: null, toolId: null }],
  ])('%s', (hash, location) => expect(readLocation(hash)).toEqual(location));

  it('are read as they are made', () => {
    expect(readLocation(links.chat('s1', 't1'))).toEqual({ screen: 'chat', sessionId: 's1', toolId: 't1' });
    expect(readLocation(links.call('t1'))).toEqual({ screen: 'history', toolId: 't1' });
    for (const link of [
      links.inbox(),
      links.metrics(),
      links.permissions(),
      links.runners(),
      links.history(),
    ]) {
      expect(`#/${readLocation(link).screen}`).toBe(link);
    }
  });
});

describe('preferences', () => {
  it('are kept, and read again', () => {
    const kept = new Map<string, string>();
    const stop = keepPreferences({ setItem: (key, value) => void kept.set(key, value) });
    preferences.update((all) => ({ ...all, theme: 'dark', language: 'ru' }));
    stop();
    loadPreferences({ getItem: (key) => kept.get(key) ?? null });
    expect(preferences.get()).toMatchObject({ theme: 'dark', language: 'ru', diffLayout: 'unified' });
  });

  it('survive storage that is broken, foreign or refused', () => {
    loadPreferences({ getItem: () => '{' });
    expect(preferences.get().theme).toBe('system');
    loadPreferences({
      getItem: () => '{"theme":"pink","language":"xx","notify":1,"diffLayout":"split","projectId":"p"}',
    });
    expect(preferences.get()).toMatchObject({
      theme: 'system',
      language: null,
      notify: false,
      diffLayout: 'split',
      projectId: 'p',
    });
    const stop = keepPreferences({
      setItem: () => {
        throw new Error('refused');
      },
    });
    preferences.update((all) => ({ ...all, theme: 'light' }));
    stop();
    expect(preferences.get().theme).toBe('light');
  });
});

describe('the frame', () => {
  const frame = (
    <AppFrame
      chatHref="#/chat"
      location={{ screen: 'approvals', approvalId: null }}
      aside={<p>aside</p>}
      settings={<p>settings</p>}
    >
      <p>content</p>
    </AppFrame>
  );

  it('shows where one is, and how many approvals wait', async () => {
    const { server } = await openPage(frame);
    expect(screen.getByRole('link', { name: /^Approvals/ }).getAttribute('aria-current')).toBe('page');
    await server.emit(requestEvent(anApproval()));
    expect(screen.getByRole('link', { name: /Approvals.*1 approval waits/ })).toBeTruthy();
    expect(screen.getAllByRole('link').map((link) => link.getAttribute('href'))).toEqual([
      '#/chat',
      '#/approvals',
      '#/history',
      '#/metrics',
      '#/permissions',
      '#/runners',
    ]);
  });

  it('lets a keyboard skip to the content', async () => {
    await openPage(frame);
    await userEvent.keyboard('{Tab}{Enter}');
    expect(document.activeElement).toBe(screen.getByRole('main'));
  });

  it('says that the connection is lost, after a moment, and when the next try is', async () => {
    const { server, clock } = await openPage(frame);
    await server.loseConnection();
    expect(screen.getByRole('main').textContent).not.toContain('connection to the server is lost');
    await clock.advance(3_000);
    expect(screen.getByRole('main').textContent).toMatch(
      /What you see may be out of date.*Trying again (in \d+ s|now)\./,
    );
    server.isDown = false;
    await clock.advance(30_000);
    expect(screen.getByRole('main').textContent).toBe('content');
  });

  it('connects at once by "Retry now"', async () => {
    const { server, clock } = await openPage(frame);
    await server.loseConnection();
    await clock.advance(9_000); // the next try comes after several seconds
    server.isDown = false;
    await userEvent.click(screen.getByRole('button', { name: 'Retry now' }));
    await settle();
    expect(screen.getByRole('main').textContent).toBe('content');
  });

  it('says when the server refuses the page', async () => {
    const page = await openPage(frame);
    const error = { message: 'Not from there.' } as never;
    page.live.connection.set({ status: 'closed', why: 'refused', error, staleSince: 0 });
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('Not from there.');
  });
});

describe('a new approval', () => {
  it('[UI-6] is told by the title and to a screen reader, without taking the focus', async () => {
    const { server } = await openPage(<ApprovalAlerts />);
    await server.emit(requestEvent(anApproval()));
    expect(document.title).toBe('(1) Countersign');
    expect(screen.getByRole('status').textContent).toBe('New approval: Agent wants to run npm test');
    expect(document.activeElement).toBe(document.body);
    await server.emit(event('approval.resolved', { approval_id: anApproval().approval_id }));
    expect(document.title).toBe('Countersign');
  });

  it('is notified once where the person wants it, and withdrawn when it is settled', async () => {
    const shown: FakeNotification[] = [];
    class FakeNotification {
      static permission = 'granted';
      onclick: (() => void) | null = null;
      readonly close = vi.fn();
      readonly title: string;
      readonly options: NotificationOptions;
      constructor(title: string, options: NotificationOptions) {
        this.title = title;
        this.options = options;
        shown.push(this);
      }
    }
    vi.stubGlobal('Notification', FakeNotification);
    vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
    preferences.update((all) => ({ ...all, notify: true }));
    const { server } = await openPage(<ApprovalAlerts />);
    const approval = anApproval();
    await server.emit(requestEvent(approval), requestEvent(approval));
    expect(shown.map(({ title, options }) => [title, options.body])).toEqual([
      ['An approval waits for you', 'Medium risk: execute_command npm'],
    ]);
    shown[0]?.onclick?.();
    expect(window.location.hash).toBe(`#/approvals/${approval.approval_id}`);
    await server.emit(event('approval.resolved', { approval_id: approval.approval_id }));
    expect(shown[0]?.close).toHaveBeenCalled();
    vi.restoreAllMocks();
  });
});

describe('a notification', () => {
  const password = 'hunter2';
  it.each([
    ['execute_command', { command: 'git', args: ['push', `https://me:${password}@host`] }, 'git'],
    ['shell_exec', { command: `PASSWORD=${password} ./deploy` }, ''],
    ['write_file', { path: 'notes/a.md', content: password }, 'notes/a.md'],
    ['edit_file', { path: `a\u202e.md`, old: 'x', new: password }, 'a⟨U+202E⟩.md'],
    ['copy_file', { source: 'a', dest: 'b' }, 'b'],
    ['git_commit', { message: password, files: ['a'] }, ''],
    ['custom', { path: { deep: password } }, ''],
    ['write_file', { path: 'x'.repeat(300), content: '' }, `${'x'.repeat(97)}…`],
  ])('of %s names no secret', (tool_name, tool_params, what) => {
    const text = notificationText({ risk_level: 'HIGH', tool_name, tool_params }, languages.en);
    expect(text).toBe(`High risk: ${tool_name}${what && ` ${what}`}`);
  });
});

describe('settings', () => {
  const openMenu = () => userEvent.click(screen.getByRole('button', { name: 'Settings' }));

  it('change colours and language', async () => {
    await openPage(<Themed />);
    await openMenu();
    await userEvent.click(screen.getByRole('button', { name: 'Dark' }));
    expect(document.documentElement.dataset.theme).toBe('dark');
    await userEvent.click(screen.getByRole('button', { name: 'As the system' }));
    expect(document.documentElement.dataset.theme).toBeUndefined();
    await userEvent.click(screen.getByRole('button', { name: 'Русский' }));
    expect(preferences.get().language).toBe('ru');
  });

  it('ask for notifications on a click only', async () => {
    const requestPermission = vi.fn(async () => {
      stub.permission = 'granted';
      return 'granted';
    });
    const stub = { permission: 'default', requestPermission };
    vi.stubGlobal('Notification', stub);
    await openPage(menu);
    await openMenu();
    expect(requestPermission).not.toHaveBeenCalled();
    await userEvent.click(screen.getByRole('checkbox'));
    await settle();
    expect(preferences.get().notify).toBe(true);
    expect(screen.getByRole('checkbox')).toHaveProperty('checked', true);
    await userEvent.click(screen.getByRole('checkbox'));
    expect(preferences.get().notify).toBe(false);
  });

  it('say when the browser blocks notifications, or has none', async () => {
    vi.stubGlobal('Notification', { permission: 'denied' });
    await openPage(menu);
    await openMenu();
    expect(document.body.textContent).toContain('blocked for this page');
    cleanup();
    vi.stubGlobal('Notification', undefined);
    await openPage(menu);
    await openMenu();
    expect(screen.queryByRole('checkbox')).toBeNull();
  });
});

describe('shortcuts', () => {
  it('? explains them, / goes to the composer, and neither disturbs typing', async () => {
    await openPage(<Page />);
    await userEvent.keyboard('?');
    expect(screen.getByRole('dialog', { hidden: true }).textContent).toContain('Approve this one');
    await userEvent.click(screen.getByText('Close'));
    await settle();
    await userEvent.keyboard('/');
    expect(document.activeElement).toBe(screen.getByLabelText('composer'));
    await userEvent.keyboard('jk?/');
    expect(screen.getByLabelText('composer')).toHaveProperty('value', 'jk?/');
    screen.getByLabelText('composer').blur();
    await userEvent.keyboard('x{Control>}j{/Control}k');
    expect(document.activeElement).toBe(document.body);
  });
});

describe('a part that fails', () => {
  it('says so instead of taking the page away', () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    render(
      <ErrorBoundary>
        <Broken />
      </ErrorBoundary>,
    );
    expect(screen.getByRole('alert').textContent).toContain('broken part');
    expect(screen.getByRole('button', { name: 'Reload the page' })).toBeTruthy();
    log.mockRestore();
  });
});

describe('conversations', () => {
  const session = (id: string, title: string, at: string) => ({
    session_id: id,
    project_id: 'p1',
    title,
    created_at: '2026-02-20T06:00:00Z',
    last_message_at: at,
  });

  it('are listed, the last used first, with a mark where one waits', async () => {
    const page = await openPage(<SessionList projectId="p1" current="s1" />);
    page.server.on('listSessions', {
      success: true,
      sessions: [session('s1', 'Older', '2026-02-20T06:00:00Z'), session('s2', '', '2026-02-21T06:00:00Z')],
    });
    await page.server.emit(
      event('message.created', { role: 'user' }),
      requestEvent(anApproval({ session_id: 's2' })),
    );
    await page.clock.advance(500);
    await settle();
    const list = screen.getAllByRole('listitem').map(({ textContent }) => textContent);
    expect(list[0]).toContain('Untitled');
    expect(list[0]).toContain('Waits for you');
    expect(list[1]).toContain('Older');
    expect(screen.getByRole('link', { name: /Older/ }).getAttribute('aria-current')).toBe('true');
    expect(screen.getByRole('link', { name: 'New conversation' }).getAttribute('href')).toBe('#/chat');
  });

  it('say when they could not be read', async () => {
    const page = await openPage(<p />);
    page.server.on('listSessions', () => {
      throw new Refused(500, 'INTERNAL');
    });
    cleanup();
    await openPage(<SessionList projectId="p1" current={null} />, { server: page.server });
    expect(document.body.textContent).toContain('That could not be read.');
  });

  it('are behind a button on a phone', async () => {
    await openPage(<ChatBar>the list</ChatBar>);
    await userEvent.click(screen.getByRole('button', { name: 'Conversations' }));
    expect(document.body.textContent).toContain('the list');
  });

  it('belong to a project, which can be picked when there are several', async () => {
    const [example] = examples<{
      projects: { project_id: string; name: string; workspace: string | null; created_at: string }[];
    }>('bodies/listProjects.response');
    const one = {
      ...example?.projects[0],
      project_id: 'p1',
      name: 'One',
      workspace: '/one',
      created_at: '2026-02-21T06:00:00Z',
    };
    const two = { ...one, project_id: 'p2', name: 'Two', workspace: null };
    const onPick = vi.fn();
    const { rerender } = render(<ProjectPicker projects={[one, two]} current="p1" onPick={onPick} />);
    await userEvent.selectOptions(screen.getByLabelText('Project'), 'Two');
    expect(onPick).toHaveBeenCalledWith('p2');
    rerender(<ProjectPicker projects={[one]} current="p1" onPick={onPick} />);
    expect(document.body.textContent).toContain('One/one');
  });
});
