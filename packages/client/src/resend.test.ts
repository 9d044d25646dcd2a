import { afterEach, beforeEach, expect, it } from 'vitest';
import { TestServer } from '../test/http-server.ts';
import { createClient } from './client.ts';
import { resendMessage } from './resend.ts';

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start();
});
afterEach(() => server.stop());

const message = { projectId: 'p1', sessionId: 's1', messageId: 'm1', content: 'Again, please.' };

it('goes back to before the message without files, then sends the new text', async () => {
  const client = createClient({ baseUrl: server.baseUrl, token: () => 'secret' });
  const sent = resendMessage(client, { ...message, model: 'manual' });
  const rewind = await server.next();
  expect([rewind.url, JSON.parse(rewind.body)]).toEqual([
    '/my/sessions/s1/rewind',
    { message_id: 'm1', files: false },
  ]);
  rewind.answer(200, { success: true, session_id: 's1', message_id: 'm1', messages: 2, files: [] });
  const send = await server.next();
  expect([send.url, JSON.parse(send.body)]).toEqual([
    '/my/projects/p1/chat/messages',
    { content: 'Again, please.', session_id: 's1', model: 'manual' },
  ]);
  send.answer(200, { success: true, message_id: 'm2', session_id: 's1', run_id: 'r1', queued: false });
  expect((await sent).message_id).toBe('m2');
});

it('sends nothing if the conversation cannot go back', async () => {
  const client = createClient({ baseUrl: server.baseUrl, token: () => 'secret' });
  const sent = resendMessage(client, message, { timeoutMs: 5_000 });
  (await server.next()).refuse(404, 'NOT_FOUND');
  await expect(sent).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
