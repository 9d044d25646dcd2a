import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, systemClock } from '@countersign/client';
import type { CountersignEvent, JsonValue } from '@countersign/protocol';
import {
  type LanguageFeatures,
  type Logger,
  personsFolders,
  WorkspaceRunner,
  workspaceAt,
} from '@countersign/tool-runner';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { PendingApprovals, type PendingEntry } from '../approvals/pending-approvals.ts';
import type { Account } from '../connection/account.ts';
import { ServerFixture } from '../server-fixture.test-data.ts';
import { FolderRunner, type FolderRunnerOptions } from './folder-runner.ts';

let fixture: ServerFixture;
let account: Account;
const opened: FolderRunner[] = [];
beforeAll(async () => {
  fixture = await ServerFixture.start();
  account = (await fixture.signIn()).account;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((folder) => folder.dispose()));
});
afterAll(() => fixture.close());

const silent: Logger = { debug() {}, info() {}, error() {} };
const nobody = (): never => {
  throw new Error('nobody asks');
};
const features: LanguageFeatures = {
  diagnostics: nobody,
  symbols: nobody,
  hover: nobody,
  definition: nobody,
  references: nobody,
};
const within = { interval: 20 };

function open(options: Partial<FolderRunnerOptions> = {}) {
  const pending = new PendingApprovals<FolderRunner>(systemClock);
  const events: CountersignEvent[] = [];
  const unauthenticated = vi.fn();
  const folder = new FolderRunner({
    account,
    folder: fixture.workspace,
    mayRun: true,
    device: 'the editor',
    environment: fixture.environment,
    documents: { list: () => [], replace: async () => false },
    languageFeatures: features,
    ripgrep: undefined,
    settings: {},
    runUnisolated: false,
    logger: silent,
    pending,
    onState: () => {},
    onEvent: (event) => events.push(event),
    onUnauthenticated: unauthenticated,
    takeOverMs: 100,
    ...options,
  });
  opened.push(folder);
  folder.start();
  folder.start(); // starting twice is harmless
  const isOpen = (runs: unknown) =>
    vi.waitFor(() => expect(folder.state).toEqual({ status: 'open', runs }), within);
  const waiting = (): Promise<PendingEntry<FolderRunner>> =>
    vi.waitFor(() => {
      const [entry] = pending.all;
      if (!entry?.request.preview) throw new Error('nothing waits');
      return entry;
    }, within);
  return { folder, pending, events, unauthenticated, isOpen, waiting };
}

async function call(folder: FolderRunner, tool_name: string, tool_params: Record<string, JsonValue>) {
  const params = { project_id: folder.project?.project_id ?? '' };
  const { session } = await account.client.createSession({ params, body: {} });
  const { session_id } = session;
  return (await account.client.executeTool({ body: { tool_name, tool_params, session_id } })).tool_id;
}

const ended = (tool_id: string) =>
  vi.waitFor(async () => {
    const { execution } = await account.client.getExecution({ params: { tool_id } });
    if (!['completed', 'failed', 'rejected'].includes(execution.status)) throw new Error(execution.status);
    return execution;
  }, within);

