import { type OpenAiCompatibleServer, openAiCompatibleServer, type WireTurn } from '@countersign/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from './patience.ts';
import { Desk, RunnerServer } from './runner/runner-story.ts';

/** Every event and every audit record of three stories, byte for byte as in goldens/*.txt. */

let model: OpenAiCompatibleServer;
let server: RunnerServer;
beforeAll(async () => {
  model = await openAiCompatibleServer();
  server = await RunnerServer.start(model.url);
});
afterAll(async () => {
  await server?.close();
  await model?.close();
});

interface TracedStory {
  readonly said: string;
  readonly call: { readonly name: string; readonly args: object };
  readonly answer: string;
  /** What the person does once the card is there; undefined: nobody is asked. */
  readonly decide?: (desk: Desk, card: Awaited<ReturnType<Desk['card']>>) => Promise<unknown>;
}

const stories: Readonly<Record<string, TracedStory>> = {
  'low-read': {
    said: 'Read notes.md',
    call: { name: 'read_file', args: { path: 'notes.md' } },
    answer: 'It is about tea.',
  },
  'medium-write': {
    said: 'Write about coffee',
    call: { name: 'write_file', args: { path: 'notes.md', content: 'Coffee\n' } },
    answer: 'Done.',
    decide: (desk, card) => desk.approve(card),
  },
  'high-shell': {
    said: 'Pack the folder',
    call: { name: 'shell_exec', args: { command: 'tar -czf all.tgz . && sha256sum all.tgz' } },
    answer: 'As you wish.',
    decide: (desk, { approval_id, project_id }) =>
      desk.person.client.reject({
        params: { approval_id, project_id },
        body: { reason: 'too much', message: 'Pack only notes.md.' },
      }),
  },
};

it.each(Object.entries(stories))('[EV-1] [DA-4] the trace of %s', async (name, story) => {
  const desk = await Desk.open(server, name);
  try {
    desk.write('notes.md', 'Tea\n');
    await desk.startRunner();
    // Its stream tells of the runner, then its first heartbeat does: both before the story begins.
    await until(() => desk.person.all('runner.changed').length === 2, {
      otherwise: () => `The runner did not come: ${desk.runner.log}`,
    });
    const turns: WireTurn[] = [[{ call: { ...story.call, id: 'call_0' } }], [{ text: story.answer }]];
    model.script(turns);
    const { run_id } = await desk.person.client.sendMessage({
      params: { project_id: desk.projectId },
      body: { content: story.said, session_id: desk.sessionId },
    });
    if (story.decide) {
      const { tool_id } = await desk.person.next('tool.approval_request');
      await story.decide(desk, await desk.card(tool_id));
    }
    await desk.person.next('agent.state', (state) => state.run_id === run_id && state.state === 'idle');
    const audit = await server.database.query(
      'select seq, at, action, subject, data from audit where user_id = $1 order by seq',
      name,
    );
    const events = desk.person.received.map(({ event: { event, data } }) => `${event} ${pretty(data)}`);
    const records = audit.map(
      ({ data, ...record }) => `audit ${pretty({ ...record, data: JSON.parse(String(data)) })}`,
    );
    const trace = withPlaceholders([...events, ...records].join('\n'), desk.parent);
    await expect(`${trace}\n`).toMatchFileSnapshot(`goldens/${name}.txt`);
  } finally {
    await desk.close();
  }
});

const pretty = (value: object): string => JSON.stringify(value, null, 2);

/** Ids and digests are numbered by kind as they come; times, durations and the folder of the desk have one name each. */
function withPlaceholders(text: string, parent: string): string {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  const nameOf = (value: string, kind: string): string => {
    const count = (counts.get(kind) ?? 0) + 1;
    const name = names.get(value) ?? `<${kind}-${count}>`;
    if (!names.has(value)) counts.set(kind, count);
    names.set(value, name);
    return name;
  };
  return text
    .replaceAll(parent, '<desk>')
    .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"<time>"')
    .replaceAll(/((at|remaining_ms|execution_time_ms)\\?": ?)\d+/g, '$1<number>')
    .replaceAll(/"(\w+)_id": "([0-9a-f-]{36})"/g, (_, kind, id) => `"${kind}_id": "${nameOf(id, kind)}"`)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => nameOf(id, 'id'))
    .replaceAll(/sha256:[0-9a-f]{64}|\b[0-9a-f]{64}\b/g, (digest) => nameOf(digest, 'digest'));
}
