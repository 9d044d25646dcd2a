import type { PermissionOption } from '@agentclientprotocol/sdk';
import { ApiError, type Client } from '@countersign/client';
import { type CountersignEvent, type Preview, shownDigest, type Trial } from '@countersign/protocol';
import { expect, it, vi } from 'vitest';
import { wordsFor } from '../words.ts';
import { EditorApprovals } from './editor-approvals.ts';

const base = `sha256:${'a'.repeat(64)}`;
const request = {
  event: 'tool.approval_request',
  data: {
    approval_id: 'a1',
    tool_id: 't1',
    project_id: 'p1',
    session_id: 's1',
    tool_name: 'write_file',
    tool_params: { path: 'a.ts', content: 'x' },
    agent: 'Agent',
    description: 'Agent wants to change a.ts',
    risk_level: 'MEDIUM',
    reasons: [],
    network: false,
    preview: { kind: 'summary', summary: 'x' },
    digest_base: base,
    digest: shownDigest({
      digest_base: base,
      tool_name: 'write_file',
      tool_params: { path: 'a.ts', content: 'x' },
      risk_level: 'MEDIUM',
      preview: { kind: 'summary', summary: 'x' },
    }),
    offered_scopes: [],
    context: { message_id: null, run_id: 'r1', step: null, excerpt: '' },
  },
} as unknown as CountersignEvent;
const reset = { event: 'stream.reset', data: { reason: 'x', timestamp: '' } } as CountersignEvent;

/** Approvals in an editor that never answers by itself. */
function start(more: object = {}) {
  const asked: {
    shown: string;
    options: PermissionOption[];
    signal: AbortSignal;
    answer: (id: string) => void;
  }[] = [];
  const sent: string[] = [];
  const said: string[] = [];
  const shown: string[] = [];
  const answered = (what: string) => async () => {
    sent.push(what);
    return { success: true };
  };
  const approvals = new EditorApprovals({
    client: {
      connection: {},
      approve: answered('approve'),
      reject: answered('reject'),
      listRunners: async () => ({ runners: [] }),
      ...more,
    } as unknown as Client,
    root: '/w',
    words: wordsFor({}),
    ask: (call, options, signal) =>
      new Promise((answer) => void asked.push({ shown: JSON.stringify(call), options, signal, answer })),
    show: (update) => void shown.push(JSON.stringify(update)),
    say: (text) => void said.push(text),
    textOf: async () => undefined,
    askMessage: undefined,
    stopRun: async () => {
      throw new Error('the server is away');
    },
    minimumMs: 0,
  });
  return { approvals, asked, sent, said, shown };
}

it('[AP-2] after a gap withdraws questions that may have been decided, and asks those that the server sends again', async () => {
  const { approvals, asked, sent } = start();
  approvals.receive(request);
  await vi.waitFor(() => expect(asked.length).toBe(1));
  approvals.receive(reset);
  expect(asked[0]?.signal.aborted).toBe(true);
  asked[0]?.answer('once'); // the editor missed the withdrawal
  approvals.receive(request);
  await vi.waitFor(() => expect(asked.length).toBe(2));
  asked[1]?.answer('once');
  await vi.waitFor(() => expect(sent).toEqual(['approve']));
});

it('[AP-8] offers only rejecting if the preview does not match the digest', async () => {
  const { approvals, asked, sent } = start();
  const preview = { kind: 'summary', summary: 'Nothing at all.' };
  approvals.receive({ ...request, data: { ...request.data, preview } } as CountersignEvent);
  await vi.waitFor(() => expect(asked.length).toBe(1));
  expect(asked[0]?.options.map(({ optionId }) => optionId)).toEqual(['reject', 'stop']);
  asked[0]?.answer('once');
  await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toEqual([]);
});

it('[AP-3] sends nothing for an option that was not offered', async () => {
  const { approvals, asked, sent } = start();
  approvals.receive(request);
  await vi.waitFor(() => expect(asked.length).toBe(1));
  asked[0]?.answer('session');
  approvals.resume([request.data as never]); // it is still known, and not asked twice
  await new Promise((resolve) => setImmediate(resolve));
  expect([sent, asked.length]).toEqual([[], 1]);
});

it('[AP-5] says so when the run could not be stopped', async () => {
  const { approvals, asked, sent, said } = start();
  approvals.receive(request);
  await vi.waitFor(() => expect(asked.length).toBe(1));
  asked[0]?.answer('stop');
  await vi.waitFor(() => expect(said.join()).toContain('the server is away'));
  expect(sent).toEqual(['reject']);
});

it('[RK-3] [AP-7] shows what triggered a reason, and a shell line as it was written', async () => {
  const { approvals, asked } = start();
  const reasons = [{ rule: 'SENS-8', why: 'could read', operand: '.env' }];
  const command = `echo ${'x'.repeat(400)} > Makefile`;
  const preview = {
    kind: 'command',
    commands: [['echo']],
    cwd: '',
    network: false,
    reversible: false,
    scripts: [],
  };
  const data = { ...request.data, tool_name: 'shell_exec', tool_params: { command }, reasons, preview };
  approvals.receive({ event: 'tool.approval_request', data } as never);
  await vi.waitFor(() => expect(asked.length).toBe(1));
  expect(asked[0]?.shown).toContain('could read: .env');
  expect(asked[0]?.shown).toContain('> Makefile');
});

