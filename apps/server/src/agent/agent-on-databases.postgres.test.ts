import type { Bus, Model, Store } from '@countersign/engine';
import { openPostgresStore, openSqliteStore } from '@countersign/store';
import {
  AgentFixture,
  hangs,
  ScriptedModel,
  type TemporaryPostgres,
  temporaryPostgres,
  toolCall,
} from '@countersign/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

let postgres: TemporaryPostgres;
beforeAll(async () => {
  postgres = await temporaryPostgres();
});
afterAll(() => postgres.stop());

const opened: AgentFixture[] = [];
afterEach(closeAll);

async function closeAll(): Promise<void> {
  for (const agent of opened.splice(0)) {
    await agent.node.runs.close();
    agent.node.die();
    await agent.node.store.quiet();
    await agent.store.close();
  }
}

type Edges = { readonly bus: Bus; readonly now: () => number };
const databases: readonly [string, (edges: Edges) => Promise<Store>][] = [
  ['SQLite', ({ bus, now }) => openSqliteStore({ path: ':memory:', bus, now })],
  [
    'PostgreSQL',
    async ({ bus, now }) => openPostgresStore({ url: await postgres.createDatabase(), bus, now }),
  ],
];

const script = () =>
  new ScriptedModel([
    // Eight calls at once: their results arrive together, and each becomes one message at its own position.
    [
      'I look.',
      ...Array.from({ length: 8 }, (_, i) => toolCall('read_file', { path: `${i}.md` }, `call_${i}`)),
    ],
    [toolCall('write_file', { path: 'c.md', content: 'x' })],
    ['It is ', 'done.', { type: 'usage', inputTokens: 7, outputTokens: 2 }],
  ]);

