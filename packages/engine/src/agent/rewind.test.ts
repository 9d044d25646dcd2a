import { AgentFixture, codeOf, hangs, ScriptedModel, settle, toolCall } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { SessionRow } from '../rows.ts';
import { readRunChanges, undoRun } from '../undo/run-changes.ts';
import { branchSession, branchTitle } from './branch.ts';
import { readConversation } from './conversation.ts';
import { deleteSession } from './delete-session.ts';
import { previewRewind, rewindSession } from './rewind.ts';

const write = (path: string, content: string) => toolCall('write_file', { path, content, mode: 'write' });
const test = toolCall('execute_command', { command: 'npm', args: ['test'] });

let agent: AgentFixture;
let model: ScriptedModel;
let session: SessionRow;
const files = new Map<string, string>();

/** The person asks twice: the first run writes a.md, the second writes it twice, runs a test and writes b.md. */
beforeEach(async () => {
  files.clear();
  model = new ScriptedModel([
    [write('a.md', '1')],
    ['One.'],
    { attempts: [[write('a.md', '2')], ['Again.']] },
    [test],
    [write('b.md', 'b')],
    [write('a.md', '3')],
    ['Three.'],
    ['Four.'],
  ]);
  agent = await AgentFixture.open({
    model,
    tools: {
      write_file: ({ path, content }) => {
        const before = files.get(String(path));
        files.set(String(path), String(content));
        const operation = before === undefined ? 'created' : 'modified';
        const diff = `-${before ?? ''}\n+${content}\n`;
        const told = { path: String(path), operation, diff, truncated: false, added: 1, removed: 1 } as const;
        const result = { success: true, changed_files: [{ path: String(path), operation }] };
        return { status: 'completed', result: result as never, run_changes: [told] };
      },
      execute_command: () => ({ status: 'completed', result: { success: true, exit_code: 0 } }),
    },
  });
  session = agent.session;
  await agent.say('First.');
  await agent.clock.advance(1_000);
  await agent.say('Second.');
  expect((await agent.messages()).length).toBe(14);
});

const deps = (node = agent.node) => ({
  store: node.store,
  bus: agent.bus,
  clock: agent.clock,
  presence: node.engine.presence,
});
const messageWith = async (text: string) => {
  const found = (await agent.messages()).find(({ content }) => content === text);
  if (!found) throw new Error(`There is no message "${text}".`);
  return found;
};
const rewindTo = async (text: string, over: { files?: boolean; force?: boolean } = {}) =>
  rewindSession(deps(), agent.person, session, {
    messageId: (await messageWith(text)).id,
    files: true,
    force: false,
    ...over,
  });
const rewound = async () =>
  (await agent.messages()).flatMap(({ content, role, rewound_at }) =>
    rewound_at === null ? [] : [role === 'user' ? content : role],
  );
const toolIds = (...indexes: number[]) => indexes.map((index) => agent.runner.executed[index]?.toolId);

