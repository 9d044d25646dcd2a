import type { Preview } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { previewText, requestText } from './preview-text.ts';
import { requestTitle, said } from './request-title.ts';

const words = wordsFor('en');
const file = {
  path: 'a.md',
  operation: 'modified' as const,
  diff: '--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-old\n+new\n',
  truncated: false,
  size_before: 4,
  size_after: 4,
};

const previews: readonly (readonly [Preview, string])[] = [
  [{ kind: 'diff', files: [file] }, 'a.md\nchanged · 4 → 4 bytes\n@@ -1 +1 @@\n- old\n+ new'],
  [
    { kind: 'diff', files: [{ ...file, diff: '', truncated: true, unsaved: true }] },
    'a.md\nchanged · 4 → 4 bytes · compared with unsaved changes in your editor\nThe content stays the same.\nThe diff was too long and is cut here.',
  ],
  [{ kind: 'delete', path: 'a.md', size: 4, head: 'old' }, 'Deletes a.md (4 bytes). It begins with:\n- old'],
  [
    { kind: 'delete', path: 'a.md', size: 0, head: '' },
    'Deletes a.md (0 bytes). It begins with:\nThe file is empty.',
  ],
  [{ kind: 'directory', path: 'src' }, 'Creates the folder src'],
  [
    {
      kind: 'command',
      commands: [['npm', 'run', "it's"]],
      cwd: '',
      network: true,
      reversible: false,
      scripts: ['a.js'],
    },
    `Runs: npm run 'it'\\''s'\nFolder: project root\nRuns code from: a.js\nHas network access to any host\nCannot be undone`,
  ],
  ...[
    {
      hosts: ['api.example.org', 'b.example:8443'],
      says: 'Has network access: api.example.org, b.example:8443',
    },
    { hosts: [], says: 'Has network access, but to no host: none is known or named' },
  ].map(({ hosts, says }): [Preview, string] => [
    { kind: 'command', commands: [['make']], cwd: '', network: true, hosts, reversible: true, scripts: [] },
    `Runs: make\nFolder: project root\n${says}\nCan be undone`,
  ]),
  [
    {
      kind: 'command',
      commands: [['echo', null]],
      cwd: 'src',
      network: false,
      reversible: true,
      scripts: [],
    },
    'Runs: echo ⟨known only when it runs⟩\nFolder: src\nNo network access\nCan be undone',
  ],
  [{ kind: 'commit', message: 'why', files: [], hooks: ['pre-commit'] }, 'Message: why\nHooks: pre-commit'],
  [
    {
      kind: 'push',
      remote: 'origin',
      url: 'https://x/y',
      branch: 'main',
      commits: [{ id: '0123456789', subject: 's', author: 'me' }],
      hooks: [],
    },
    'Pushes main to origin\nhttps://x/y\nNo hooks run\n1 commit\n01234567  s  (me)',
  ],
  [{ kind: 'custom', server: 'db', summary: 'query' }, 'Tool of the MCP server db\nquery'],
  [
    {
      kind: 'custom',
      server: 'db',
      tool: 'drop',
      summary: 'Drops a table',
      runs: 'node db.mjs',
      network: true,
      hints: ['destructive'],
    },
    "Tool of the MCP server db: drop\nDrops a table\nRuns: node db.mjs\nHas network access\nIt says that it may destroy something.\nThis tool's own program decides what it touches.",
  ],
  [
    {
      kind: 'custom',
      server: 'db',
      tool: 'look',
      summary: 'Reads a table',
      runs: 'node db.mjs',
      network: false,
      hints: ['read_only'],
    },
    "Tool of the MCP server db: look\nReads a table\nRuns: node db.mjs\nNo network access\nIt says that it only reads.\nThis tool's own program decides what it touches.",
  ],
  [{ kind: 'summary', summary: 'Reads' }, 'Reads'],
  [{ kind: 'unavailable', reason: 'no permission' }, 'No preview: no permission'],
];

