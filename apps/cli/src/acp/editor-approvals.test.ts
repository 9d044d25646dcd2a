import type { PermissionOption } from '@agentclientprotocol/sdk';
import type { Client } from '@countersign/client';
import { type CountersignEvent, shownDigest } from '@countersign/protocol';
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
function start() {
  const asked: {
    shown: string;
    options: PermissionOption[];
    signal: AbortSignal;
    answer: (id: string) => void;
  }[] = [];
  const sent: string[] = [];
  const said: string[] = [];
  const answered = (what: string) => async () => {
    sent.push(what);
    return { success: true };
  };
  const approvals = new EditorApprovals({
    client: {
      connection: {},
      approve: answered('approve'),
      reject: answered('reject'),
    } as unknown as Client,
    root: '/w',
    words: wordsFor({}),
    ask: (call, options, signal) =>
      new Promise((answer) => void asked.push({ shown: JSON.stringify(call), options, signal, answer })),
    show: () => {},
    say: (text) => void said.push(text),
    textOf: async () => undefined,
    askMessage: undefined,
    stopRun: async () => {
      throw new Error('the server is away');
    },
    minimumMs: 0,
  });
  return { approvals, asked, sent, said };
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