describe('[AG-6] rewinding', () => {
  it('lists first what would be put back, and what would stay', async () => {
    const preview = await previewRewind(deps(), session, (await messageWith('Second.')).id);
    expect(preview).toEqual({
      messages: 10,
      files: [
        { path: 'a.md', operation: 'modified', tool_ids: toolIds(4, 1) },
        { path: 'b.md', operation: 'deleted', tool_ids: toolIds(3) },
      ],
      kept: [{ tool_id: toolIds(2)[0], tool_name: 'execute_command', status: 'completed' }],
      runner_connected: true,
    });
    expect(agent.runner.undos).toEqual([]);
    const all = await previewRewind(deps(), session, (await messageWith('First.')).id);
    expect(all.files[0]).toEqual({ path: 'a.md', operation: 'deleted', tool_ids: toolIds(4, 1, 0) });
  });

  it('undoes the calls since as one, newest first, then marks the messages; the agent goes on from there', async () => {
    const screen = await agent.listen();
    expect(await rewindTo('Second.')).toMatchObject({
      messages: 10,
      files: [{ path: 'a.md' }, { path: 'b.md' }],
    });
    expect(agent.runner.undos).toEqual([toolIds(4, 3, 1)]);
    expect(await rewound()).toEqual([
      'Second.',
      ...['assistant', 'tool', 'assistant', 'tool', 'assistant', 'tool', 'assistant', 'tool', 'assistant'],
    ]);
    expect(await screen.last('session.rewound')).toMatchObject({ session_id: session.id, messages: 10 });
    const undone = screen.all('tool.result').filter(({ undo_id }) => undo_id !== undefined);
    expect(undone.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);

    await agent.say('Third.');
    const asked = model.requests.at(-1)?.request.messages ?? [];
    expect(asked.flatMap((message) => ('text' in message ? [message.text] : []))).toEqual([
      'First.',
      '',
      'One.',
      'Third.',
    ]);
    expect((await agent.transcript()).slice(-2)).toEqual(['user: Third.', 'assistant: Again.']);
    expect(agent.node.errors).toEqual([]);
  });

  it('to an answer in the middle of a run takes only what came after it', async () => {
    const answers = (await agent.messages()).filter(({ role }) => role === 'assistant');
    const messageId = answers[4]?.id ?? '';
    await rewindSession(deps(), agent.person, session, { messageId, files: true, force: false });
    expect(agent.runner.undos).toEqual([toolIds(4, 3)]);
    expect((await rewound()).length).toBe(5);
  });

  it('without files is a retry: nothing is undone', async () => {
    expect(await rewindTo('Second.', { files: false })).toEqual({ messages: 10, files: [] });
    expect(agent.runner.undos).toEqual([]);
    await agent.say('Second, please.');
    expect((await agent.transcript()).at(-1)).toBe('assistant: Again.');
  });

  it('again does nothing, also when newer messages follow', async () => {
    await rewindTo('Second.');
    await agent.say('Third.');
    expect(await rewindTo('Second.')).toEqual({ messages: 0, files: [] });
    const preview = await previewRewind(deps(), session, (await messageWith('Second.')).id);
    expect(preview).toMatchObject({ messages: 0, files: [] });
    expect((await rewound()).length).toBe(10);
    expect(agent.runner.undos.length).toBe(1);
  });

  it('is refused while a run is under way, and says what to do', async () => {
    const busy = await AgentFixture.open({ model: new ScriptedModel([[hangs]]) });
    await busy.say('Work.');
    const [message] = await busy.messages();
    const { node } = busy;
    const edges = { store: node.store, bus: busy.bus, clock: busy.clock, presence: node.engine.presence };
    const rewind = { messageId: message?.id ?? '', files: true, force: false };
    expect(await codeOf(rewindSession(edges, busy.person, busy.session, rewind))).toBe('RUN_ACTIVE');
    expect(await codeOf(deleteSession(edges, busy.person, busy.session.id))).toBe('RUN_ACTIVE');
    expect((await busy.messages())[0]?.rewound_at).toBeNull();
  });

  it('says which file was changed since, marks nothing then, and does it when forced', async () => {
    const message = 'Changed after the call: "a.md". Undo would lose that.';
    agent.runner.undo = ({ force }) =>
      force
        ? { status: 'completed', result: { success: true } }
        : { status: 'failed', error: { code: 'UNDO_CONFLICT', message } };
    await expect(rewindTo('Second.')).rejects.toMatchObject({ code: 'UNDO_CONFLICT', message });
    expect(await rewound()).toEqual([]);
    expect(await rewindTo('Second.', { force: true })).toMatchObject({ messages: 10 });
  });

  it('[AP-9] a runner cannot sign the person out with its refusal', async () => {
    const error = { code: 'UNAUTHENTICATED', message: 'Sign in.' };
    agent.runner.undo = () => ({ status: 'failed', error });
    await expect(rewindTo('Second.')).rejects.toMatchObject({
      code: 'EXECUTION_FAILED',
      message: 'Sign in.',
    });
  });

  it('needs a runner for the files, and gives up waiting for one that does not answer', async () => {
    agent.runner.undo = () => undefined;
    const waiting = codeOf(rewindTo('Second.'));
    await agent.clock.advance(26_000);
    expect(await waiting).toBe('UNDO_UNANSWERED');
    expect(await rewound()).toEqual([]);
    agent.node.die();
    await agent.clock.advance(120_000);
    await agent.startNode({ withRunner: false });
    expect(await codeOf(rewindTo('Second.'))).toBe('NO_RUNNER');
    expect(await rewindTo('Second.', { files: false })).toMatchObject({ messages: 10 });
  });

  it('[AG-2] a server that dies after the files are back: repeating it only marks the messages', async () => {
    const { node } = agent;
    agent.runner.undo = () => {
      // The runner's report is still stored, but nothing after it.
      const commits = node.store.commits;
      node.store.onWrite = (moment, commit) => {
        if (moment === 'after' && commit > commits) node.die();
      };
      return { status: 'completed', result: { success: true } };
    };
    void rewindTo('Second.');
    await settle();
    expect(node.store.isDead).toBe(true);
    expect(await rewound()).toEqual([]);

    await agent.startNode();
    expect(await rewindTo('Second.')).toEqual({ messages: 10, files: [] });
    expect(agent.runner.undos.length).toBe(1);
  });

  it('leaves messages alone that were sent and answered while files were put back', async () => {
    const { undo } = agent.runner;
    agent.runner.undo = () => undefined;
    const rewinding = codeOf(rewindTo('Second.'));
    await settle();
    await agent.say('Third.'); // writes nothing, and its run has ended
    agent.runner.undo = undo;
    const asked = agent.runner.undos[0] ?? [];
    await agent.store.write(function* (tx) {
      for (const id of asked) yield* tx.update('tool_executions', id, { undone_at: 1 });
    });
    await agent.clock.advance(2_000);
    expect(await rewinding).toBe('RUN_ACTIVE');
    expect(await rewound()).toEqual([]);
    expect(await rewindTo('Second.')).toMatchObject({ messages: 12, files: [] });
  });

  it('works from a node that the runner is not connected to', async () => {
    const first = agent.node;
    await agent.startNode({ withRunner: false });
    const { messages } = await rewindSession(
      { ...deps(agent.node), presence: first.engine.presence },
      agent.person,
      session,
      { messageId: (await messageWith('Second.')).id, files: true, force: false },
    );
    expect([messages, agent.runner.undos.length]).toEqual([10, 1]);
  });

  it('finds messages of this conversation only, and those that somebody wrote', async () => {
    const result = (await agent.messages()).find(({ role }) => role === 'tool');
    const to = (messageId: string) =>
      codeOf(rewindSession(deps(), agent.person, session, { messageId, files: false, force: false }));
    expect(await to('unknown')).toBe('NOT_FOUND');
    expect(await to(result?.id ?? '')).toBe('NOT_REWINDABLE');
    const other = { ...session, id: 'other' };
    expect(await codeOf(previewRewind(deps(), other, (await messageWith('First.')).id))).toBe('NOT_FOUND');
  });
});

