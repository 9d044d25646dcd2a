import { existsSync } from 'node:fs';
import { ApiError } from '@countersign/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../lab/src/waiting.ts';
import { RunnerServer, RunnerStory } from './runner/runner-story.ts';
import { newSession } from './server-story.ts';

/** The real server and the real runner, each in a process of its own; the person types calls for the manual model. */
let server: RunnerServer;
let story: RunnerStory;
let sessionId: string;

beforeAll(async () => {
  server = await RunnerServer.start();
  story = await RunnerStory.open(server, 'rewinding');
  await story.startRunner();
  story.person.onEvent = (event) => {
    // Whatever is asked is approved as it is shown.
    if (event.event === 'approval.updated' && event.data.digest !== null)
      void story.approve(event.data).catch(() => {});
  };
});
afterAll(async () => {
  await story?.close();
  await server?.close();
});
beforeEach(async () => {
  sessionId = await newSession(story.person.client, story.projectId);
});

/** Says something and waits for the end of the run. */
async function say(...lines: string[]): Promise<{ messageId: string; runId: string }> {
  const body = { content: lines.join('\n'), session_id: sessionId };
  const { client } = story.person;
  const sent = await client.sendMessage({ params: { project_id: story.projectId }, body });
  const run = () => client.getRun({ params: { run_id: sent.run_id } });
  await until(async () => (await run()).run.status === 'completed', {
    otherwise: async () => `${JSON.stringify(await run())}\n${story.runner.log}`,
  });
  return { messageId: sent.message_id, runId: sent.run_id };
}

const changes = async (run_id: string) =>
  (await story.person.client.runChanges({ params: { run_id } })).files;
const rewind = (message_id: string, over: { files?: boolean; force?: boolean } = {}) =>
  story.person.client.rewindSession(
    { params: { session_id: sessionId }, body: { message_id, files: true, ...over } },
    { retry: { times: 2_000, after: ({ status, code }) => status === 0 || code === 'UNDO_UNANSWERED' } },
  );
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => (error instanceof ApiError ? [error.code, error.message] : error),
  );
const messages = async () => {
  const query = { session_id: sessionId };
  const params = { project_id: story.projectId };
  return (await story.person.client.listMessages({ params, query })).messages;
};

describe('[AG-6] the changes of a run', () => {
  it('are one diff for each file, however often it was changed; undo takes one file or all', async () => {
    story.write('notes.md', 'one\ntwo\nthree\n');
    const { runId } = await say(
      '/edit_file path=notes.md old=one new=1',
      '/edit_file path=notes.md old=two new=2',
      '/edit_file path=notes.md old=2 new=zwei',
      '/write_file path=plan.md content=plan',
    );
    const files = await changes(runId);
    const [notes, plan] = ['notes.md', 'plan.md'].map((path) => files.find((file) => file.path === path));
    expect(notes).toMatchObject({
      path: 'notes.md',
      operation: 'modified',
      diff: '--- a/notes.md\n+++ b/notes.md\n@@ -1,3 +1,3 @@\n-one\n-two\n+1\n+zwei\n three\n',
      added: 2,
      removed: 2,
      undoable: true,
      undone: false,
    });
    expect(notes?.tool_ids.length).toBe(3);
    expect(plan).toMatchObject({ path: 'plan.md', operation: 'created', added: 1, removed: 0 });
    const { client } = story.person;
    const one = await client.undoRun({ params: { run_id: runId }, body: { path: 'plan.md' } });
    expect(one.files).toMatchObject([{ path: 'plan.md', operation: 'deleted' }]);
    expect([existsSync(story.at('plan.md')), story.read('notes.md')]).toEqual([false, '1\nzwei\nthree\n']);
    await client.undoRun({ params: { run_id: runId }, body: {} });
    expect(story.read('notes.md')).toBe('one\ntwo\nthree\n');
    expect((await changes(runId)).map(({ undone }) => undone)).toEqual([true, true]);
  });

  it('undo of a moved file takes its later edits under the new name along', async () => {
    story.write('old.md', 'text\n');
    const { runId } = await say('/edit_file path=old.md old=text new=first');
    const second = await say(
      '/move_file source=old.md dest=new.md',
      '/edit_file path=new.md old=first new=second',
    );
    expect((await changes(second.runId)).map(({ path, operation }) => [path, operation])).toEqual(
      expect.arrayContaining([
        ['old.md', 'deleted'],
        ['new.md', 'created'],
      ]),
    );
    const { client } = story.person;
    await client.undoRun({ params: { run_id: second.runId }, body: { path: 'old.md' } });
    expect([story.read('old.md'), existsSync(story.at('new.md'))]).toEqual(['first\n', false]);
    await client.undoRun({ params: { run_id: runId }, body: {} });
    expect(story.read('old.md')).toBe('text\n');
  });
});