describe.each(databases)('the agent on %s', (_, openStore) => {
  async function open(model: Model): Promise<AgentFixture> {
    const agent = await AgentFixture.open({ model, openStore });
    opened.push(agent);
    return agent;
  }

  const wholeStory = [
    'user: Go.',
    'assistant: I look.',
    ...Array.from({ length: 8 }, () => 'tool: success'),
    'assistant: ',
    'tool: success',
    'assistant: It is done.',
  ];

  it('[AG-1] tells the whole story', async () => {
    const agent = await open(script());
    const runId = await agent.say('Go.');
    await agent.node.runs.whenIdle();
    expect(await agent.transcript()).toEqual(wholeStory);
    expect(await agent.run(runId)).toMatchObject({ status: 'completed', step: 3, input_tokens: 7 });
    expect(agent.node.errors).toEqual([]);
    const stored = (await agent.messages())[1];
    expect(stored?.tool_calls).toMatchObject(
      Array.from({ length: 8 }, () => ({ tool_id: expect.any(String) })),
    );
  });

  it('[AG-3] of several messages at once, one starts a run', async () => {
    const agent = await open(script());
    const { person: caller, project, session } = agent;
    const started = await Promise.allSettled(
      Array.from({ length: 8 }, () => agent.node.runs.start({ caller, project, session, content: 'Go.' })),
    );
    const refused = started.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    expect(refused).toEqual(Array.from({ length: 7 }, () => 'RUN_ACTIVE'));
    await agent.node.runs.whenIdle();
    expect(await agent.transcript()).toEqual(wholeStory);
  });

  it('[AG-5] answers each of many simultaneous messages on two nodes once, whichever node ends a run', async () => {
    const brief: Model = {
      name: 'brief',
      async *call() {
        yield { type: 'text', text: 'Yes.' };
        yield { type: 'finish', reason: 'stop' };
      },
    };
    const agent = await open(brief);
    const { person: caller, project, session } = agent;
    const first = agent.node;
    const second = await agent.startNode({ withRunner: false });
    const sent = await Promise.all(
      Array.from({ length: 16 }, (_, n) => {
        const { runs } = n % 2 === 0 ? first : second;
        const whenBusy = n % 3 === 0 ? 'send_now' : 'queue';
        return runs.start({ caller, project, session, content: `${n}`, whenBusy });
      }),
    );
    for (const { runs } of [first, second]) await runs.whenIdle();
    const messages = await agent.messages();
    const said = messages.filter(({ role }) => role === 'user');
    expect(said.map(({ id }) => id).sort()).toEqual(sent.map(({ message_id }) => message_id).sort());
    expect(messages.at(-1)?.role).toBe('assistant');
    expect(await agent.store.read((tx) => tx.queuedMessagesOf('session-1'))).toEqual([]);
    expect([...first.errors, ...second.errors]).toEqual([]);
    await first.runs.close();
    first.die();
  });

  it('[AP-11] a call is recorded before a switch of the mode or after it, never between', async () => {
    const agent = await open(new ScriptedModel([]));
    agent.runner.decide = () => undefined;
    const { executor, modes } = agent.node.engine;
    const call = (n: number) => ({
      ...agent.callOf('', 1),
      run: undefined as never,
      toolName: 'write_file',
      toolParams: { path: `${n}.md`, content: 'x' },
    });
    for (let round = 0; round < 5; round++) {
      await modes.change(agent.person, 'session-1', { mode: 'ask' });
      const racing = [0, 1, 2].map((n) => executor.submit(call(10 * round + n)));
      const switched = modes.change(agent.person, 'session-1', { mode: 'read_only' });
      await Promise.all([...racing, switched]);
      const calls = await agent.store.read((tx) => tx.history('ada', { limit: 100 }));
      expect(calls.filter(({ status }) => status !== 'failed')).toEqual([]);
    }
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-2] records a call once, even if it is requested several times at once', async () => {
    const agent = await open(new ScriptedModel([['Half an ans', hangs]]));
    const runId = await agent.say('Go.');
    const { executor } = agent.node.engine;
    const asked = Array.from({ length: 8 }, () => executor.submit(agent.callOf(runId, 1)));
    const ids = (await Promise.all(asked)).map(({ execution }) => execution.id);
    expect(new Set(ids).size).toBe(1);
  });

  it('[AG-2] survives a crash before or after any commit', async () => {
    for (let at = 2; at <= 30; at += 1) {
      await closeAll();
      const model = script();
      const agent = await open(model);
      const { node } = agent;
      const moment = at % 2 === 0 ? 'before' : 'after';
      const died = new Promise<void>((resolve) => {
        node.store.onWrite = (when, commit) => {
          if (when !== moment || commit !== at || node.store.isDead) return;
          node.die();
          resolve();
        };
      });
      const { person: caller, project, session } = agent;
      const going = node.runs
        .start({ caller, project, session, content: 'Go.' })
        .then(() => node.runs.whenIdle());
      await Promise.race([died, going]);
      await node.store.quiet();
      await agent.startNode({ isOnlyNode: true });
      if ((await agent.messages()).length === 0) continue; // the message itself was not stored
      await agent.node.runs.whenIdle();
      expect(agent.node.errors, `died ${moment} commit ${at}`).toEqual([]);
      expect(await agent.transcript(), `died ${moment} commit ${at}`).toEqual(wholeStory);
      const executed = agent.runner.executed.map(({ toolId }) => toolId);
      expect(new Set(executed).size, 'no call was made twice').toBe(9);
      expect(executed).toHaveLength(9);
      expect(agent.node.errors).toEqual([]);
    }
  });

  it('[AG-2] of several nodes that look for orphans at once, one has each', async () => {
    const agent = await open(script());
    const runs = await agent.store.write(function* (tx) {
      const ids: string[] = [];
      for (let i = 0; i < 12; i++) {
        const id = `run-${i}`;
        ids.push(id);
        yield* tx.insert('runs', {
          id,
          user_id: 'ada',
          project_id: 'project-1',
          session_id: 'session-1',
          model: 'gone',
          status: 'running',
          step: 0,
          epoch: 1,
          lease_owner: 'dead',
          lease_until: 1,
          input_tokens: 0,
          output_tokens: 0,
          error: null,
          created_at: agent.clock.now(),
          ended_at: null,
        });
      }
      return ids;
    });
    const nodes = await Promise.all(Array.from({ length: 4 }, () => agent.startNode({ withRunner: false })));
    await Promise.all(nodes.map(({ runs: held }) => held.whenIdle()));
    for (const id of runs) expect(await agent.run(id)).toMatchObject({ epoch: 2, status: 'failed' });
    for (const node of nodes) expect(node.errors).toEqual([]);
  });
});
