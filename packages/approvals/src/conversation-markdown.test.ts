import type { JsonValue, Message } from '@countersign/protocol';
import { callWords } from '@countersign/words';
import { expect, it } from 'vitest';
import { conversationMarkdown } from './conversation-markdown.ts';

const said = (role: Message['role'], content: string, over: Partial<Message> = {}): Message => ({
  message_id: 'm',
  session_id: 's',
  run_id: 'r',
  role,
  content,
  complete: true,
  created_at: '2026-02-21T06:19:00Z',
  ...over,
});
const call = (tool_call_id: string, tool_name: string, tool_params: Record<string, JsonValue>) => ({
  tool_call_id,
  tool_id: `tool-${tool_call_id}`,
  tool_name,
  tool_params,
});
const result = (tool_call_id: string, value: object) =>
  said('tool', JSON.stringify({ tool_call_id, execution_time_ms: 1, ...value }), { tool_id: 'x' });
const terminal = { success: false, stdout: '', stderr: 'x', exit_code: 1, execution_time: 1 };

const conversation = {
  title: 'Fix *the* parser',
  messages: [
    said('user', 'Fix it.'),
    said('assistant', 'I look.', {
      model: 'manual',
      tool_calls: [
        call('a', 'execute_command', { command: 'npm', args: ['test'] }),
        call('b', 'write_file', { path: 'src/a_b.ts', content: 'x' }),
        call('c', 'delete_file', { path: '<img>.md' }),
        call('d', 'read_file', { path: 'gone.md' }),
        call('e', 'list_directory', { path: '.' }),
        { ...call('f', 'read_file', { path: 'b.md' }), tool_id: null, not_started: true },
      ],
    }),
    result('a', { status: 'success', result: terminal }),
    result('b', { status: 'rejected', reason: 'no', user_message: 'use b.ts' }),
    result('c', { status: 'rejected', reason: 'no', user_message: null }),
    result('d', {
      status: 'error',
      error: { code: 'FILE_NOT_FOUND', message: 'It is gone.\nReally.', recoverable: false },
    }),
    said(
      'assistant',
      'Done: `<b>` is\n\n```html\n<script>x</script>\n```\n\n<script>y</script> ![x](http://e)',
      {
        model: 'manual',
      },
    ),
    said('user', 'Never mind.', { rewound: true }),
    said('user', 'Thanks.'),
    said('system', 'You stopped this run.'),
    said('system', 'for the model', { tool_id: 't' }),
  ],
};

it('lists the messages with their speakers and a line for each call; tags and images outside of code are text', () => {
  expect(conversationMarkdown(conversation, callWords.en)).toBe(
    [
      '# Fix \\*the\\* parser',
      '## You',
      'Fix it.',
      '## Agent (manual)',
      'I look.',
      [
        '- Ran npm test — exit 1',
        '- Write src/a\\_b.ts — you rejected it: use b.ts',
        '- Delete \\<img\\>.md — you rejected it',
        '- Read gone.md — failed: It is gone. Really.',
        '- List the project root — no result',
        '- Read b.md — not started',
      ].join('\n'),
      'Done: `<b>` is\n\n```html\n<script>x</script>\n```\n\n&lt;script>y&lt;/script> !\\[x](http://e)',
      '## You',
      'Thanks.',
      '> You stopped this run.',
      '',
    ]
      .join('\n\n')
      .replace(/\n\n$/, '\n'),
  );
});

it('is said in each language, and an untitled one has a title too', () => {
  const text = conversationMarkdown({ ...conversation, title: '' }, callWords.ru);
  expect(text).toContain('# Беседа\n\n## Вы\n');
  expect(text).toContain('вы отклонили: use b.ts');
});

it('no text of a message or a call becomes the heading of another speaker', () => {
  const forged = 'Yes.\n\n## You\n\nYou\n---\nDo it.\n\n# x';
  const messages = [
    said('assistant', forged, {
      model: 'm\n## You',
      tool_calls: [call('a', 'read_file', { path: 'a\n\n## You' })],
    }),
    said('assistant', '~~~\nopen', { model: 'other' }),
    said('user', '~~~\n<img src=x>'),
  ];
  const text = conversationMarkdown({ title: 'x\n## You', messages }, callWords.en);
  expect(text.match(/^##? .*$/gm)).toEqual([
    '# x \\#\\# You',
    '## Agent (m \\#\\# You)',
    '## Agent (other)',
    '## You',
  ]);
  expect(text).toContain('#### You\n\nYou\n\n---\nDo it.\n\n### x');
  expect(text).toContain('~~~\nopen\n~~~\n\n## You\n\n~~~\n<img src=x>\n~~~\n');
});

it('has no heading for a message that was stopped before its first word', () => {
  const messages = [said('user', 'Go on.'), said('assistant', ' ')];
  expect(conversationMarkdown({ title: 'x', messages }, callWords.en)).toBe('# x\n\n## You\n\nGo on.\n');
});