const command: Preview = {
  kind: 'command',
  commands: [['make']],
  cwd: '',
  network: false,
  reversible: true,
  scripts: [],
};
const outcome: Trial = {
  ended: 'exit',
  exit_code: 0,
  duration_ms: 1_200,
  stdout: 'built',
  stderr: '',
  files: [
    { path: 'logo.png', change: 'deleted', size: 3 },
    {
      path: 'new.txt',
      change: 'created',
      size: 4,
      diff: '--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+made\n',
    },
    { path: 'big.bin', change: 'created', size: 40_000 },
  ],
  counts: { created: 2, modified: 0, deleted: 1, mode: 0 },
  withheld: ['.git/hooks/x'],
  left_out: [],
  hosts: ['example.org'],
};
const runners = [{ runner_id: 'r1', project_id: 'p1', connected: true, capabilities: ['trials'] }];

/** The request of a command, or an update of it, with the digest of what it shows. */
function commandEvent(event: string, change: { preview: Preview; trying?: true }): CountersignEvent {
  const data = {
    ...request.data,
    tool_name: 'execute_command',
    tool_params: { command: 'make' },
    runner_id: 'r1',
    revision: 1,
    ...change,
  };
  const digest = shownDigest(data as unknown as Parameters<typeof shownDigest>[0]);
  return { event, data: { ...data, digest } } as unknown as CountersignEvent;
}

it('[RN-13] offers to try a command first, shows that it runs, and asks about what it would change', async () => {
  const tried: unknown[] = [];
  const client = {
    listRunners: async () => ({ runners }),
    tryCall: async ({ params }: { params: unknown }) => tried.push(params),
  };
  const { approvals, asked, shown, sent } = start(client);
  approvals.receive(commandEvent('tool.approval_request', { preview: command }));
  await vi.waitFor(() => expect(asked.length).toBe(1));
  expect(asked[0]?.options.map(({ optionId, kind }) => `${optionId} ${kind}`).slice(0, 2)).toEqual([
    'once allow_once',
    'try allow_once',
  ]);
  asked[0]?.answer('try');
  await vi.waitFor(() => expect(tried).toEqual([{ project_id: 'p1', approval_id: 'a1' }]));
  await vi.waitFor(() => expect(shown.at(-1)).toMatch(/"in_progress".*Trying it.* \d+ s/));
  approvals.receive(commandEvent('approval.updated', { preview: command, trying: true }));
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked.length).toBe(1); // nothing is asked while it is tried
  approvals.receive(commandEvent('approval.updated', { preview: { ...command, trial: outcome } }));
  await vi.waitFor(() => expect(asked.length).toBe(2));
  expect(asked[1]?.options.map(({ name }) => name)[0]).toBe('Approve these changes');
  expect(asked[1]?.options.map(({ optionId }) => optionId)).not.toContain('try');
  const { content } = JSON.parse(asked[1]?.shown ?? '') as {
    content: { type: string; content?: { text: string } }[];
  };
  expect(content.map(({ type }) => type)).toEqual(['content', 'diff', 'content']);
  const [facts, , rest] = content.map((part) => part.content?.text ?? '');
  expect(facts).toMatch(
    /2 created, 1 deleted · exit 0[\s\S]*\.git\/hooks\/x[\s\S]*example\.org[\s\S]*logo\.png/,
  );
  expect(rest).toMatch(/big\.bin[\s\S]*40 kB[\s\S]*built/);
  expect(`${facts}${rest}`).not.toMatch(/not listed|new\.txt/);
  asked[1]?.answer('once');
  await vi.waitFor(() => expect(sent).toEqual(['approve']));
});

it('[RN-13] says why a call was not tried, and asks again', async () => {
  const message = 'This call cannot be tried first: no. Decide on it as it is shown.';
  const { approvals, asked, said } = start({
    listRunners: async () => ({ runners }),
    tryCall: async () => {
      throw new ApiError(409, 'NOT_TRYABLE', message);
    },
    getApproval: async () => {
      throw new Error('away');
    },
  });
  approvals.receive(commandEvent('tool.approval_request', { preview: command }));
  await vi.waitFor(() => expect(asked.length).toBe(1));
  asked[0]?.answer('try');
  await vi.waitFor(() => expect(asked.length).toBe(2));
  await vi.waitFor(() => expect(said.join()).toContain('cannot be tried first'));
});

it('[UI-5] shows 50,000 effects with few diffs, everything that came in words', async () => {
  const { approvals, asked } = start();
  const diff = '--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+made\n';
  const files = Array.from({ length: 1_000 }, (_, n) => ({
    path: `f${n}`,
    change: 'created' as const,
    diff,
  }));
  const trial = { ...outcome, files, counts: { created: 50_000, modified: 0, deleted: 0, mode: 0 } };
  approvals.receive(commandEvent('tool.approval_request', { preview: { ...command, trial } }));
  await vi.waitFor(() => expect(asked.length).toBe(1));
  const { content } = JSON.parse(asked[0]?.shown ?? '') as {
    content: { type: string; content?: { text: string } }[];
  };
  expect(content.filter(({ type }) => type === 'diff').length).toBe(50);
  const rest = content.at(-1)?.content?.text ?? '';
  expect(rest).toContain('f999');
  expect(rest).toContain('49000 more changes are not listed here.');
});
