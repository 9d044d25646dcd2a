import { readFileSync } from 'node:fs';
import { scopeChoices } from '@countersign/approvals';
import type { Client } from '@countersign/client';
import { checkedCard, type EventPayload } from '@countersign/protocol';
import { expect, it, vi } from 'vitest';
import { EditorApprovals } from '../acp/editor-approvals.ts';
import { wordsFor } from '../words.ts';
import { printedCard } from './approval-card.ts';

const file = new URL('../../../../packages/protocol/fixtures/cards.json', import.meta.url);
const requests = JSON.parse(readFileSync(file, 'utf8')) as EventPayload<'tool.approval_request'>[];

const runners = [{ runner_id: 'runner-1', connected: true, capabilities: ['trials'] }];

it.each(['en', 'ru'])('[AP-1] [UI-4] the text of every card in the terminal in %s', async (language) => {
  const words = wordsFor({}, language);
  const frame = { columns: 80, rows: 30, color: false, words };
  const texts = requests.map((request) =>
    [
      `=== ${request.approval_id}`,
      ...printedCard(checkedCard(request), request.runner_id !== null, frame),
      ...scopeChoices(request.offered_scopes).map((choice) => `wider: ${words.scope(choice)}`),
      '',
    ].join('\n'),
  );
  await expect(texts.join('\n')).toMatchFileSnapshot(`goldens/terminal.${language}.txt`);
});

it.each(['en', 'ru'])('[AP-1] [UI-5] every question to an editor over ACP in %s', async (language) => {
  const asked = new Map<string, string>();
  const approvals = new EditorApprovals({
    client: { connection: {}, listRunners: async () => ({ runners }) } as unknown as Client,
    root: '/w',
    words: wordsFor({}, language),
    ask: (toolCall, options) => {
      asked.set(toolCall.toolCallId, JSON.stringify({ toolCall, options }, null, 2));
      return new Promise(() => {});
    },
    show: () => {},
    say: (text) => expect.unreachable(text),
    textOf: async () => undefined,
    askMessage: undefined,
    stopRun: async () => {},
  });
  for (const data of requests) approvals.receive({ event: 'tool.approval_request', data });
  // Without a preview nothing is asked yet: an update follows.
  const previewed = requests.filter(({ preview }) => preview !== null);
  await vi.waitFor(() => expect(asked.size).toBe(previewed.length));
  const texts = previewed.map(({ approval_id, tool_id }) => `=== ${approval_id}\n${asked.get(tool_id)}\n`);
  await expect(texts.join('\n')).toMatchFileSnapshot(`goldens/acp.${language}.txt`);
});
