// @vitest-environment happy-dom
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Observable } from '@countersign/approvals';
import { type RouteName, routes } from '@countersign/protocol';
import { ComposerInserts } from '@countersign/ui';
import { act, cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { EditorChoices, FromPage, PagePlace } from '../chat/messages.ts';
import { wordsFor } from '../words.ts';
import { ChatPage } from './chat-page.tsx';
import { PageLocation } from './page-location.ts';
import { ToolRequests } from './tool-requests.ts';

const fixtures = join(import.meta.dirname, '../../../../packages/protocol/fixtures/bodies');
const example = (route: string) =>
  JSON.parse(readFileSync(join(fixtures, `${route}.response.json`), 'utf8'))[0];

let letGo = () => {};
afterEach(() => {
  cleanup();
  letGo();
});

/** Every route answers with its example. */
const answers: typeof fetch = async (input, init = {}) => {
  const path = new URL(String(input), 'http://page.test').pathname;
  const [name] = (Object.keys(routes) as RouteName[])
    .filter(
      (one) =>
        routes[one].method === (init.method ?? 'GET') &&
        new RegExp(`^${routes[one].path.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
    )
    .sort((a, b) => routes[a].path.split('{').length - routes[b].path.split('{').length);
  if (name === undefined) return Response.json({}, { status: 404 });
  if (routes[name].response !== 'stream') return Response.json(example(name));
  const body = new ReadableStream({
    start: (controller) =>
      init.signal?.addEventListener('abort', () => controller.error(new Error('closed'))),
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
};

async function open(place: PagePlace, hash = '#/chat', server = answers) {
  const posted: FromPage[] = [];
  /** Which conversations the page said that it shows. */
  const shown: FromPage[] = [];
  const toolRequests = new ToolRequests((message) => posted.push(message));
  const location = new PageLocation(hash);
  const project = new Observable<string | null>(null);
  const choices = new Observable<EditorChoices>({ model: null, mode: 'ask' });
  const retries = new Observable(0);
  const inserts = new ComposerInserts();
  letGo = location.takeLinks(document);
  render(
    <ChatPage
      place={place}
      location={location}
      words={wordsFor('en')}
      device="the editor"
      fetch={server}
      executeTool={toolRequests.executeTool}
      project={project}
      choices={choices}
      retries={retries}
      inserts={inserts}
      findMentions={async (projectId, typed) => [{ text: `@${projectId}/${typed}.ts`, detail: '' }]}
      post={(message) => (message.type === 'at' ? shown : posted).push(message)}
    />,
  );
  for (let i = 0; i < 10; i += 1) await act(() => new Promise((resolve) => setTimeout(resolve, 0)));
  return { posted, shown, project, choices, retries, inserts, location, toolRequests };
}

const here = { project_id: 'p1', name: 'One', workspace: '/one' };
const there = { project_id: 'p2', name: 'Two', workspace: '/two' };

describe('the chat in the side bar', () => {
  it.each([
    ['signed-out', 'Sign In', 'signIn'],
    ['signed-out', 'Start Local Server', 'startLocalServer'],
    ['no-folder', 'Open Folder', 'openFolder'],
  ] as const)('%s offers "%s"', async (state, button, command) => {
    const { posted } = await open({ state });
    await userEvent.click(screen.getByRole('button', { name: button }));
    expect(posted).toEqual([{ type: 'command', command }]);
  });

  it('says why it cannot connect', async () => {
    await open({ state: 'failed', problem: 'The home is no workspace.' });
    expect(screen.getByRole('alert').textContent).toBe('The home is no workspace.');
    // Another server may be the way out.
    expect(screen.getAllByRole('button').map(({ textContent }) => textContent)).toEqual([
      'Retry Now',
      'Sign In',
      'Start Local Server',
    ]);
  });

  it.each([
    ['untrusted', 'until you trust this workspace', 'Manage Workspace Trust', 'manageTrust'],
    ['disabled', 'countersign.runner.enabled is off', 'Open the Setting', 'openRunnerSetting'],
  ] as const)(
    '%s: says what to do in the editor, and no command',
    async (whyNoRunner, why, button, command) => {
      const project = { ...here, whyNoRunner };
      const { posted } = await open({ state: 'open', server: 's', projects: [project] });
      await vi.waitFor(() => expect(document.body.textContent).toContain(why));
      expect(document.body.textContent).not.toContain('countersign connect');
      await userEvent.click(screen.getByRole('button', { name: button }));
      expect(posted).toEqual([{ type: 'command', command }]);
    },
  );

  it('says that the server is away', async () => {
    const away: typeof fetch = async (input, init) => {
      if (String(input).includes('/stream')) throw new TypeError('away');
      return answers(input, init);
    };
    await open({ state: 'open', server: 's', projects: [here] }, '#/chat', away);
    const isSaid = () => expect(document.body.textContent).toContain('The connection to the server is lost.');
    await vi.waitFor(isSaid, 10_000);
  });

  it('[UI-2] offers to connect at once and to start a server, and resets the back-off', async () => {
    let tries = 0;
    const away: typeof fetch = async (input, init) => {
      if (!String(input).includes('/stream')) return answers(input, init);
      tries += 1;
      throw new TypeError('away');
    };
    const { posted, retries } = await open({ state: 'open', server: 's', projects: [here] }, '#/chat', away);
    const retry = await screen.findByRole('button', { name: 'Retry now' }, { timeout: 10_000 });
    await userEvent.click(retry);
    await userEvent.click(screen.getByRole('button', { name: 'Start Local Server' }));
    expect(posted).toEqual([
      { type: 'command', command: 'retryNow' },
      { type: 'command', command: 'startLocalServer' },
    ]);
    const before = tries;
    await act(async () => retries.set(1)); // the extension has started a server, or signed in
    await vi.waitFor(() => expect(tries).toBeGreaterThan(before), 500);
  });

  it('[UI-2] puts text of a command into the message field; a request to fix is sent at once', async () => {
    const sent: string[] = [];
    const server: typeof fetch = async (input, init) => {
      if (init?.method === 'POST' && String(input).includes('/messages')) sent.push(String(init.body));
      return answers(input, init);
    };
    const project = { ...here, ...example('listProjects').projects[0] };
    const { inserts, choices } = await open(
      { state: 'open', server: 's', projects: [project] },
      '#/chat',
      server,
    );
    const field = screen.getByLabelText('Message') as HTMLTextAreaElement;
    await act(async () => inserts.add({ text: '@src/main.ts#L3-9 ', send: false }));
    expect(field.value).toBe('@src/main.ts#L3-9 ');
    await userEvent.type(field, 'why?');
    // A draft is kept, and nothing is sent without the person.
    await act(async () => inserts.add({ text: 'Fix this', send: true }));
    expect([field.value, sent]).toEqual(['@src/main.ts#L3-9 why? Fix this', []]);
    await userEvent.clear(field);
    await act(async () => choices.set({ model: 'openai:gpt', mode: 'read_only' }));
    await act(async () => inserts.add({ text: 'Fix this', send: true }));
    await vi.waitFor(() => expect(sent).toHaveLength(1));
    expect(JSON.parse(sent[0] ?? '')).toMatchObject({ content: 'Fix this', model: 'openai:gpt' });
  });

  it('[UI-2] a new conversation gets its mode before its first message is sent', async () => {
    const asked: string[] = [];
    const server: typeof fetch = async (input, init) => {
      const method = init?.method ?? 'GET';
      if (method !== 'GET') asked.push(`${method} ${String(input).split('/').at(-1)} ${init?.body ?? ''}`);
      return answers(input, init);
    };
    const { choices, inserts, shown } = await open(
      { state: 'open', server: 's', projects: [here] },
      '#/chat',
      server,
    );
    expect(shown).toEqual([{ type: 'at', projectId: 'p1', sessionId: null }]);
    await act(async () => choices.set({ model: null, mode: 'read_only' }));
    await act(async () => inserts.add({ text: 'Look around', send: true }));
    const { session_id } = example('changeSession').session;
    await vi.waitFor(() => expect(asked).toHaveLength(3));
    expect(asked.map((one) => one.split(' ', 2).join(' '))).toEqual([
      'POST sessions',
      `PATCH ${example('createSession').session.session_id}`,
      'POST messages',
    ]);
    expect(asked[1]).toContain('{"mode":"read_only"}');
    // The next new conversation is in the mode `ask`.
    await vi.waitFor(() =>
      expect(shown.at(-1)).toEqual({ type: 'at', projectId: 'p1', sessionId: session_id }),
    );
    expect(choices.get().mode).toBe('ask');
  });

  it('[UI-2] completes @ to a file of the chosen folder', async () => {
    await open({ state: 'open', server: 's', projects: [here] });
    const field = screen.getByLabelText('Message') as HTMLTextAreaElement;
    await userEvent.type(field, 'see @ma');
    await screen.findByRole('option', { name: '@p1/ma.ts' });
    expect(screen.getByRole('listbox').getAttribute('aria-label')).toBe('Files');
    await userEvent.keyboard('{Enter}');
    expect(field.value).toBe('see @p1/ma.ts ');
  });

  it('[UI-1] the keys of the page work', async () => {
    await open({ state: 'open', server: 's', projects: [here] });
    (document.activeElement as HTMLElement | null)?.blur();
    await userEvent.keyboard('?');
    expect(document.querySelector('dialog')?.textContent).toContain('Keyboard');
  });

  it('connects', async () => {
    await open({ state: 'connecting' });
    expect(document.body.textContent).toContain('Loading');
  });

  it('is a conversation, with the folders of the window to choose from', async () => {
    const { project, location } = await open({ state: 'open', server: 's', projects: [here, there] });
    expect(document.body.textContent).toContain('What should the agent do?');
    // The folder is shown without a click.
    await userEvent.selectOptions(screen.getByLabelText('Project'), 'Two');
    expect([project.get(), location.hash.get()]).toEqual(['p2', '#/chat']);
  });

  it('follows its own links by itself', async () => {
    const { location } = await open({ state: 'open', server: 's', projects: [here] });
    await act(async () => location.go('#/chat/s1'));
    await act(async () => document.querySelector<HTMLElement>('a[href="#/chat"]')?.click());
    expect(location.hash.get()).toBe('#/chat');
  });

  it('shows one call in full, and leaves the history to the editor', async () => {
    const { posted, location } = await open({ state: 'open', server: 's', projects: [here] }, '#/history/t1');
    await vi.waitFor(() => expect(document.body.textContent).toContain('Back to the history'));
    await act(async () => location.go('#/history'));
    expect([posted, location.hash.get()]).toEqual([[{ type: 'command', command: 'showHistory' }], '#/chat']);
  });

  it('[UI-2] sends EXECUTE_TOOL for a call that is run again, in the conversation it stands in (founding documents: implementation-plan)', async () => {
    const { posted, toolRequests } = await open(
      { state: 'open', server: 's', projects: [here, there] },
      '#/history/t1',
    );
    const { execution } = example('getExecution');
    await userEvent.click(await screen.findByRole('button', { name: 'Run again' }));
    const { tool_name: tool, tool_params: params, session_id } = execution;
    await vi.waitFor(() =>
      expect(posted).toEqual([{ type: 'EXECUTE_TOOL', id: 1, tool, params, session_id }]),
    );
    const answer = { ...example('executeTool'), tool_id: 't2', session_id };
    toolRequests.receive({ type: 'TOOL_RESULT', id: 1, answer });
    const shown = await screen.findByRole('link', { name: 'Show the new call' });
    expect(shown.getAttribute('href')).toBe(`#/chat/${session_id}/t2`);

    await userEvent.click(screen.getByRole('button', { name: 'Run again' }));
    await vi.waitFor(() => expect(posted).toMatchObject([{ id: 1 }, { id: 2 }]));
    const refused = { success: false, status: 400, code: 'COMMAND_NOT_ALLOWED', error: 'Not this one.' };
    toolRequests.receive({ type: 'TOOL_RESULT', id: 1, answer }); // the id of an answered request
    toolRequests.receive({ type: 'TOOL_RESULT', answer }); // without an id
    toolRequests.receive({ type: 'TOOL_RESULT', id: 2, answer: refused });
    expect((await screen.findByRole('alert')).textContent).toBe('Not this one.');

    await userEvent.click(screen.getByRole('button', { name: 'Run again' }));
    await vi.waitFor(() => expect(posted).toHaveLength(3));
    toolRequests.receive({ type: 'TOOL_RESULT', id: 3, answer: null });
    expect((await screen.findByRole('alert')).textContent).toBe('The extension gave no answer.');
  });

  it('waits for the first folder', async () => {
    await open({ state: 'open', server: 's', projects: [] });
    expect(document.body.textContent).toContain('Loading');
  });
});