describe('[AG-6] rewinding', () => {
  /** Two messages that change files, and one that runs a command. */
  async function conversation() {
    story.write('x.md', 'zero\n');
    story.run('rm', '-rf', 'made');
    const first = await say('/edit_file path=x.md old=zero new=one');
    const second = await say('/edit_file path=x.md old=one new=two', '/write_file path=made/y.md content=y');
    await say('/run node made/missing.js');
    return { first, second };
  }

  it('lists what would be put back, puts it back, and the conversation goes on', async () => {
    const { second } = await conversation();
    const { client } = story.person;
    const listed = await client.previewRewind({
      params: { session_id: sessionId },
      query: { message_id: second.messageId },
    });
    expect(listed).toMatchObject({
      files: expect.arrayContaining([
        expect.objectContaining({ path: 'x.md', operation: 'modified' }),
        expect.objectContaining({ path: 'made/y.md', operation: 'deleted' }),
      ]),
      kept: [{ tool_name: 'execute_command' }],
      runner_connected: true,
    });
    expect((await rewind(second.messageId)).messages).toBe(listed.messages);
    expect([story.read('x.md'), existsSync(story.at('made/y.md'))]).toEqual(['one\n', false]);
    expect((await messages()).filter(({ rewound }) => rewound).length).toBe(listed.messages);
    await say('/edit_file path=x.md old=one new=three');
    expect(story.read('x.md')).toBe('three\n');
    expect((await rewind(second.messageId)).messages).toBe(0);
    expect(story.read('x.md')).toBe('three\n');
  });

  it('refuses with every file that was changed since and touches nothing; force puts all back', async () => {
    const { first } = await conversation();
    story.write('x.md', 'mine\n');
    story.write('made/y.md', 'mine\n');
    const [code, message] = (await refusal(rewind(first.messageId))) as string[];
    expect(code).toBe('UNDO_CONFLICT');
    expect(message).toContain('"made/y.md"');
    expect(message).toContain('"x.md"');
    expect([story.read('x.md'), story.read('made/y.md')]).toEqual(['mine\n', 'mine\n']);
    expect((await messages()).some(({ rewound }) => rewound)).toBe(false);
    await rewind(first.messageId, { force: true });
    expect([story.read('x.md'), existsSync(story.at('made/y.md'))]).toEqual(['zero\n', false]);
  });

  it('survives a kill -9 of the server in the middle: asked for again, and nothing is undone twice', async () => {
    const { first } = await conversation();
    story.runner.pause();
    const rewound = rewind(first.messageId);
    rewound.catch(() => {});
    const undone = () => story.person.all('tool.result').filter(({ undo_id }) => undo_id !== undefined);
    const before = undone().length;
    // The runner is asked and cannot answer yet.
    const asked = () =>
      server.database.query(
        'select id from tool_executions where session_id = $1 and undo_id is not null',
        sessionId,
      );
    await until(async () => (await asked()).length === 3, { otherwise: () => 'no undo was requested' });
    await server.crash(async () => story.runner.resume());
    // Right after the start the runner may not be connected yet; then the person asks once more.
    await rewound.catch(() => {});
    const isDone = async () => (await refusal(rewind(first.messageId))) === undefined;
    await until(isDone, { otherwise: () => story.runner.log });
    expect([story.read('x.md'), existsSync(story.at('made/y.md'))]).toEqual(['zero\n', false]);
    expect((await messages()).every(({ rewound }) => rewound)).toBe(true);
    expect(undone().length - before).toBe(3);
  });

  it('survives a kill -9 of the runner in the middle: the next one puts the rest back', async () => {
    const { first } = await conversation();
    story.runner.pause();
    const rewound = rewind(first.messageId);
    await story.runner.end('SIGKILL');
    await story.startRunner();
    expect((await rewound).messages).toBeGreaterThan(0);
    expect([story.read('x.md'), existsSync(story.at('made/y.md'))]).toEqual(['zero\n', false]);
  });

  it('without a runner refuses to put files back, and goes back without them', async () => {
    const { first } = await conversation();
    await story.runner.end('SIGTERM');
    const [code] = (await refusal(rewind(first.messageId))) as string[];
    expect(code).toBe('NO_RUNNER');
    expect((await rewind(first.messageId, { files: false })).messages).toBeGreaterThan(0);
    expect(story.read('x.md')).toBe('two\n');
    await story.startRunner();
  });
});
