import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApprovalDecision, createClient } from '@countersign/client';
import type { EventPayload } from '@countersign/protocol';
import { type ApprovalRequest, WorkspaceRunner, workspaceAt } from '@countersign/tool-runner';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RunnerSession, type RunnerSessionOptions } from './runner-session.ts';

/** A real runner in a real folder, and a server that answers as it is told, over real HTTP. */
let folder: string;
let server: Server;
let answers: Record<string, { status: number; body: object }>;
let sent: { path: string; body: Record<string, unknown> }[];
let shown: ApprovalRequest[];
let told: string[];
const opened: { dispose(): Promise<void> }[] = [];

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-session-')));
  mkdirSync(join(folder, 'project'));
  answers = { approve: recorded, preview: { status: 200, body: { success: true } } };
  sent = [];
  shown = [];
  told = [];
  server = createServer(async (request, response) => {
    const text = (await request.setEncoding('utf8').toArray()).join('');
    const path = request.url ?? '';
    sent.push({ path, body: text === '' ? {} : JSON.parse(text) });
    const { status, body } = answers[path.split('/').at(-1) ?? ''] ?? refusal(404, 'NOT_FOUND');
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.dispose();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const refusal = (status: number, code: string) => ({
  status,
  body: { success: false, error: `refused with ${code}`, code },
});
const recorded = { status: 200, body: { success: true, approval_id: 'approval-1', status: 'approved' } };
const silent = { debug() {}, info() {}, error() {} };
const execution = () => {
  const folders = { home: folder, config: join(folder, 'config'), state: join(folder, 'state') };
  return {
    workspace: workspaceAt(join(folder, 'project'), { folders }),
    configFolder: folders.config,
    logger: silent,
    isIsolated: true,
  };
};

function open(options: Partial<RunnerSessionOptions> = {}): RunnerSession {
  const { port } = server.address() as { port: number };
  const session = new RunnerSession({
    access: { client: createClient({ baseUrl: `http://127.0.0.1:${port}`, token: () => 'mine' }) },
    projectId: 'project',
    device: 'here',
    runner: execution(),
    cards: {
      show: (request) => shown.push(request),
      withdraw: (approvalId) => told.push(`withdraw ${approvalId}`),
    },
    lookAgainMs: 20,
    onEvent: () => {},
    onStream: () => {},
    onStarted: () => told.push('runs'),
    onTrouble: (error) => told.push(`trouble ${error}`),
    ...options,
  });
  opened.push(session);
  session.start();
  return session;
}

const timestamp = '2026-11-15T12:00:00.000Z';
const place = { project_id: 'project', session_id: 'session' };
const request: ApprovalRequest = {
  ...place,
  approval_id: 'approval-1',
  tool_id: 'tool-1',
  tool_call_id: 'call-1',
  agent: 'Agent',
  tool_name: 'write_file',
  description: 'as the server says',
  tool_params: { path: 'notes.md', content: 'new\n' },
  risk_level: 'MEDIUM',
  reasons: [],
  network: false,
  revision: 1,
  timeout_seconds: 300,
  remaining_ms: 300_000,
  expires_at: timestamp,
  runner_id: null,
  preview: null,
  digest: null,
  digest_base: null,
  offered_scopes: [],
  context: { message_id: null, run_id: null, step: null, excerpt: '' },
  timestamp,
};
const resolved: EventPayload<'approval.resolved'> = {
  ...place,
  approval_id: 'approval-1',
  tool_id: 'tool-1',
  status: 'approved',
  approved_by: 'user',
  grant_id: null,
  device: null,
  reason: null,
  message: null,
  timestamp,
};

/** The digest of the card, once it is shown. */
async function ask(session: RunnerSession): Promise<string> {
  session.runner?.receive({ event: 'tool.approval_request', data: request });
  await expect
    .poll(() => shown.map(({ description }) => description))
    .toEqual(['Agent wants to create notes.md']);
  return String(shown[0]?.digest);
}
const approval = (digest: string): ApprovalDecision => ({
  decision: 'approved',
  params: { project_id: 'project', approval_id: 'approval-1' },
  body: { digest },
});
const approvals = () => sent.filter(({ path }) => path.endsWith('/approvals/approval-1/approve'));

it('[RN-2] lets the runner send what a card decides, and tells the card what came of it', async () => {
  const session = open();
  const digest = await ask(session);
  expect(await session.decide(approval(digest))).toEqual({ outcome: 'recorded', response: recorded.body });
  expect(approvals().map(({ body }) => body)).toEqual([{ decision: 'approved', digest }]);
  // An answered card shows its outcome itself, so it is not withdrawn.
  expect([told, session.runner?.handler.pendingApprovals.size]).toEqual([['runs'], 0]);
  await expect
    .poll(() => session.runner?.handler.executionHistory)
    .toMatchObject([{ status: 'approved', user_approved: true }]);
});

it('[AP-8] a refusal is told as the client tells it; the card stays and can be answered again', async () => {
  const session = open();
  const digest = await ask(session);
  answers.approve = refusal(409, 'PREVIEW_CHANGED');
  await expect(session.decide(approval(digest))).rejects.toMatchObject({
    status: 409,
    code: 'PREVIEW_CHANGED',
  });
  expect([told, session.runner?.handler.pendingApprovals.size]).toEqual([['runs'], 1]);
  answers.approve = refusal(404, 'NOT_FOUND');
  await expect(session.decide(approval(digest))).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  answers.approve = recorded;
  expect(await session.decide(approval(digest))).toMatchObject({ outcome: 'recorded' });
  expect([told, approvals().length]).toEqual([['runs'], 3]);
});

it('[AP-2] withdraws a card that was decided elsewhere', async () => {
  const session = open();
  await ask(session);
  session.runner?.receive({ event: 'approval.resolved', data: resolved });
  await expect.poll(() => told).toEqual(['runs', 'withdraw approval-1']);
});

it('[AP-2] asks again whether our own decision stands whose response was lost, also once the event has told it', async () => {
  const session = open();
  const digest = await ask(session);
  answers.approve = refusal(503, 'UNAVAILABLE');
  const decided = session.decide(approval(digest));
  await expect.poll(() => approvals().length).toBe(1);
  answers.approve = recorded;
  session.runner?.receive({ event: 'approval.resolved', data: resolved });
  expect(await decided).toMatchObject({ outcome: 'recorded' });
  // The card shows the outcome of its decision itself, so it is not withdrawn.
  expect([told, approvals().length]).toEqual([['runs'], 2]);
});

it('sends a decision directly if the runner does not follow the approval, with the person’s message', async () => {
  const session = open();
  answers.reject = { status: 200, body: { ...recorded.body, status: 'rejected' } };
  const params = { project_id: 'project', approval_id: 'another' };
  const body = { reason: 'r', message: 'm' };
  expect(await session.decide({ decision: 'rejected', params, body })).toMatchObject({ outcome: 'recorded' });
  expect(sent).toEqual([{ path: '/my/projects/project/approvals/another/reject', body }]);
});

it('[RN-10] is a front end while another program is the runner, and becomes it when that ends', async () => {
  const api = { approveToolExecution: never, rejectToolExecution: never, sendToolResult: never };
  const first = new WorkspaceRunner({
    ...execution(),
    runnerId: 'first',
    api,
    dialogProvider: undefined,
    program: 'another program',
  });
  opened.push(first);
  const session = open();
  expect([session.runner, session.holder]).toEqual([undefined, expect.stringContaining('another program')]);
  await first.dispose();
  await expect.poll(() => told).toEqual(['runs']);
  expect([session.runner !== undefined, session.holder]).toEqual([true, undefined]);
});

it('[RN-10] hands the workspace over to an editor, and takes it back when that ends', async () => {
  const session = open({ onHandedOver: (editor) => told.push(`handed over to ${editor}`) });
  const editor = open({ device: 'the editor', runner: { ...execution(), takesOver: true } });
  await expect.poll(() => told, { timeout: 10_000 }).toEqual(['runs', 'handed over to the editor', 'runs']);
  expect([session.runner, editor.runner !== undefined]).toEqual([undefined, true]);
  await editor.dispose();
  await expect.poll(() => session.runner !== undefined, { timeout: 10_000 }).toBe(true);
});

const never = () => Promise.reject(new Error('nobody asks'));
