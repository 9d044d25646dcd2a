import { type OpenAiCompatibleServer, openAiCompatibleServer, type WireTurn } from '@countersign/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../lab/src/waiting.ts';
import { RunnerServer, RunnerStory } from './runner/runner-story.ts';

/** Compares every event and audit record of three stories with goldens/*.txt. */

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
  /** What the person does when the card appears; undefined: no approval is needed. */
  readonly decide?: (story: RunnerStory, card: Awaited<ReturnType<RunnerStory['card']>>) => Promise<unknown>;
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
    decide: (story, card) => story.approve(card),
  },
  'high-shell': {
    said: 'Pack the folder',
    call: { name: 'shell_exec', args: { command: 'tar -czf all.tgz . && sha256sum all.tgz' } },
    answer: 'As you wish.',
    decide: (story, { approval_id, project_id }) =>
      story.person.client.reject({
        params: { approval_id, project_id },
        body: { reason: 'too much', message: 'Pack only notes.md.' },
      }),
  },
};

it.each(Object.entries(stories))(
  '[EV-1] [DA-4] the trace of %s',
  async (name, { said, call, answer, decide }) => {
    const story = await RunnerStory.open(server, name);
    try {
      story.write('notes.md', 'Tea\n');
      await story.startRunner();
      // Wait for the runner's stream and its first heartbeat, so that their events come before the story's.
      await until(() => story.person.all('runner.changed').length === 2, {
        otherwise: () => `The runner did not come: ${story.runner.log}`,
      });
      const turns: WireTurn[] = [[{ call: { ...call, id: 'call_0' } }], [{ text: answer }]];
      model.script(turns);
      const { run_id } = await story.person.client.sendMessage({
        params: { project_id: story.projectId },
        body: { content: said, session_id: story.sessionId },
      });
      if (decide) {
        const { tool_id } = await story.person.next('tool.approval_request');
        await decide(story, await story.card(tool_id));
      }
      await story.person.next('agent.state', (state) => state.run_id === run_id && state.state === 'idle');
      const audit = await server.database.query(
        'select seq, at, action, subject, data from audit where user_id = $1 order by seq',
        name,
      );
      const events = story.person.received.map(({ event: { event, data } }) => `${event} ${pretty(data)}`);
      const records = audit.map(
        ({ data, ...record }) => `audit ${pretty({ ...record, data: JSON.parse(String(data)) })}`,
      );
      const trace = withPlaceholders([...events, ...records].join('\n'), story.parent);
      await expect(`${trace}\n`).toMatchFileSnapshot(`goldens/${name}.txt`);
    } finally {
      await story.close();
    }
  },
);

const pretty = (value: object): string => JSON.stringify(value, null, 2);

/** Numbers ids and digests by kind; times, durations and the story's folder become placeholders. */
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