describe('[RN-10] a folder of the window', () => {
  it('is its runner: what is approved here runs here', async () => {
    const { folder, pending, events, isOpen, waiting } = open();
    await isOpen('here');
    expect(folder.project?.workspace).toBe(fixture.workspace);
    const toolId = await call(folder, 'write_file', { path: 'a.md', content: 'approved\n' });
    const { request } = await waiting();
    expect(await folder.proposedText(request)).toEqual({ path: 'a.md', before: null, after: 'approved\n' });
    const { project_id, approval_id, digest } = request;
    const outcome = await folder.decide({
      decision: 'approved',
      params: { project_id, approval_id },
      body: { digest: String(digest) },
    });
    expect(outcome.outcome).toBe('recorded');
    expect((await ended(toolId)).status).toBe('completed');
    expect(readFileSync(join(fixture.workspace, 'a.md'), 'utf8')).toBe('approved\n');
    await vi.waitFor(() => expect(pending.all).toEqual([]), within);
    expect(events.map(({ event }) => event)).toContain('approval.resolved');
  });

  it.each(['untrusted', 'disabled'] as const)(
    '%s runs nothing, but shows what waits and decides',
    async (mayRun) => {
      const { folder, pending, isOpen } = open({ mayRun });
      await isOpen(mayRun);
      const toolId = await call(folder, 'write_file', { path: 'no.md', content: 'x'.repeat(70_000) });
      const entry = await vi.waitFor(() => pending.all[0] ?? Promise.reject(new Error('nothing')), within);
      expect(await folder.proposedText(entry.request)).toBeUndefined();
      // Too large for an event: it was read by its id.
      expect(String(entry.request.tool_params.content)).toHaveLength(70_000);
      const { project_id, approval_id } = entry.request;
      await folder.decide({
        decision: 'rejected',
        params: { project_id, approval_id },
        body: { message: 'no' },
      });
      expect((await ended(toolId)).status).toBe('rejected');
      await vi.waitFor(() => expect(pending.all).toEqual([]), within);
    },
  );

  it('that another window runs is only watched, and taken over when that window closes', async () => {
    const first = open();
    await first.isOpen('here');
    const second = open();
    await second.isOpen({ holder: expect.stringContaining('the editor') });
    await call(second.folder, 'write_file', { path: 'b.md', content: 'x' });
    // Both windows show the request, with the preview that the first window's runner made.
    await Promise.all([first.waiting(), second.waiting()]);
    await first.folder.dispose();
    expect(first.pending.all).toEqual([]);
    await second.isOpen('here');
    const { request } = await second.waiting();
    expect(await second.folder.proposedText(request)).toMatchObject({ path: 'b.md' });
    const { project_id, approval_id } = request;
    await account.client.reject({ params: { project_id, approval_id }, body: {} });
    await vi.waitFor(() => expect(second.pending.all).toEqual([]), within);
  });

  it('that an idle program runs is taken over, if the program hands it over', async () => {
    const folders = personsFolders(fixture.environment);
    const terminal = new WorkspaceRunner({
      runnerId: 'terminal',
      workspace: workspaceAt(fixture.workspace, { folders }),
      configFolder: folders.config,
      api: { approveToolExecution: nobody, rejectToolExecution: nobody, sendToolResult: nobody },
      dialogProvider: undefined,
      logger: silent,
      program: 'the terminal',
      onWanted: () => void terminal.dispose(),
    });
    const { isOpen } = open();
    await isOpen('here');
  });

  it('[RN-2] shows only what its own runner draws; without one, what the server says', async () => {
    const lie = {
      event: 'tool.approval_request',
      data: { approval_id: 'forged', revision: 1, remaining_ms: 1_000, preview: null, timestamp: 'now' },
    } as unknown as CountersignEvent;
    const runs = open();
    await runs.isOpen('here');
    runs.folder.approvals.receive(lie);
    expect(runs.pending.all).toEqual([]);
    const watches = open({ mayRun: 'untrusted' });
    await watches.isOpen('untrusted');
    watches.folder.approvals.receive(lie);
    expect(watches.pending.all).toHaveLength(1);
  });

  it("[RN-2] requires a card that it drew itself for calls that this machine's ceiling names", async () => {
    const { folder, isOpen, waiting, pending } = open();
    await isOpen('here');
    const ceiling = join(fixture.folder, 'config/countersign/ceiling.json');
    mkdirSync(join(fixture.folder, 'config/countersign'), { recursive: true });
    writeFileSync(join(fixture.workspace, 'gone.md'), 'x');
    const toolId = await call(folder, 'delete_file', { path: 'gone.md' });
    const { request } = await waiting();
    expect([request.risk_level, folder.wantsOwnCard(request)]).toEqual(['HIGH', false]);
    writeFileSync(ceiling, '{"version": 1, "decide_here": ["HIGH"]}');
    try {
      expect(folder.wantsOwnCard(request)).toBe(true);
      expect(folder.wantsOwnCard({ ...request, risk_level: 'MEDIUM' })).toBe(false);
      expect(open({ mayRun: 'untrusted' }).folder.wantsOwnCard(request)).toBe(false);
      // A decision made elsewhere does not run the call: the person is asked again, and a decision made here runs it.
      const { project_id, approval_id, digest } = request;
      const body = { digest: String(digest) };
      await account.client.approve({ params: { project_id, approval_id }, body });
      const again = await vi.waitFor(() => {
        const entry = pending.all.find(({ request: { approval_id: id } }) => id !== approval_id);
        if (!entry?.request.digest) throw new Error('nothing waits');
        return entry.request;
      }, within);
      await folder.decide({
        decision: 'approved',
        params: { project_id, approval_id: again.approval_id },
        body: { digest: String(again.digest) },
      });
      expect((await ended(toolId)).status).toBe('completed');
    } finally {
      rmSync(ceiling);
    }
  });

  it('ends at once while the server does not respond, and reports nothing afterwards', async () => {
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const silentServer: Account = {
      ...account,
      client: createClient({
        baseUrl: account.server,
        token: () => 'x',
        fetch: (_input, { signal } = {}) =>
          new Promise((_resolve, reject) => {
            asked();
            signal?.addEventListener('abort', () => reject(signal.reason));
          }),
      }),
    };
    const onState = vi.fn();
    const { folder, unauthenticated } = open({ account: silentServer, onState });
    await isAsked;
    await folder.dispose();
    expect([onState.mock.calls.length, unauthenticated.mock.calls.length]).toEqual([0, 0]);
  }, 4_000);

  it('[TL-3] does not run with an invalid setting, and names it', async () => {
    const { folder } = open({ settings: { commandTimeoutMs: 5, entriesMax: null } });
    await vi.waitFor(
      () =>
        expect(folder.state).toEqual({
          status: 'failed',
          problem: expect.stringContaining('countersign.runner.commandTimeoutMs: '),
        }),
      within,
    );
  });

  it('says why it cannot be the runner', async () => {
    expect(open({ folder: join(fixture.folder, 'missing') }).folder.state).toMatchObject({
      status: 'failed',
    });
    // The home has the tokens and the journals in it.
    expect(open({ folder: fixture.folder }).folder.state).toMatchObject({
      status: 'failed',
      problem: expect.stringContaining('Countersign itself keeps'),
    });
    mkdirSync(join(fixture.folder, 'config/countersign'), { recursive: true });
    const settings = join(fixture.folder, 'config/countersign/runner.json');
    writeFileSync(settings, 'no JSON');
    const { folder } = open();
    await vi.waitFor(() => expect(folder.state.status).toBe('failed'), within);
    writeFileSync(settings, '{"version": 1}');
  });

  it('retries at once when the person asks for it, and resets the back-off', async () => {
    const { ApiError } = await import('@countersign/client');
    const nowhere = { ...account, client: { ...account.client } };
    let tries = 0;
    const listProjects = async () => {
      tries += 1;
      throw new ApiError(0, 'UNAVAILABLE', 'The server did not answer.');
    };
    Object.assign(nowhere.client, { listProjects });
    const { folder } = open({ account: nowhere });
    const waits = (retryInMs: number) =>
      vi.waitFor(() => expect(folder.state).toMatchObject({ status: 'waiting', retryInMs }), within);
    await waits(2_000); // after the first second
    const before = tries;
    folder.retryNow();
    await waits(1_000);
    expect(tries).toBe(before + 1);
    Object.assign(nowhere.client, { listProjects: account.client.listProjects });
    folder.retryNow();
    await vi.waitFor(() => expect(folder.state.status).toBe('open'), within);
    folder.retryNow(); // has no effect on an open connection
    expect(folder.state.status).toBe('open');
  });

  it('retries while the server is unreachable, and reports an expired sign-in', async () => {
    const nowhere = { ...account, client: { ...account.client } };
    const { ApiError } = await import('@countersign/client');
    let answer: () => never = () => {
      throw new ApiError(0, 'UNAVAILABLE', 'The server did not answer.');
    };
    Object.assign(nowhere.client, { listProjects: async () => answer() });
    const { folder, unauthenticated } = open({ account: nowhere });
    await vi.waitFor(
      () =>
        expect(folder.state).toEqual({
          status: 'waiting',
          problem: 'The server did not answer.',
          retryInMs: 1_000,
        }),
      within,
    );
    answer = () => {
      throw new ApiError(401, 'UNAUTHENTICATED', 'Sign in again.');
    };
    await vi.waitFor(() => expect(unauthenticated).toHaveBeenCalledOnce(), within);
    expect(folder.state).toEqual({ status: 'failed', problem: 'Sign in again.' });
  });
});
