import { checkShown } from '@countersign/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../testing/scripted-runner.ts';
import { type Person, TestServer } from '../testing/test-server.ts';

const content = 'x'.repeat(200_000);
const base = `sha256:${'1'.repeat(64)}`;

describe('[EV-2] [DA-3] a payload as large as a file', () => {
  let server: TestServer;
  let ada: Person;
  let runner: ScriptedRunner;
  beforeAll(async () => {
    server = await TestServer.start();
    ada = await server.person('ada');
    runner = await server.runner(ada, { preview: () => undefined });
  });
  afterAll(() => server.close());

  const get = async (path: string) => (await server.send('GET', path, { token: ada.tokens.person })).body;
  const post = (path: string, token: string, body: object) =>
    server.send('POST', `/my/projects/${ada.projectId}${path}`, { token, body });
  const ask = async (path: string) =>
    (
      await server.send('POST', '/my/tools/execute', {
        token: ada.tokens.agent,
        body: { tool_name: 'write_file', tool_params: { path, content } },
      })
    ).body as { tool_id: string; approval_id: string };
  const preview = (approvalId: string, summary: string) =>
    post(`/approvals/${approvalId}/preview`, ada.tokens.runner, {
      runner_id: 'runner-1',
      revision: 1,
      preview: { kind: 'summary', summary },
      digest_base: base,
      risk_level: 'MEDIUM',
      network: false,
      reasons: [],
    });
  /** Replaces the payload by a small one, so that a test notices code that reads it. */
  const replaceParams = (toolId: string) =>
    server.store.write((tx) => tx.update('payloads', toolId, { params: { path: 'read.md', content: '' } }));

  it('is not read for lists, snapshots, previews, decisions and signals, which leave it out', async () => {
    const { tool_id, approval_id } = await ask('src/a.md');
    await replaceParams(tool_id);
    const leftOut = { approval_id, tool_params: {}, omitted: ['tool_params'] };
    const said = {
      description: expect.stringContaining('wants to change src/a.md'),
      offered_scopes: expect.arrayContaining([expect.objectContaining({ pattern: 'src/**' })]),
    };
    expect((await get('/my/approvals')).approvals).toMatchObject([{ ...leftOut, ...said }]);

    const screen = await server.listen(`/my/projects/${ada.projectId}/chat/stream`, {
      token: ada.tokens.front_end,
    });
    const shown = await screen.until(({ event }) => event === 'tool.approval_request');
    expect(shown.data).toMatchObject({ ...leftOut, ...said });

    expect((await preview(approval_id, 'what happens')).status).toBe(200);
    const updated = await screen.until(({ event }) => event === 'approval.updated');
    expect(updated.data).toMatchObject({ ...leftOut, ...said, preview: { summary: 'what happens' } });

    const { digest } = updated.data as { digest: string };
    const signal = await runner.nextSignal(() =>
      post(`/approvals/${approval_id}/approve`, ada.tokens.person, { digest }),
    );
    expect(signal).toMatchObject({ tool_id, tool_params: {}, omitted: ['tool_params'] });
    await screen.until(({ event }) => event === 'tool.result');
  });

  it('is returned with the approval or the call itself', async () => {
    const { tool_id, approval_id } = await ask('b.md');
    await preview(approval_id, content);
    expect((await get('/my/approvals')).approvals).toMatchObject([
      { approval_id, tool_params: {}, preview: null, digest_base: base, omitted: ['tool_params', 'preview'] },
    ]);
    const { approval } = await get(`/my/approvals/${approval_id}`);
    expect(approval).toMatchObject({ tool_params: { path: 'b.md', content }, preview: { summary: content } });
    expect(approval).not.toHaveProperty('omitted');
    expect(checkShown(approval)).toBe('fits');
    const call = await get(`/my/tools/${tool_id}`);
    expect(call).toMatchObject({ execution: { tool_params: { content } }, preview: { summary: content } });
    expect(call).not.toHaveProperty('requested_params');
    await post(`/approvals/${approval_id}/reject`, ada.tokens.person, {});
  });

  it('[AP-6] is kept twice only where a person edited it', async () => {
    const { tool_id, approval_id } = await ask('c.md');
    const edit = (text: string) =>
      post(`/approvals/${approval_id}/approve`, ada.tokens.person, {
        tool_params: { path: 'c.md', content: text, mode: 'write' },
      });
    const signal = await runner.nextSignal(() => edit('by a person'));
    expect(signal.tool_params).toMatchObject({ content: 'by a person' });
    expect(await get(`/my/tools/${tool_id}`)).toMatchObject({
      execution: { tool_params: { content: 'by a person' } },
      requested_params: { path: 'c.md', content },
    });
  });

  it('[AP-6] is not kept twice if the person sent the requested parameters back unchanged', async () => {
    const { tool_id, approval_id } = await ask('d.md');
    const { params } = (await server.store.read((tx) => tx.get('payloads', tool_id))) ?? {};
    const same = { tool_params: params };
    await runner.nextSignal(() => post(`/approvals/${approval_id}/approve`, ada.tokens.person, same));
    expect(await get(`/my/tools/${tool_id}`)).not.toHaveProperty('requested_params');
  });
});
