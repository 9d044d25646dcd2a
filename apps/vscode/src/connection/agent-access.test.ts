import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@countersign/client';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PendingApprovals } from '../approvals/pending-approvals.ts';
import { FolderRunner } from '../runner/folder-runner.ts';
import { MemorySecrets, ServerFixture } from '../server-fixture.test-data.ts';
import { wordsFor } from '../words.ts';
import type { Account } from './account.ts';
import { AgentAccess } from './agent-access.ts';

let fixture: ServerFixture;
let account: Account;
let folder: FolderRunner;
const pending = new PendingApprovals<FolderRunner>(systemClock);
const within = { interval: 20 };
const nobody = (): never => {
  throw new Error('nobody asks');
};

beforeAll(async () => {
  fixture = await ServerFixture.start();
  account = (await fixture.signIn()).account;
  writeFileSync(join(fixture.workspace, 'a.md'), 'read by an agent\n');
  folder = new FolderRunner({
    account,
    folder: fixture.workspace,
    mayRun: true,
    device: 'the editor',
    environment: fixture.environment,
    documents: { list: () => [], replace: async () => false },
    languageFeatures: {
      diagnostics: nobody,
      symbols: nobody,
      hover: nobody,
      definition: nobody,
      references: nobody,
    },
    ripgrep: undefined,
    settings: {},
    runUnisolated: false,
    logger: { debug() {}, info() {}, error() {} },
    pending,
    onState: () => {},
    onEvent: () => {},
    onUnauthenticated: () => {},
  });
  folder.start();
  await vi.waitFor(() => expect(folder.state).toEqual({ status: 'open', runs: 'here' }), within);
});
afterAll(async () => {
  await folder.dispose();
  await fixture.close();
});

function setUp({ secrets = new MemorySecrets(), language = 'en' } = {}) {
  const mayRestore = vi.fn(async () => false);
  const access = new AgentAccess({ secrets, name: wordsFor(language).mcp.token, mayRestore });
  const project = folder.project;
  if (!project) throw new Error('There is no project');
  return { access, mayRestore, project, secrets, token: () => access.tokenFor(account, project) };
}

/** Connects as the editor does, with the contributed address and the token in a header. */
async function connect(token: string | undefined): Promise<Client> {
  const agent = new Client({ name: 'the agent of the editor', version: '1' });
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await agent.connect(new StreamableHTTPClientTransport(new URL(`${account.server}/mcp`), { requestInit }));
  return agent;
}

describe("[UI-5] the editor's own agent", () => {
  it('uses the tools of the folder, and what changes something is asked', async () => {
    const agent = await connect(await setUp().token());
    const { tools } = await agent.listTools();
    expect(tools.map(({ name }) => name)).toContain('read_file');
    const read = await agent.callTool({ name: 'read_file', arguments: { path: 'a.md' } });
    expect(read.structuredContent).toMatchObject({
      status: 'success',
      result: { content: 'read by an agent\n' },
    });

    const writing = agent.callTool({ name: 'write_file', arguments: { path: 'b.md', content: 'b\n' } });
    const { request } = await vi.waitFor(() => {
      const [entry] = pending.all;
      if (!entry?.request.digest) throw new Error('nothing waits');
      return entry;
    }, within);
    expect(request.description).toMatch(/^VS Code \(MCP\) wants to /);
    const { project_id, approval_id, digest } = request;
    const body = { digest: String(digest) };
    await folder.decide({ decision: 'approved', params: { project_id, approval_id }, body });
    expect((await writing).structuredContent).toMatchObject({ status: 'success' });
    expect(readFileSync(join(fixture.workspace, 'b.md'), 'utf8')).toBe('b\n');
    await agent.close();
  });

  it('keeps its token, under a name that the server accepts in each language', async () => {
    const { token, mayRestore } = setUp({ language: 'ru' });
    const first = await token();
    expect([await token(), mayRestore.mock.calls.length]).toEqual([first, 0]);
  });

  it('[AP-9] stays out once the person has revoked its access, until they give it back', async () => {
    const { token, mayRestore, secrets, project } = setUp();
    const first = await token();
    const agent = await connect(first);
    const [kept] = JSON.parse(secrets.kept.get('countersign.mcp') ?? '[]');
    await account.client.revokeToken({ params: { token_id: kept.tokenId } });
    await expect(agent.listTools()).rejects.toThrow();

    expect([await token(), await token()]).toEqual([undefined, undefined]);
    expect(mayRestore.mock.calls).toEqual([[project], [project]]);
    mayRestore.mockResolvedValueOnce(true);
    const again = await token();
    expect(again).not.toBe(first);
    expect((await (await connect(again)).listTools()).tools.length).toBeGreaterThan(0);
    expect([await token(), mayRestore.mock.calls.length]).toEqual([again, 3]);
  });

  it('gets a new token when the old one is about to end', async () => {
    const { token, secrets, mayRestore } = setUp();
    const first = await token();
    const [kept] = JSON.parse(secrets.kept.get('countersign.mcp') ?? '[]');
    secrets.kept.set('countersign.mcp', JSON.stringify([{ ...kept, endsAt: Date.now() + 3_600_000 }]));
    expect(await token()).not.toBe(first);
    expect(mayRestore).not.toHaveBeenCalled();
  });

  it('gets no token while it is unknown whether the old one was revoked', async () => {
    const { access, token, project } = setUp();
    await token();
    const { ApiError } = await import('@countersign/client');
    const listTokens = async (): Promise<never> => {
      throw new ApiError(0, 'UNAVAILABLE', 'The server did not answer.');
    };
    const away = { ...account, client: { ...account.client, listTokens } };
    await expect(access.tokenFor(away, project)).rejects.toThrow('did not answer');
  });

  it('is out when the person signs out, of this server only', async () => {
    const { access, token, secrets } = setUp();
    const agent = await connect(await token());
    const [kept] = JSON.parse(secrets.kept.get('countersign.mcp') ?? '[]');
    const elsewhere = { ...kept, server: 'https://example.org' };
    await secrets.store('countersign.mcp', JSON.stringify([kept, elsewhere]));
    await access.revoke(account);
    expect(JSON.parse(secrets.kept.get('countersign.mcp') ?? '[]')).toEqual([elsewhere]);
    await expect(agent.listTools()).rejects.toThrow();
    await access.revoke({ ...account, server: 'https://example.org' });
    expect(secrets.kept.size).toBe(0);
  });

  it('starts over if the stored tokens cannot be read', async () => {
    const secrets = new MemorySecrets();
    for (const text of ['no JSON', '{}']) {
      await secrets.store('countersign.mcp', text);
      expect(await setUp({ secrets }).token()).toEqual(expect.any(String));
    }
  });
});