describe('[AP-7] what will happen, in words', () => {
  it.each(previews)('%o', (preview, expected) => {
    expect(previewText(preview, words)).toBe(expected);
  });

  it('is cut where a dialog ends, and the reasons stay', () => {
    const preview = { kind: 'summary', summary: 'one\ntwo\nthree' } as const;
    const request = {
      preview,
      tool_name: 'x',
      tool_params: {},
      reasons: [{ rule: 'X', why: 'because' }],
    } as never;
    expect(requestText(request, words, 2)).toBe('one\ntwo\n…\n\nWhy you are asked:\n• because');
    expect(requestText(request, words, 3)).toBe(requestText(request, words));
    const long = {
      preview: { kind: 'summary', summary: `one\n${'x'.repeat(200)}` },
      tool_name: 'x',
      tool_params: {},
      reasons: [],
    } as never;
    expect(requestText(long, words, 3)).toBe(`one\n${'x'.repeat(160)}…`);
    expect(requestText(long, words, 4)).toBe(requestText(long, words));
  });

  it('has a shell line as it was written, with what is hidden in it', () => {
    const preview = {
      kind: 'command',
      commands: [['echo', 'x']],
      cwd: '',
      network: false,
      reversible: true,
      scripts: [],
    } as const;
    const tool_params = { command: 'echo x |\n tee a.sh > b\u202e' };
    const request = { preview, tool_name: 'shell_exec', tool_params, reasons: [] } as never;
    expect(requestText(request, words)).toMatch(
      /^The shell gets:\necho x \|\n tee a\.sh > b[^\u202e]+\nRuns: echo x\nFolder: project root\n/,
    );
  });

  it.each([
    { kind: 'custom', server: 'db', summary: 'Reads a table' },
    { kind: 'unavailable', reason: 'the disk fails' },
    { kind: 'summary', summary: 'Creates a branch.' },
    null,
  ])('has every parameter where the preview says little: %o', (preview) => {
    const tool_params = { path: 'a', query: 'drop\u202e\ntable', 'x\nLOW RISK': { deep: true } };
    const request = { preview, tool_name: 'db__write', tool_params, reasons: [] } as never;
    expect(requestText(request, words)).toContain(
      '\nParameters:\n  path = a\n  query = drop⟨U+202E⟩\n  table\n  "x\\nLOW RISK" = {"deep":true}',
    );
    // A dialog that has no room for the whole preview does not count as having shown it.
    expect(requestText(request, words, 2)).not.toBe(requestText(request, words));
  });

  it('is said in Russian too, as the chat says it', () => {
    const russian = wordsFor('ru');
    const request = {
      agent: 'Agent',
      tool_name: 'delete_file',
      tool_params: { path: 'a.md' },
      description: 'Agent wants to delete a.md',
      preview: { kind: 'delete', path: 'a.md', size: 2, head: 'x\n' },
      reasons: [{ rule: 'DELETE-1', why: 'deletes a file' }],
    } as never;
    expect([requestTitle(request, russian), requestTitle(request, words)]).toEqual([
      'Агент хочет удалить a.md',
      'Agent wants to delete a.md',
    ]);
    expect(requestText(request, russian)).toBe(
      'Удалит a.md (2 байта). Начало файла:\n- x\n\nПочему вас спрашивают:\n• удаляет файл',
    );
    expect([said('deletes a file', words), said('nobody knows this', russian)]).toEqual([
      'deletes a file',
      'nobody knows this',
    ]);
    const stranger = { ...(request as object), agent: `${'x'.repeat(60)}` } as never;
    expect(requestTitle(stranger, russian)).toBe(`${'x'.repeat(40)} хочет удалить a.md`);
  });

  it('comes with the reasons', () => {
    const reasons = [
      { rule: 'X', why: 'because' },
      { rule: 'Y', why: 'could read', operand: '.env,\n\u202econfig/.env' },
    ];
    expect(requestText({ tool_name: 'x', tool_params: {}, preview: null, reasons } as never, words)).toBe(
      'What would happen is being computed …\n\nWhy you are asked:\n• because\n• could read: .env, ⟨U+202E⟩config/.env',
    );
    const preview = { kind: 'summary', summary: 'Reads' } as const;
    expect(requestText({ tool_name: 'x', tool_params: {}, preview, reasons: [] } as never, words)).toBe(
      'Reads',
    );
  });
});
