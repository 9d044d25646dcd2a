// @vitest-environment happy-dom
import { cleanup, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it } from 'vitest';
import { openPage, Refused, settle, TestServer } from '../page-fixture.test-data.tsx';
import { type Token, TokenPanel } from './token-panel.tsx';

afterEach(cleanup);

const token = (change: Partial<Token> = {}): Token => ({
  token_id: 't1',
  name: 'Claude Code',
  scope: 'agent',
  project_id: null,
  created_at: '2026-02-21T06:19:00Z',
  expires_at: '2999-02-21T06:19:00Z',
  last_used_at: null,
  revoked_at: null,
  ...change,
});
const project = { project_id: 'p1', name: 'shop', workspace: '/shop', created_at: '2026-02-21T06:19:00Z' };

async function open(prepare: (server: TestServer) => void = () => {}, language: 'en' | 'ru' = 'en') {
  const server = new TestServer();
  server.on('listTokens', { success: true, tokens: [] });
  server.on('listProjects', { success: true, projects: [project] });
  prepare(server);
  return openPage(<TokenPanel />, { server, language });
}

describe('[AP-9] tokens', () => {
  it('lists those that work, of agents first, with what they reach', async () => {
    await open((server) =>
      server.on('listTokens', {
        success: true,
        tokens: [
          token({ token_id: 't0', name: 'browser', scope: 'person', last_used_at: '2026-02-21T06:19:00Z' }),
          token({ token_id: 't2', name: 'gone', revoked_at: '2026-02-21T06:19:00Z' }),
          token({ token_id: 't3', name: 'old', expires_at: '2020-02-21T06:19:00Z' }),
          token({ project_id: 'p1' }),
          token({ token_id: 't4', name: 'forever', expires_at: null }),
        ],
      }),
    );
    const rows = screen.getAllByRole('listitem').map(({ textContent }) => textContent);
    expect(rows.length).toBe(3);
    expect(rows[0]).toContain('Claude Codeagentshopnever used');
    expect(rows[1]).toContain('all projectsnever useddoes not end');
    expect(rows[2]).toContain('browser');
  });

  it('makes one for an agent, shows it once, and copies it', async () => {
    const copied: string[] = [];
    const user = userEvent.setup();
    Object.defineProperty(navigator, 'clipboard', {
      configurable: true,
      value: { writeText: async (text: string) => void copied.push(text) },
    });
    const { server } = await open((made) =>
      made.on('createToken', { success: true, token: 'the-token', details: token() }),
    );
    expect(screen.getByText('No tokens that work.')).toBeTruthy();
    const form = screen.getByRole('form', { name: 'Make a token for an agent' });
    const make = within(form).getByRole('button', { name: 'Make it' });
    expect(make).toHaveProperty('disabled', true);
    await user.type(within(form).getByLabelText('Program'), ' Claude Code ');
    await user.selectOptions(within(form).getByLabelText('For'), 'shop');
    await user.click(make);
    await settle();
    expect(server.bodiesOf('createToken')).toEqual([
      { name: 'Claude Code', scope: 'agent', expires_in_seconds: 90 * 24 * 3600, project_id: 'p1' },
    ]);
    expect(screen.getByText('the-token')).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'Copy the token' }));
    await settle();
    expect([copied, screen.queryByRole('button', { name: 'Copied' }) !== null]).toEqual([
      ['the-token'],
      true,
    ]);
    await user.click(screen.getByRole('button', { name: 'I have it' }));
    await settle();
    expect(screen.queryByText('the-token')).toBe(null);
  });

  it('says so when it cannot be copied, or not be made', async () => {
    const user = userEvent.setup();
    Object.defineProperty(navigator, 'clipboard', { configurable: true, value: undefined });
    let isRefused = true;
    await open((server) =>
      server.on('createToken', () => {
        if (isRefused) throw new Refused(403, 'FORBIDDEN');
        return { success: true, token: 'the-token', details: token() };
      }),
    );
    await user.type(screen.getByLabelText('Program'), 'x');
    await user.click(screen.getByRole('button', { name: 'Make it' }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('FORBIDDEN');
    isRefused = false;
    await user.click(screen.getByRole('button', { name: 'Make it' }));
    await settle();
    await user.click(screen.getByRole('button', { name: 'Copy the token' }));
    await settle();
    expect(screen.getByText(/could not be copied/)).toBeTruthy();
  });

  it('revokes at once, and says when it could not', async () => {
    const user = userEvent.setup();
    let tokens = [token()];
    const { server } = await open((made) => {
      made.on('listTokens', () => ({ success: true, tokens }));
      made.on('revokeToken', () => {
        throw new Refused(404, 'NOT_FOUND');
      });
    });
    await user.click(screen.getByRole('button', { name: 'Revoke: Claude Code' }));
    await settle();
    expect(screen.getByRole('alert').textContent).toContain('NOT_FOUND');
    server.on('revokeToken', () => {
      tokens = [];
      return { success: true };
    });
    await user.click(screen.getByRole('button', { name: 'Revoke: Claude Code' }));
    await settle();
    expect(screen.queryByText('Claude Code')).toBe(null);
    expect(server.requests.findLast(({ route }) => route === 'revokeToken')?.url).toBe('/my/tokens/t1');
  });

  it('speaks Russian', async () => {
    await open(() => {}, 'ru');
    expect(screen.getByRole('region', { name: 'Токены' })).toBeTruthy();
    expect(screen.getByRole('button', { name: 'Создать' })).toBeTruthy();
  });
});
