// @vitest-environment happy-dom
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RouteName, routes } from '@countersign/protocol';
import { act, cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { App } from './app.tsx';
import { tokenStorage } from './sign-in.ts';

const fixtures = join(import.meta.dirname, '../../../packages/protocol/fixtures/bodies');
const example = (route: string) =>
  JSON.parse(readFileSync(join(fixtures, `${route}.response.json`), 'utf8'))[0];

const turns = (ms = 0) => act(() => new Promise((resolve) => setTimeout(resolve, ms)));

/** Answers of single routes instead of their examples; a number is the status of a refusal. */
let answers: Map<RouteName | 'page-settings.json', object | number>;
let asked: string[];

beforeEach(() => {
  answers = new Map();
  asked = [];
  localStorage.clear();
  window.location.hash = '';
  vi.stubGlobal('fetch', async (input: string, init: RequestInit = {}) => {
    const path = new URL(String(input), 'http://page.test').pathname;
    if (path === '/page-settings.json') return Response.json({ first_message: '/git_status' });
    // Literal segments win: `/my/tools/metrics` is not the route of a tool.
    const [name] = (Object.keys(routes) as RouteName[])
      .filter(
        (one) =>
          routes[one].method === (init.method ?? 'GET') &&
          new RegExp(`^${routes[one].path.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
      )
      .sort((a, b) => routes[a].path.split('{').length - routes[b].path.split('{').length);
    if (name === undefined) return Response.json({}, { status: 404 });
    asked.push(name);
    const answer = answers.get(name);
    if (typeof answer === 'number') {
      return Response.json({ success: false, error: 'no', code: 'UNAUTHENTICATED' }, { status: answer });
    }
    if (routes[name].response === 'stream') {
      const body = new ReadableStream({
        start: (controller) =>
          init.signal?.addEventListener('abort', () => controller.error(new Error('closed'))),
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    }
    return Response.json(answer ?? example(name));
  });
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

async function open({ token = 'token' as string | null, code = null as string | null } = {}) {
  const tokens = tokenStorage(localStorage);
  if (token !== null) tokens.keep(token);
  render(<App tokens={tokens} code={code} />);
  for (let i = 0; i < 10; i += 1) await turns();
  return tokens;
}

describe('signed out', () => {
  it('says what to do', async () => {
    await open({ token: null });
    expect(document.body.textContent).toContain('Sign in to Countersign');
    expect(document.body.textContent).toContain('npx countersign up [DIR]');
    expect(asked).toEqual([]);
  });

  it('[RE-5] signs in with a token that the person pastes, once the server has taken it', async () => {
    const tokens = await open({ token: null });
    const field = screen.getByLabelText(/prints no link/) as HTMLInputElement;
    expect(field.type).toBe('password');
    const button = screen.getByRole('button', { name: 'Sign in' });
    answers.set('listProjects', 401);
    await userEvent.type(field, ' a.refused.token ');
    await userEvent.click(button);
    await turns();
    expect(screen.getByRole('alert').textContent).toContain('does not take that token');
    expect(tokens.read()).toBeNull();
    answers.delete('listProjects');
    await userEvent.clear(field);
    await userEvent.type(field, 'a.good.token');
    await userEvent.click(button);
    for (let i = 0; i < 10; i += 1) await turns();
    expect(tokens.read()).toBe('a.good.token');
    expect(document.body.textContent).not.toContain('Sign in to Countersign');
    expect(window.location.href).not.toContain('a.good.token');
  });

  it('[RE-5] signs in with the code of the link', async () => {
    const tokens = await open({ token: null, code: 'the-code-of-the-link' });
    expect(asked[0]).toBe('signIn');
    expect(tokens.read()).toBe(example('signIn').token);
    expect(screen.getByRole('main')).toBeTruthy();
  });

  it('[RE-5] says that a link did not work', async () => {
    answers.set('signIn', 401);
    await open({ token: null, code: 'a-code-that-was-used' });
    expect(screen.getByRole('alert').textContent).toContain('That link did not work');
  });

  it('says that the sign-in has ended, and forgets the token', async () => {
    answers.set('personStream', 401);
    const tokens = await open();
    expect(screen.getByRole('alert').textContent).toContain('Your sign-in has ended');
    expect(tokens.read()).toBeNull();
  });

  it('is reached by signing out, which revokes the token', async () => {
    const tokens = await open({ token: `head.${btoa('{"jti":"token-1"}')}.signature` });
    await userEvent.click(screen.getByRole('button', { name: 'Settings' }));
    await userEvent.click(screen.getByRole('button', { name: 'Sign out' }));
    for (let i = 0; i < 10; i += 1) await turns();
    expect(document.body.textContent).toContain('Sign in to Countersign');
    expect(tokens.read()).toBeNull();
    expect(asked).toContain('revokeToken');
  });
});

describe('signed in', () => {
  it.each([
    ['#/chat', 'What should the agent do?'],
    ['#/approvals', 'Nothing waits for you'],
    ['#/history', 'Outcome'],
    ['#/metrics', 'Calls over time'],
    ['#/permissions', 'Backtest'],
    ['#/runners', 'A runner is the program on your machine'],
    ['#/history/t1', 'Back to the history'],
  ])('%s shows its screen', async (hash, text) => {
    window.location.hash = hash;
    await open();
    await vi.waitFor(() => expect(document.body.textContent).toContain(text), 5_000);
  });

  it('follows the address', async () => {
    await open();
    await act(async () => {
      window.location.hash = '#/approvals';
      window.dispatchEvent(new HashChangeEvent('hashchange'));
    });
    expect(document.body.textContent).toContain('Nothing waits for you');
  });

  it('begins a conversation with what the server suggests, and goes to it', async () => {
    await open();
    const suggestion = screen.getByRole('button', { name: '/git_status' });
    await userEvent.click(suggestion);
    await userEvent.click(screen.getByRole('button', { name: 'Send' }));
    for (let i = 0; i < 10; i += 1) await turns();
    expect(window.location.hash).toBe(`#/chat/${example('createSession').session.session_id}`);
  });

  it('says when there is no project yet', async () => {
    answers.set('listProjects', { success: true, projects: [] });
    await open();
    expect(document.body.textContent).toContain('No project yet');
    expect(document.body.textContent).toContain('npx countersign connect DIR');
  });

  it('picks among several projects', async () => {
    const [project] = example('listProjects').projects;
    answers.set('listProjects', {
      success: true,
      projects: [
        { ...project, project_id: 'p1', name: 'One' },
        { ...project, project_id: 'p2', name: 'Two' },
      ],
    });
    window.location.hash = '#/history';
    await open();
    const [picker] = screen.getAllByLabelText('Project');
    await userEvent.selectOptions(picker as HTMLElement, 'Two');
    expect(window.location.hash).toBe('#/chat');
  });

  it('shows the keys', async () => {
    await open();
    await userEvent.click(screen.getByRole('button', { name: 'Settings' }));
    await userEvent.click(screen.getByRole('button', { name: /Keyboard shortcuts/ }));
    expect(document.querySelector('dialog')?.textContent).toContain('half a second');
  });
});
