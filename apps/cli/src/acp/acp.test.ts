/** The official SDK's client drives whole sessions against the real server, with the real runner. */
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AnyMessage, methods } from '@agentclientprotocol/sdk';
import type { Client } from '@countersign/client';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { main } from '../main.ts';
import { fakeTerminal } from '../screen/screen-fixture.test-data.ts';
import { ServerFixture } from '../server-fixture.test-data.ts';
import { wordsFor } from '../words.ts';
import { acpCommand } from './acp-command.ts';
import { TestEditor } from './editor-fixture.test-data.ts';

const polling = { interval: 20 };
let server: ServerFixture;
let person: Client;
const editors: TestEditor[] = [];
beforeAll(async () => {
  server = await ServerFixture.start();
  person = await server.client();
});
afterEach(async () => {
  await Promise.all(editors.splice(0).map((editor) => editor.close()));
});
afterAll(() => server?.close());

const open = (options: { minimumMs?: number } = {}): TestEditor => {
  const editor = new TestEditor(server.env, options);
  editors.push(editor);
  return editor;
};
const at = (name: string) => join(server.workspace, name);
const kinds = (editor: TestEditor) => editor.asked[0]?.request.options.map(({ kind }) => kind);

describe('an editor that is not paired', () => {
  it('[AP-9] is told how to pair, may not begin, and cannot pair itself', async () => {
    const editor = open();
    const { authMethods, agentCapabilities } = await editor.initialize();
    expect(agentCapabilities).toMatchObject({ loadSession: true });
    expect(authMethods).toMatchObject([{ id: 'pair', description: expect.stringContaining('acp --pair') }]);
    await expect(editor.newSession(server.workspace)).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('countersign acp --pair'),
    });
    await expect(
      editor.agent.request(methods.agent.authenticate, { methodId: 'pair' }),
    ).rejects.toMatchObject({ code: -32_000 });
    const withTerminal = await open().initialize(true);
    expect(withTerminal.authMethods).toMatchObject([{ type: 'terminal', args: ['--pair'] }]);
  });

  it('[AP-9] is paired by the person, in a terminal', async () => {
    expect(await server.run('acp', '--pair')).toMatchObject({
      status: 2,
      error: expect.stringContaining('confirmed by you in a terminal'),
    });
    const answer = (typed: string) => {
      const terminal = fakeTerminal();
      const said = async function* () {
        yield typed;
      };
      return main(
        ['acp', '--pair', '--name', 'Zed'],
        { ...terminal, interactive: true, typed: said },
        server.env,
      );
    };
    expect([await answer('n'), await answer('y'), await answer('yes')]).toEqual([1, 0, 0]);
    const path = join(server.env.XDG_CONFIG_HOME ?? '', 'countersign', 'paired-editors.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const { tokens } = await person.listTokens();
    const zeds = tokens.filter(({ name }) => name.startsWith('Zed on'));
    // Pairing again replaces the earlier pairing.
    expect(zeds.map(({ scope, revoked_at }) => [scope, revoked_at !== null])).toEqual(
      expect.arrayContaining([
        ['front_end', false],
        ['front_end', true],
      ]),
    );
    const editor = open();
    await editor.initialize();
    expect(await editor.agent.request(methods.agent.authenticate, { methodId: 'pair' })).toEqual({});
  });
});