describe('[AG-6] what a run changed', () => {
  const second = async () => agent.run((await messageWith('Second.')).run_id ?? '');
  const changes = async () => {
    const { id } = await second();
    return agent.store.read((tx) => readRunChanges(tx, id));
  };

  it('is one difference for each file, and undo takes one file or all', async () => {
    expect(await changes()).toEqual([
      {
        path: 'a.md',
        operation: 'modified',
        added: 1,
        removed: 1,
        diff: '-2\n+3\n', // the runner's latest report
        truncated: false,
        tool_ids: toolIds(1, 4),
        undoable: true,
        undone: false,
      },
      expect.objectContaining({ path: 'b.md', operation: 'created', tool_ids: toolIds(3) }),
    ]);
    const run = await second();
    const one = await undoRun(deps(), agent.person, run, { path: 'b.md', force: false });
    expect(one).toEqual([{ path: 'b.md', operation: 'deleted', tool_ids: toolIds(3) }]);
    expect((await changes()).map(({ undone, undoable }) => [undone, undoable])).toEqual([
      [false, true],
      [true, false],
    ]);
    await undoRun(deps(), agent.person, run, { force: false });
    expect(agent.runner.undos).toEqual([toolIds(3), toolIds(4, 1)]);
    expect((await changes()).every(({ undone }) => undone)).toBe(true);
    expect(await undoRun(deps(), agent.person, run, { force: false })).toEqual([]);
    expect(await codeOf(undoRun(deps(), agent.person, run, { path: 'c.md', force: false }))).toBe(
      'NOT_UNDOABLE',
    );
  });

  it('shows the difference of the call that still counts when a later one was undone', async () => {
    const { executed } = agent.runner;
    const last = executed[4]?.toolId ?? '';
    await agent.store.write((tx) => tx.update('tool_executions', last, { undone_at: 1 }));
    expect((await changes())[0]).toMatchObject({ path: 'a.md', diff: '-1\n+2\n', undone: false });
  });
});

