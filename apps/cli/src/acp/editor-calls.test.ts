import type { SessionUpdate } from '@agentclientprotocol/sdk';
import type { Client } from '@countersign/client';
import type { CountersignEvent } from '@countersign/protocol';
import { expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { EditorCalls } from './editor-calls.ts';

const event = (name: CountersignEvent['event'], data: object) =>
  ({ event: name, data: { tool_id: 't1', project_id: 'p1', session_id: 's1', ...data } }) as CountersignEvent;
const called = event('tool.call', {
  tool_name: 'write_file',
  tool_params: { path: 'a.md', content: 'a' },
  status: 'pending',
  context: { run_id: null },
});
const asked = event('tool.approval_request', {});
const progress = event('tool.progress', { progress: 100, message: '1.0 of 1.0 MB written', output: null });

it.each<[string, CountersignEvent[], string[]]>([
  ['leaves the diff that was asked about', [called, asked, progress], []],
  ['is shown where there is no diff', [called, progress], ['100% · 1.0 of 1.0 MB written']],
])('the progress of a write %s', async (_, events, shown) => {
  const updates: (SessionUpdate | Promise<SessionUpdate>)[] = [];
  const update = (one: SessionUpdate | Promise<SessionUpdate>) => void updates.push(one);
  const calls = new EditorCalls({ client: {} as Client, root: '/w', words: wordsFor({}), update });
  for (const one of events) calls.receive(one);
  const last = (await Promise.all(updates)).at(-1);
  expect(last).toMatchObject({ status: 'in_progress', title: 'Writing a.md' });
  const texts = last && 'content' in last ? JSON.stringify(last.content) : '';
  for (const text of shown) expect(texts).toContain(text);
  if (shown.length === 0) expect(texts).toBe('');
});