describe('a paired editor', () => {
  it('[UI-5] reads, shows a change as a diff, asks, and writes what was approved', async () => {
    writeFileSync(at('a.ts'), 'one\ntwo\nthree\n');
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    expect(await editor.prompt(sessionId, '/read_file path=a.ts')).toEqual({ stopReason: 'end_turn' });
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ sessionUpdate: 'tool_call', kind: 'read', title: 'Read a.ts' }),
    );
    await vi.waitFor(
      () =>
        expect(editor.updates).toContainEqual(
          expect.objectContaining({ sessionUpdate: 'tool_call_update', status: 'completed' }),
        ),
      polling,
    );
    expect(editor.said).not.toBe('');

    const prompt = editor.prompt(sessionId, '/edit_file path=a.ts old=two new=2');
    const question = await editor.question(0);
    expect(question.request.toolCall).toMatchObject({
      title: 'MEDIUM: Edit a.ts',
      locations: [{ path: at('a.ts'), line: 2 }],
      content: expect.arrayContaining([
        { type: 'diff', path: at('a.ts'), oldText: 'one\ntwo\nthree\n', newText: 'one\n2\nthree\n' },
      ]),
    });
    // Every scope that is offered elsewhere: the file and all edits, each for the session, this project and always, and the session.
    expect(kinds(editor)).toEqual([
      'allow_once',
      ...Array(7).fill('allow_always'),
      'reject_once',
      'reject_always',
    ]);
    question.choose('once');
    expect(await prompt).toEqual({ stopReason: 'end_turn' });
    expect(readFileSync(at('a.ts'), 'utf8')).toBe('one\n2\nthree\n');
    const { toolCallId } = question.request.toolCall;
    await vi.waitFor(() => expect(editor.titles(toolCallId).at(-1)).toBe('Edited a.ts'), polling);
    expect(editor.titles(toolCallId)).toEqual(expect.arrayContaining(['Edit a.ts', 'Editing a.ts']));
    expect(editor.terminal.error()).toContain('is the runner of');
    expect(editor.terminal.out()).toBe(''); // only the protocol writes to standard output
  });

  it('[EV-2] asks about a change that is too large for an event, and shows it', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const prompt = editor.prompt(sessionId, `/write_file path=large.txt content=${'large_'.repeat(20_000)}`);
    const { request, choose } = await editor.question(0);
    const shown = JSON.stringify(request.toolCall.content);
    expect(shown).toContain('large_large');
    choose('once');
    await prompt;
    expect(readFileSync(at('large.txt'), 'utf8').length).toBeGreaterThan(100_000);
  });

  it('shows what a command prints while it runs', async () => {
    writeFileSync(at('slow.js'), 'console.log("first line"); setTimeout(() => console.log("done"), 300);');
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const prompt = editor.prompt(sessionId, '/run node slow.js');
    const question = await editor.question(0);
    expect(JSON.stringify(question.request.toolCall.content)).toContain('node slow.js');
    question.choose('once');
    await prompt;
    const progress = editor.updates.filter(
      (update) => update.sessionUpdate === 'tool_call_update' && update.status === 'in_progress',
    );
    expect(JSON.stringify(progress)).toContain('first line');
  });

  it('[AP-4] grants what the option says, for the session, and is not asked again', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const first = editor.prompt(sessionId, '/write_file path=g.ts content=1');
    const question = await editor.question(0);
    const option = question.request.options.find(({ optionId }) => optionId === 'scope-0');
    expect(option?.name).toBe('Changes to g.ts in this conversation');
    question.choose('scope-0');
    await first;
    expect(await editor.prompt(sessionId, '/write_file path=g.ts content=2')).toEqual({
      stopReason: 'end_turn',
    });
    expect([editor.asked.length, readFileSync(at('g.ts'), 'utf8')]).toEqual([1, '2']);
  });

  it('[AP-5] rejects, and rejects and stops', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const prompt = editor.prompt(sessionId, '/write_file path=r.ts content=1');
    (await editor.question(0)).choose('reject');
    expect(await prompt).toEqual({ stopReason: 'end_turn' });
    const shown = () => JSON.stringify(editor.updates.filter((update) => 'toolCallId' in update));
    await vi.waitFor(() => expect(shown()).toContain('You rejected this call.'), polling);
    await editor.prompt(sessionId, '/read_file path=none.ts');
    await vi.waitFor(() => expect(shown()).toContain('does not exist'), polling);
    expect(shown()).not.toMatch(/Go on without it|Look with list_directory/); // advice for the agent
    const stopped = editor.prompt(sessionId, '/write_file path=s.ts content=1');
    (await editor.question(1)).choose('stop');
    const { stopReason } = await stopped;
    expect(['cancelled', 'end_turn']).toContain(stopReason); // the run may have ended by itself
    expect([existsSync(at('r.ts')), existsSync(at('s.ts'))]).toEqual([false, false]);
    expect(editor.updates).toContainEqual(
      expect.objectContaining({ sessionUpdate: 'tool_call_update', status: 'failed' }),
    );
  });

  it('[AP-5] stops a run that another front end has started, and asks what waited before it was opened', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const { projects } = await person.listProjects();
    const project_id = projects.find(({ workspace }) => workspace === server.workspace)?.project_id ?? '';
    const content = '/write_file path=t1.ts content=1\n/write_file path=t2.ts content=1';
    const { run_id } = await person.sendMessage({
      params: { project_id },
      body: { content, session_id: sessionId },
    });
    await editor.question(1);

    const another = open();
    await another.initialize();
    await another.newSession(server.workspace); // its events arrive before the conversation is opened
    await another.agent.request(methods.agent.session.load, {
      sessionId,
      cwd: server.workspace,
      mcpServers: [],
    });
    await another.question(1);
    another.asked[0]?.choose('stop');
    await vi.waitFor(async () => {
      const { run } = await person.getRun({ params: { run_id } });
      expect([run.status, (await person.listApprovals()).approvals]).toEqual(['stopped', []]);
    }, polling);
    await vi.waitFor(
      () => expect([...editor.asked, ...another.asked].map(({ signal }) => signal.aborted)).toContain(true),
      polling,
    );
    expect([another.asked.length, existsSync(at('t1.ts')), existsSync(at('t2.ts'))]).toEqual([
      2,
      false,
      false,
    ]);
  });

  it('is one runner with one stream for any number of sessions, and no runner once it has ended', async () => {
    const editor = open();
    await editor.initialize();
    const [first] = await Promise.all([
      editor.newSession(server.workspace),
      editor.newSession(server.workspace),
      editor.agent.request(methods.agent.session.list, { cwd: server.workspace }),
    ]);
    const prompt = editor.prompt(first, '/write_file path=once.ts content=1');
    (await editor.question(0)).choose('once');
    await prompt;
    expect(editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'tool_call').length).toBe(1);
    expect(editor.terminal.error().match(/is the runner of/g)?.length).toBe(1);
    await editor.close();
    // The next editor can become the runner.
    const next = open();
    await next.initialize();
    await next.newSession(server.workspace);
    expect(next.terminal.error()).toContain('is the runner of');
  });

  it('sends each event to one session only, even if a folder inside is open as well', async () => {
    mkdirSync(at('inside'), { recursive: true });
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    await editor.newSession(at('inside'));
    const prompt = editor.prompt(sessionId, '/write_file path=twice.ts content=1');
    (await editor.question(0)).choose('once');
    await prompt;
    const calls = editor.updates.filter(({ sessionUpdate }) => sessionUpdate === 'tool_call');
    expect([calls.length, editor.asked.length]).toEqual([1, 1]);
  });

  it('does not load a conversation again while a prompt is running in it', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const prompt = editor.prompt(sessionId, '/write_file path=busy.ts content=1');
    const question = await editor.question(0);
    const again = { sessionId, cwd: server.workspace, mcpServers: [] };
    await expect(editor.agent.request(methods.agent.session.load, again)).rejects.toThrow('still answering');
    question.choose('reject');
    expect(await prompt).toEqual({ stopReason: 'end_turn' });
  });

  it('[AP-4] withdraws questions and ignores grants when it is set to read only', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const granted = editor.prompt(sessionId, '/write_file path=v.ts content=1');
    (await editor.question(0)).choose('scope-0');
    await granted;
    const asks = editor.prompt(sessionId, '/write_file path=w.ts content=1');
    const { signal } = await editor.question(1);
    await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'read_only' });
    await asks;
    expect([signal.aborted, existsSync(at('w.ts'))]).toEqual([true, false]);
    await editor.prompt(sessionId, '/write_file path=v.ts content=2');
    expect([editor.asked.length, readFileSync(at('v.ts'), 'utf8')]).toEqual([2, '1']);
  });

  it('[RN-9] shows, reads and changes what the editor has not saved', async () => {
    writeFileSync(at('open.ts'), 'saved\nsecond\n');
    const editor = open();
    editor.unsaved = new Map([[at('open.ts'), 'unsaved\nsecond\n']]);
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    await editor.prompt(sessionId, '/read_file path=open.ts');
    await vi.waitFor(() => expect(JSON.stringify(editor.updates)).toContain('unsaved\\nsecond'), polling);

    const prompt = editor.prompt(sessionId, '/edit_file path=open.ts old=unsaved new=changed');
    const question = await editor.question(0);
    expect(question.request.toolCall.content).toEqual(
      expect.arrayContaining([
        {
          type: 'diff',
          path: at('open.ts'),
          oldText: 'unsaved\nsecond\n',
          newText: 'changed\nsecond\n',
        },
      ]),
    );
    question.choose('once');
    await prompt;
    expect([readFileSync(at('open.ts'), 'utf8'), editor.unsaved.size]).toEqual(['changed\nsecond\n', 0]);
  });

  it('[RN-10] takes over from a runner that cannot see unsaved files, and hands back', async () => {
    const runner = server.open(['connect', server.workspace, '--no-prompt']);
    await runner.screen.shows('Connected');
    writeFileSync(at('taken.ts'), 'saved\n');
    const editor = open();
    editor.unsaved = new Map([[at('taken.ts'), 'only in the editor\n']]);
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    expect(editor.terminal.error()).toContain('takes over once it is idle');
    await runner.screen.shows('is the runner of this workspace now');
    await editor.prompt(sessionId, '/read_file path=taken.ts');
    await vi.waitFor(() => expect(JSON.stringify(editor.updates)).toContain('only in the editor'), polling);
    await editor.close();
    await runner.screen.shows(`Runner for ${server.workspace}`);
    runner.screen.send('\u0003');
    expect(await runner.ended).toBe(0);
  });

  it('[AP-5] rejects with a message where the editor can show a form; leaving it decides nothing', async () => {
    const editor = open();
    editor.formAnswer = { action: 'cancel' };
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const prompt = editor.prompt(sessionId, '/write_file path=f.ts content=1');
    (await editor.question(0)).choose('reject_with_message');
    const again = await editor.question(1);
    editor.formAnswer = { action: 'accept', content: { message: ' Write g.ts instead ' } };
    again.choose('reject_with_message');
    await prompt;
    expect(editor.forms).toMatchObject([
      { mode: 'form', sessionId },
      { mode: 'form', sessionId },
    ]);
    const { executions } = await person.history({ query: { session_id: sessionId } });
    const { decision } = await person.getExecution({ params: { tool_id: executions[0]?.tool_id ?? '' } });
    expect(decision).toMatchObject({ status: 'rejected', message: 'Write g.ts instead' });
    expect(existsSync(at('f.ts'))).toBe(false);
  });

  it('has slash commands: it renames, switches the mode, exports, and puts changes back after a question', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    await vi.waitFor(
      () =>
        expect(editor.updates).toContainEqual(
          expect.objectContaining({ sessionUpdate: 'available_commands_update' }),
        ),
      polling,
    );
    const [announced] = editor.updates.filter(
      ({ sessionUpdate }) => sessionUpdate === 'available_commands_update',
    );
    expect(announced).toMatchObject({
      availableCommands: [{ name: 'undo' }, { name: 'mode' }, { name: 'rename' }, { name: 'export' }],
    });
    await editor.prompt(sessionId, '/undo');
    expect(editor.said).toContain('Nothing in this conversation can be undone.');

    await editor.prompt(sessionId, '/mode accept edits');
    expect(editor.updates).toContainEqual({
      sessionUpdate: 'current_mode_update',
      currentModeId: 'accept_edits',
    });
    writeFileSync(at('u.ts'), 'before\n');
    await editor.prompt(sessionId, '/edit_file path=u.ts old=before new=after');
    expect([editor.asked.length, readFileSync(at('u.ts'), 'utf8')]).toEqual([0, 'after\n']);
    await vi.waitFor(
      () =>
        expect(editor.updates).toContainEqual(
          expect.objectContaining({
            title: 'Edited u.ts',
            content: [{ type: 'diff', path: at('u.ts'), oldText: 'before\n', newText: 'after\n' }],
            locations: [{ path: at('u.ts'), line: 1 }],
          }),
        ),
      polling,
    );

    const kept = editor.prompt(sessionId, '/undo');
    (await editor.question(0)).choose('keep');
    await kept;
    expect(readFileSync(at('u.ts'), 'utf8')).toBe('after\n');
    const undone = editor.prompt(sessionId, '/undo');
    const question = await editor.question(1);
    expect(JSON.stringify(question.request.toolCall)).toContain('Edited u.ts');
    question.choose('undo');
    await undone;
    expect(readFileSync(at('u.ts'), 'utf8')).toBe('before\n');
    expect(editor.said).toContain('Undone: Edited u.ts');

    // Whole texts, and where the change begins.
    const change = (oldText: string | null, newText: string, line: number) =>
      expect.objectContaining({
        status: 'completed',
        content: [{ type: 'diff', path: at('v.md'), oldText, newText }],
        locations: [{ path: at('v.md'), line }],
      });
    await editor.prompt(sessionId, '/write_file {"path": "v.md", "content": "a\\nb\\nc\\n"}');
    await editor.prompt(sessionId, '/write_file {"path": "v.md", "content": "a\\nB\\nc\\n"}');
    await vi.waitFor(() => {
      expect(editor.updates).toContainEqual(change(null, 'a\nb\nc\n', 1));
      expect(editor.updates).toContainEqual(change('a\nb\nc\n', 'a\nB\nc\n', 2));
    }, polling);

    // Undoing a run restores all of its files or none.
    await editor.prompt(sessionId, '/write_file path=w1.md content=1\n/write_file path=w2.md content=2');
    writeFileSync(at('w1.md'), 'changed since\n');
    const refused = editor.prompt(sessionId, '/undo');
    (await editor.question(2)).choose('undo');
    await refused;
    expect(editor.said).toContain('Changed after the call: "w1.md"');
    expect([readFileSync(at('w1.md'), 'utf8'), readFileSync(at('w2.md'), 'utf8')]).toEqual([
      'changed since\n',
      '2',
    ]);

    await editor.prompt(sessionId, '/rename The new name');
    await editor.prompt(sessionId, '/export story.md');
    expect(readFileSync(at('story.md'), 'utf8')).toMatch(/^# The new name\n[\s\S]*- Edited u\.ts/);
    await editor.prompt(sessionId, '/export story.md');
    expect(editor.said).toContain('exists already');
    await editor.prompt(sessionId, '/mode nonsense');
    expect(editor.said).toContain('There is no mode "nonsense"');
  });

  it('queues a prompt that is sent while the agent works', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const first = editor.prompt(sessionId, '/write_file path=q1.ts content=1');
    const question = await editor.question(0);
    const second = editor.prompt(sessionId, '/read_file path=a.ts');
    await vi.waitFor(() => expect(editor.said).toContain('Queued:'), polling);
    question.choose('reject');
    expect([await first, await second]).toEqual([{ stopReason: 'end_turn' }, { stopReason: 'end_turn' }]);
    const { executions } = await person.history({ query: { session_id: sessionId } });
    expect(executions.map(({ tool_name }) => tool_name).sort()).toEqual(['read_file', 'write_file']);

    // The agent may work for another front end.
    const { projects } = await person.listProjects();
    const project_id = projects.find(({ workspace }) => workspace === server.workspace)?.project_id ?? '';
    const content = '/write_file path=q2.ts content=1';
    await person.sendMessage({ params: { project_id }, body: { content, session_id: sessionId } });
    const elsewhere = await editor.question(1);
    const third = editor.prompt(sessionId, '/read_file path=no-such-file.ts');
    await vi.waitFor(() => expect(editor.said.split('Queued:')).toHaveLength(3), polling);
    elsewhere.choose('reject');
    expect(await third).toEqual({ stopReason: 'end_turn' });
    expect(editor.said).toContain('no-such-file.ts');
  });

  it('[AG-3] cancels what is queued with the run that would have taken it', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const first = editor.prompt(sessionId, '/write_file path=q3.ts content=1');
    await editor.question(0);
    const second = editor.prompt(sessionId, '/read_file path=a.ts');
    await vi.waitFor(() => expect(editor.said).toContain('Queued:'), polling);
    await editor.agent.notify(methods.agent.session.cancel, { sessionId });
    expect([await first, await second]).toEqual([{ stopReason: 'cancelled' }, { stopReason: 'cancelled' }]);
  });

  it('[RK-1] [UI-6] asks a second time about a HIGH call, the safe answer first; it is only ever approved by itself', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    writeFileSync(at('gone.txt'), 'x');
    const prompt = editor.prompt(sessionId, '/delete_file path=gone.txt');
    const first = await editor.question(0);
    // Editors select the first option (UI-6).
    expect(kinds(editor)).toEqual(['reject_once', 'reject_always', 'allow_once']);
    first.choose('once');
    const second = await editor.question(1);
    expect(existsSync(at('gone.txt'))).toBe(true);
    expect(second.request.toolCall.title).toMatch(/^HIGH risk, second look/);
    expect(second.request.options.map(({ kind }) => kind)).toEqual(['reject_once', 'allow_once']);
    second.choose('once');
    await prompt;
    expect(existsSync(at('gone.txt'))).toBe(false);

    writeFileSync(at('kept.txt'), 'x');
    const again = editor.prompt(sessionId, '/delete_file path=kept.txt');
    (await editor.question(2)).choose('once');
    (await editor.question(3)).choose('reject');
    await again;
    expect(existsSync(at('kept.txt'))).toBe(true);
  });

  it('[AP-2] withdraws a question that was decided elsewhere', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const prompt = editor.prompt(sessionId, '/write_file path=e.ts content=1');
    const { signal } = await editor.question(0);
    const { approvals } = await person.listApprovals();
    const [{ approval_id, project_id, digest }] = approvals as [(typeof approvals)[0]];
    await person.approve({ params: { approval_id, project_id }, body: { digest: String(digest) } });
    expect(await prompt).toEqual({ stopReason: 'end_turn' });
    expect([signal.aborted, readFileSync(at('e.ts'), 'utf8')]).toEqual([true, '1']);
  });

  it('[AP-3] decides nothing by dismissing a question or by going away', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const prompt = editor.prompt(sessionId, '/write_file path=d.ts content=1');
    prompt.catch(() => {}); // the editor goes away before it is answered
    (await editor.question(0)).dismiss();
    await editor.close();
    const { approvals } = await person.listApprovals();
    expect(approvals.map(({ status, session_id }) => [status, session_id])).toEqual([['pending', sessionId]]);
    const [{ approval_id, project_id }] = approvals as [(typeof approvals)[0]];
    await person.reject({ params: { approval_id, project_id }, body: {} });
  });

  it('[UI-6] takes no approval that came sooner than anybody can read', async () => {
    const editor = open({ minimumMs: 3_600_000 }); // an hour, so that this answer is too early even on a slow machine
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const prompt = editor.prompt(sessionId, '/write_file path=q.ts content=1');
    (await editor.question(0)).choose('once');
    const again = await editor.question(1);
    expect(existsSync(at('q.ts'))).toBe(false);
    again.choose('reject'); // a rejection counts no matter how soon it comes
    await prompt;
    expect(existsSync(at('q.ts'))).toBe(false);
  });

  it('[AG-3] cancels a turn while it waits for a decision', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    const prompt = editor.prompt(sessionId, '/write_file path=c.ts content=1');
    const { signal } = await editor.question(0);
    await editor.agent.notify(methods.agent.session.cancel, { sessionId });
    expect(await prompt).toEqual({ stopReason: 'cancelled' });
    await vi.waitFor(() => expect(signal.aborted).toBe(true), polling);
    expect((await person.listApprovals()).approvals).toEqual([]);
  });

  it('has a mode in which nothing is changed', async () => {
    const editor = open();
    await editor.initialize();
    const { sessionId, modes } = await editor.agent.request(methods.agent.session.new, {
      cwd: server.workspace,
      mcpServers: [],
    });
    expect(modes?.availableModes.map(({ id }) => id)).toEqual(['ask', 'accept_edits', 'read_only']);
    await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'read_only' });
    await editor.prompt(sessionId, '/write_file path=m.ts content=1');
    expect([editor.asked.length, existsSync(at('m.ts'))]).toEqual([0, false]);
    await expect(
      editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'yolo' }),
    ).rejects.toThrow('no mode');
  });

  it('lists conversations and opens one again', async () => {
    const editor = open();
    await editor.initialize();
    const sessionId = await editor.newSession(server.workspace);
    await editor.prompt(sessionId, '/list_directory path=.');
    const another = open();
    await another.initialize();
    const { sessions } = await another.agent.request(methods.agent.session.list, { cwd: server.workspace });
    expect(sessions.map((session) => session.sessionId)).toContain(sessionId);
    await another.agent.request(methods.agent.session.load, {
      sessionId,
      cwd: server.workspace,
      mcpServers: [],
    });
    expect(another.updates[0]).toMatchObject({
      sessionUpdate: 'user_message_chunk',
      content: { text: '/list_directory path=.' },
    });
    expect(another.updates).toContainEqual(
      expect.objectContaining({
        sessionUpdate: 'tool_call',
        title: 'Listed the project root',
        status: 'completed',
      }),
    );
    // The results are drawn the same way again.
    expect(JSON.stringify(another.updates)).toContain('a.ts  ');
    await expect(
      another.agent.request(methods.agent.session.load, {
        sessionId: 'none',
        cwd: server.workspace,
        mcpServers: [],
      }),
    ).rejects.toMatchObject({ code: -32_002 });
    await expect(another.prompt('none', 'x')).rejects.toMatchObject({ code: -32_002 });
    await expect(another.prompt(sessionId, '  ')).rejects.toThrow('nothing to send');
  });

  it('starts even if the person’s own sign-in has expired, and says that there is no runner', async () => {
    const config = join(server.folder, 'config-without-sign-in');
    const folder = join(config, 'countersign');
    cpSync(join(server.env.XDG_CONFIG_HOME ?? '', 'countersign'), folder, { recursive: true });
    const credentials = join(folder, 'credentials.json');
    writeFileSync(credentials, readFileSync(credentials, 'utf8').replace(/"token":\s*"/, '$&x'));
    const editor = new TestEditor({ ...server.env, XDG_CONFIG_HOME: config });
    editors.push(editor);
    await editor.initialize();
    const workspace = join(server.folder, 'without-runner');
    mkdirSync(workspace);
    await person.createProject({ body: { name: 'without runner', workspace } });
    expect(await editor.newSession(workspace)).not.toBe('');
    expect(editor.terminal.error()).toContain('No runner is connected');
  });

  it('[AP-9] says what is left to do if the server cannot be reached when a pairing ends', async () => {
    const config = join(server.folder, 'config-of-a-server-that-is-away');
    const folder = join(config, 'countersign');
    cpSync(join(server.env.XDG_CONFIG_HOME ?? '', 'countersign'), folder, { recursive: true });
    for (const name of ['credentials.json', 'paired-editors.json']) {
      const path = join(folder, name);
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(server.address, 'http://127.0.0.1:9'));
    }
    const terminal = fakeTerminal();
    const env = { ...server.env, XDG_CONFIG_HOME: config };
    expect(await main(['acp', '--unpair', '--server', 'http://127.0.0.1:9'], terminal, env)).toBe(1);
    const id = /countersign tokens revoke (\S+)/.exec(terminal.error())?.[1];
    expect((await person.listTokens()).tokens.map(({ token_id }) => token_id)).toContain(id);
    expect(readFileSync(join(folder, 'paired-editors.json'), 'utf8')).not.toContain('127.0.0.1:9');
  });

  it('[AP-9] is not accepted any more after the pairing was ended', async () => {
    expect(await server.run('acp', '--unpair')).toMatchObject({ status: 0 });
    expect(await server.run('acp', '--unpair')).toMatchObject({ status: 2 });
    const editor = open();
    await editor.initialize();
    await expect(editor.newSession(server.workspace)).rejects.toMatchObject({ code: -32_000 });
    const { tokens } = await person.listTokens();
    const zeds = tokens.filter(({ name }) => name.startsWith('Zed on'));
    expect(zeds.map(({ revoked_at }) => revoked_at !== null)).toEqual([true, true]);
  });

  it('is a program that ends with its editor', async () => {
    const there = new TransformStream<AnyMessage>();
    const back = new TransformStream<AnyMessage>();
    const context = { terminal: fakeTerminal(), env: server.env, words: () => wordsFor({}) };
    const status = acpCommand([], context, () => ({ readable: there.readable, writable: back.writable }));
    await there.writable.close();
    expect(await status).toBe(0);
    expect((await server.run('acp', '--help')).out).toContain('--pair');
    expect(await server.run('acp', 'more')).toMatchObject({ status: 2 });
  });

  it('says what to start when no server runs', async () => {
    const nowhere = new TestEditor({ ...server.env, COUNTERSIGN_URL: 'http://127.0.0.1:9' });
    editors.push(nowhere);
    await nowhere.initialize();
    await expect(nowhere.newSession(server.workspace)).rejects.toThrow('does not answer');
  });
});