it('the answer about a run with many long diffs stays bounded', async () => {
  const run_id = (await messageWith('Second.')).run_id ?? '';
  await agent.store.write(function* (tx) {
    const [first] = yield* tx.fileChangesOf({ runId: run_id });
    if (!first) throw new Error('The run changed no file.');
    for (let i = 0; i < 20; i += 1)
      yield* tx.insert('file_changes', {
        ...first,
        id: `x-${i}`,
        path: `${i}.md`,
        diff: '+'.repeat(500_000),
      });
  });
  const files = await agent.store.read((tx) => readRunChanges(tx, run_id));
  expect(files.length).toBe(22);
  expect(files.reduce((sum, { diff }) => sum + (diff?.length ?? 0), 0)).toBeLessThanOrEqual(8_000_000);
  expect(files.at(-1)).toMatchObject({ diff: null, truncated: true, added: 1 });
});

describe('[AG-6] calls of a run that changed several files', () => {
  /** Runs these steps. A path may be several, joined by "+"; "slow" reports after its runner was lost. */
  const open = async (steps: ReturnType<typeof write>[][], { lost = false } = {}) => {
    const slow = Promise.withResolvers<void>();
    const fixture = await AgentFixture.open({
      model: new ScriptedModel([...steps, ['Done.']]),
      tools: {
        write_file: async ({ path, content }) => {
          if (content === 'slow') await slow.promise;
          const paths = String(path).split('+');
          const change = { operation: 'modified', truncated: false, added: 1, removed: 1 } as const;
          return {
            status: 'completed',
            result: {
              success: true,
              changed_files: paths.map((path) => ({ path, operation: 'modified' })),
            } as never,
            run_changes: paths.map((path) => ({ ...change, path, diff: `+${content}\n` })),
          };
        },
      },
    });
    await fixture.say('Go.');
    await fixture.clock.advance(1_000);
    if (lost) await fixture.loseRunner();
    await fixture.clock.advance(1_000);
    slow.resolve();
    await fixture.clock.advance(1_000);
    const [first] = await fixture.messages();
    const run = await fixture.run(first?.run_id ?? '');
    const { node } = fixture;
    const edges = {
      store: node.store,
      bus: fixture.bus,
      clock: fixture.clock,
      presence: node.engine.presence,
    };
    const undo = (path: string) => undoRun(edges, fixture.person, run, { path, force: false });
    const ids = (...indexes: number[]) => indexes.map((index) => fixture.runner.executed[index]?.toolId);
    return { fixture, run, undo, ids };
  };

  it('are undone for one file without earlier changes of their other files', async () => {
    const { fixture, undo, ids } = await open([
      [write('b.md', '1')],
      [write('a.md+b.md', '2')],
      [write('b.md+c.md', '3')],
      [write('c.md', '4')],
      [write('d.md', '5')],
    ]);
    await undo('c.md');
    await undo('a.md');
    expect(fixture.runner.undos).toEqual([ids(3, 2), ids(1)]);
  });

  it('[EX-7] are in the order in which they began, also if a report came late', async () => {
    const { fixture, run } = await open([[write('a.md', 'slow')], [write('a.md', 'quick')]], { lost: true });
    const late = await fixture.store.read((tx) => tx.history('ada', { runId: run.id, limit: 9 }));
    expect(late.map(({ status, undoable }) => [status, undoable])).toEqual([
      ['completed', true],
      ['failed', true],
    ]);
    const files = await fixture.store.read((tx) => readRunChanges(tx, run.id));
    expect(files).toMatchObject([{ path: 'a.md', diff: '+quick\n' }]);
  });
});

