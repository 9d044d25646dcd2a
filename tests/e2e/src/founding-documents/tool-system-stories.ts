import { describe, expect, it } from 'vitest';
import { calls, type DocumentFixture, type Json, says, utcTime } from './document-fixture.ts';
import { signalled } from './workflow-stories.ts';

const never = { requires_approval: false };
const asked = { requires_approval: true };

/** The catalogue, events, result formats and monitoring of the tool-system document. */
export function describeToolSystem(fixture: () => DocumentFixture): void {
  it.each([
    ['read_file', ['path'], never],
    ['write_file', ['path', 'content'], asked],
    ['edit_file', ['path', 'old', 'new'], asked],
    ['search_files', ['pattern', 'path'], never],
    ['delete_file', ['path'], { ...asked, risk_level: 'HIGH' }],
    ['list_directory', ['path'], never],
    ['create_directory', ['path'], asked],
    ['copy_file', ['source', 'dest'], asked],
    ['git_status', ['path'], never],
    ['git_diff', ['path', 'staged'], never],
    ['git_commit', ['message', 'files'], asked],
    ['git_branch', ['name', 'create'], {}],
    ['git_log', ['limit', 'path'], never],
    ['git_push', ['remote', 'branch'], { ...asked, risk_level: 'HIGH' }],
    ['diagnostics', ['path'], never],
    ['symbols', ['path'], never],
    ['hover', ['path', 'line', 'col'], never],
    ['definition', ['path', 'line', 'col'], never],
    ['references', ['path', 'line', 'col'], never],
    ['shell_exec', ['command', 'cwd'], asked],
    ['shell_background', ['command', 'cwd'], asked],
  ])('[TL-1] offers %s (founding documents: tool-system)', async (name, parameters, approval) => {
    const person = await fixture().person();
    const { body } = await person.get(person.inProject('/tools/available'));
    const tool = (body.tools as Json[]).find((one) => one.name === name);
    expect(tool).toMatchObject(approval);
    expect(Object.keys(tool?.parameters as Json)).toEqual(expect.arrayContaining(parameters));
  });

  it('[TL-1] git_branch needs approval only when it creates a branch (founding documents: tool-system)', async () => {
    const person = await fixture().person();
    await person.startSampleClient();
    const made = [
      await person.execute('git_branch', {}),
      await person.execute('git_branch', { name: 'new', create: true }),
    ];
    const kept = await Promise.all(made.map(({ body }) => person.call(body.tool_id)));
    expect(kept.map(({ requires_approval }) => requires_approval)).toEqual([false, true]);
  });

  describe('the events of one call', () => {
    it('[EV-1] tool.call says whether approval is needed (founding documents: tool-system)', async () => {
      const person = await fixture().person();
      await person.listen();
      const { tool_id } = (await person.execute('write_file', { path: 'a.md', content: 'x' })).body;
      expect(await person.next('tool.call')).toMatchObject({
        tool_id,
        tool_name: 'write_file',
        tool_params: { path: 'a.md', content: 'x' },
        requires_approval: true,
      });
    });

    it('[EV-1] tool.progress, tool.result and file.changed follow what the client sends (founding documents: tool-system)', async () => {
      const person = await fixture().person();
      const toolId = await signalled(person);
      await person.post(person.inProject(`/tools/${toolId}/progress`), {
        progress: 50,
        message: 'Reading file...',
      });
      expect(await person.next('tool.progress')).toMatchObject({
        tool_id: toolId,
        progress: 50,
        message: 'Reading file...',
        timestamp: expect.stringMatching(utcTime),
      });
      const result = { success: true, changed_files: [{ path: 'a.md', operation: 'modified' }] };
      await person.post(person.inProject(`/tools/${toolId}/result`), { status: 'completed', result });
      expect(await person.next('tool.result')).toMatchObject({
        tool_id: toolId,
        status: 'completed',
        result,
      });
      expect(await person.next('file.changed')).toMatchObject({ path: 'a.md', operation: 'modified' });
    });

    it('[EV-1] agent.state is tool_execution while a tool runs, and idle at the end (founding documents: tool-system)', async () => {
      const person = await fixture().person({ 'a.md': 'a' });
      await person.startSampleClient();
      await person.ask('Read a.md of the tool system', [calls('read_file', { path: 'a.md' }), says('a')]);
      const states = person.all('agent.state').map(({ state }) => state);
      expect([states.includes('tool_execution'), states.at(-1)]).toEqual([true, 'idle']);
    });
  });

  describe('what the model receives', () => {
    it('[EX-3] for a success (founding documents: tool-system)', async () => {
      const person = await fixture().person({ 'a.md': 'content' });
      await person.startSampleClient();
      const { told } = await person.ask('Success format', [calls('read_file', { path: 'a.md' }), says('.')]);
      expect(told).toMatchObject([
        { status: 'success', tool_call_id: 'call_0', result: { content: 'content' } },
      ]);
    });

    it('[EX-3] for an error (founding documents: tool-system)', async () => {
      const person = await fixture().person();
      await person.startSampleClient();
      const { told } = await person.ask('Error format', [
        calls('write_file', { path: '/etc/passwd', content: 'x' }),
        says('.'),
      ]);
      expect(told).toMatchObject([
        {
          status: 'error',
          tool_call_id: 'call_0',
          error: { code: expect.any(String), message: expect.any(String), recoverable: expect.any(Boolean) },
        },
      ]);
    });

    it('[EX-3] [AP-5] for a rejection (founding documents: tool-system)', async () => {
      const person = await fixture().person();
      await person.listen();
      const answered = person.ask('Rejection format', [
        calls('write_file', { path: 'a.md', content: 'x' }),
        says('.'),
      ]);
      const { approval_id } = await person.next('tool.approval_request');
      await person.post(person.inProject(`/approvals/${approval_id}/reject`), { message: 'Wrong file path' });
      expect((await answered).told).toMatchObject([
        {
          status: 'rejected',
          tool_call_id: 'call_0',
          reason: 'User rejected the operation',
          user_message: 'Wrong file path',
        },
      ]);
    });

    it('[EX-3] includes the time that a tool took (founding documents: tool-system)', async () => {
      const person = await fixture().person({ 'a.md': 'a' });
      await person.startSampleClient();
      const { told } = await person.ask('Time format', [calls('read_file', { path: 'a.md' }), says('.')]);
      expect(told).toMatchObject([{ execution_time_ms: expect.any(Number) }]);
    });
  });

  describe('the metrics and the log', () => {
    it('[OB-1] count calls, successes, errors and rejections of each tool (founding documents: tool-system)', async () => {
      const person = await fixture().person({ 'a.md': 'a' });
      await person.startSampleClient();
      const made = await person.execute('read_file', { path: 'a.md' });
      await person.untilStatus(made.body.tool_id, 'completed');
      await person.execute('read_file', { path: '../a.md' });
      const { body } = await person.get('/my/tools/metrics');
      expect(body.tools).toMatchObject([
        { tool_name: 'read_file', total_calls: 2, success_count: 1, error_count: 1, rejected_count: 0 },
      ]);
    });

    it("[OB-1] average the time of the sample client's calls, as the server measured it (founding documents: tool-system)", async () => {
      const person = await fixture().person({ 'a.md': 'a' });
      await person.startSampleClient();
      const made = await person.execute('read_file', { path: 'a.md' });
      await person.untilStatus(made.body.tool_id, 'completed');
      const { body } = await person.get('/my/tools/metrics');
      expect(body.tools).toMatchObject([{ avg_execution_time_ms: expect.any(Number) }]);
    });

    it('[DA-1] keep each call with who approved it (founding documents: tool-system)', async () => {
      const person = await fixture().person({ 'a.md': 'a' });
      await person.startSampleClient();
      const made = await person.execute('read_file', { path: 'a.md' });
      await person.untilStatus(made.body.tool_id, 'completed');
      expect((await person.get('/my/tools/history')).body.executions).toMatchObject([
        {
          tool_call_id: expect.any(String),
          tool_id: made.body.tool_id,
          tool_name: 'read_file',
          tool_params: { path: 'a.md' },
          status: 'completed',
          error: null,
          created_at: expect.stringMatching(utcTime),
          approved_by: 'auto',
        },
      ]);
      const { body } = await person.get(`/my/tools/${made.body.tool_id}`);
      expect(body.result).toMatchObject({ content: 'a' });
    });

    it('[DA-1] keep the time of each call (founding documents: tool-system)', async () => {
      const person = await fixture().person({ 'a.md': 'a' });
      await person.startSampleClient();
      const { tool_id } = (await person.execute('read_file', { path: 'a.md' })).body;
      expect(await person.untilStatus(tool_id, 'completed')).toMatchObject({
        execution_time_ms: expect.any(Number),
      });
    });
  });
}