describe('[AG-6] a branch', () => {
  const branch = async (text: string, id: string) =>
    branchSession({ store: agent.store }, agent.person, session, {
      messageId: (await messageWith(text)).id,
      session: { ...session, id, title: branchTitle(session.title) },
    });

  it('has copies of the messages up to one, which the model reads alike', async () => {
    const screen = await agent.listen();
    await branch('One.', 'branch');
    // Every front end lists it at once.
    expect((await screen.last('session.changed')).session).toMatchObject({ session_id: 'branch' });
    const texts = await agent.store.read((tx) => tx.messagesOf('branch', { limit: 100 }));
    expect(texts.map(({ role, position }) => `${position} ${role}`)).toEqual([
      '1 user',
      '2 assistant',
      '3 tool',
      '4 assistant',
    ]);
    const both = await agent.store.read(function* (tx) {
      return [yield* readConversation(tx, 'branch'), yield* readConversation(tx, session.id)];
    });
    expect(both[0]).toEqual(both[1]?.slice(0, 4));
    expect(
      await agent.store.read((tx) => tx.callsFrom({ ...session, id: 'branch' }, texts[0] as never)),
    ).toEqual([]);
  });

  it('takes the results of the last message with it, and leaves out what was rewound', async () => {
    const [, answer] = await agent.messages();
    await rewindTo('Second.', { files: false });
    await branchSession({ store: agent.store }, agent.person, session, {
      messageId: answer?.id ?? '',
      session: { ...session, id: 'branch' },
    });
    const rows = await agent.store.read((tx) => tx.messagesOf('branch', { limit: 100 }));
    expect(rows.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(await codeOf(branch('Second.', 'another'))).toBe('NOT_FOUND');
    expect(await agent.store.read((tx) => tx.get('sessions', 'another'))).toBeUndefined();
  });

  it('is numbered', () => {
    expect(['Notes', 'Notes (2)', '', 'a (b)'].map(branchTitle)).toEqual([
      'Notes (2)',
      'Notes (3)',
      '(2)',
      'a (b) (2)',
    ]);
  });
});

it('[AG-6] a deleted conversation is gone with its messages; its calls stay in history and audit', async () => {
  const screen = await agent.listen();
  await deleteSession({ store: agent.store }, agent.person, session.id);
  expect(await screen.last('session.changed')).toMatchObject({ deleted: true, session: { title: '' } });
  expect(await agent.messages()).toEqual([]);
  const { calls, sessions, audit } = await agent.store.read(function* (tx) {
    return {
      calls: yield* tx.history('ada', { sessionId: session.id, limit: 50 }),
      sessions: yield* tx.sessionsOf('ada', session.project_id, 50),
      audit: yield* tx.audit('ada', 0, 1_000),
    };
  });
  expect([calls.length, sessions.length, audit.at(-1)?.action]).toEqual([5, 0, 'session.deleted']);
  expect(await codeOf(agent.say('Hello?'))).toBe('NOT_FOUND');
  expect(await codeOf(deleteSession({ store: agent.store }, agent.person, session.id))).toBe('NOT_FOUND');
});

it('a conversation of 2,000 messages is rewound and branched', async () => {
  await agent.store.write(function* (tx) {
    const [first] = yield* tx.messagesOf(session.id, { limit: 1 });
    for (let position = 15; position <= 2_000; position += 1)
      yield* tx.insert('messages', { ...(first as never as object), id: `m${position}`, position } as never);
  });
  const messageId = (await messageWith('Second.')).id;
  const many = { ...session, id: 'many' };
  await branchSession({ store: agent.store }, agent.person, session, { messageId: 'm1999', session: many });
  expect(await agent.store.read((tx) => tx.lastPosition('many'))).toBe(1_999);
  const done = await rewindSession(deps(), agent.person, session, { messageId, files: true, force: false });
  expect(done.messages).toBe(2_000 - 4);
});
