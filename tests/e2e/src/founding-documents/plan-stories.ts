import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { signToken } from '../../../lab/src/tokens.ts';
import { calls, type DocumentFixture, type Json, says, uuid } from './document-fixture.ts';

/** The REST endpoints of the implementation plan, and its four scenarios with the sample client. */
export function describePlan(fixture: () => DocumentFixture): void {
  describe('the endpoints of the plan', () => {
    it('[RE-2] execute answers at once with ids and status, and with a result that comes soon (founding documents: implementation-plan)', async () => {
      const person = await fixture().person({ 'src/main.py': 'print(1)' });
      await person.startSampleClient();
      const { status, body } = await person.execute('read_file', { path: 'src/main.py' });
      expect([status, body]).toEqual([
        200,
        {
          success: true,
          tool_id: expect.stringMatching(uuid),
          session_id: expect.any(String),
          approval_id: null,
          status: 'completed',
          result: { success: true, content: 'print(1)', encoding: 'utf-8', size: 8 },
          error: null,
        },
      ]);
    });

    it('[RE-2] execute in a session that is named (founding documents: implementation-plan)', async () => {
      const person = await fixture().person();
      const made = await person.post(person.inProject('/sessions'), {});
      const { session_id } = made.body.session as Json;
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' }, { session_id });
      expect(body).toMatchObject({
        session_id,
        approval_id: expect.stringMatching(uuid),
        status: 'awaiting_approval',
        result: null,
      });
    });

    it('[RE-2] a call without a session gets a session like any other (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      const { session_id } = body;
      expect(session_id).toMatch(uuid);
      // A message makes it a conversation like any other.
      await person.post(person.inProject('/chat/messages'), { content: 'hello', session_id });
      const { body: listed } = await person.get(person.inProject('/sessions'));
      expect((listed.sessions as Json[]).map((session) => session.session_id)).toContain(session_id);
    });

    it('[RE-2] the status of one call, and the history (founding documents: implementation-plan)', async () => {
      const person = await fixture().person();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      const other = await person.execute('write_file', { path: 'b.md', content: 'x' });
      expect(await person.get(`/my/tools/${body.tool_id}`)).toMatchObject({
        status: 200,
        body: { success: true, execution: { tool_id: body.tool_id, status: 'awaiting_approval' } },
      });
      const { body: history } = await person.get('/my/tools/history');
      expect((history.executions as Json[]).map(({ tool_id }) => tool_id)).toEqual([
        other.body.tool_id,
        body.tool_id,
      ]);
    });

    it('[RE-2] approves by the confirm endpoint (founding documents: implementation-plan)', async () => {
      const person = await fixture().person();
      const { approval_id } = (await person.execute('write_file', { path: 'a.md', content: 'x' })).body;
      expect(await person.post(`/my/approvals/${approval_id}/confirm`, {})).toEqual({
        status: 200,
        body: { success: true, approval_id, status: 'approved' },
      });
    });

    it.each([
      ['approve', { decision: 'approved' }, 'approved'],
      ['reject', { reason: 'User declined' }, 'rejected'],
    ])(
      '[RE-2] /my/approvals/{id}/%s (founding documents: implementation-plan)',
      async (decision, sent, status) => {
        const person = await fixture().person();
        const { approval_id } = (await person.execute('write_file', { path: 'a.md', content: 'x' })).body;
        expect(await person.post(`/my/approvals/${approval_id}/${decision}`, sent)).toEqual({
          status: 200,
          body: { success: true, approval_id, status },
        });
      },
    );

    it('[AP-1] lists what waits for a decision (founding documents: tools-specification)', async () => {
      const person = await fixture().person();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      const { body: waiting } = await person.get('/my/approvals');
      expect(waiting.approvals).toMatchObject([
        {
          approval_id: body.approval_id,
          tool_id: body.tool_id,
          tool_name: 'write_file',
          tool_params: { path: 'a.md', content: 'x' },
          risk_level: 'MEDIUM',
          timeout_seconds: 300,
          status: 'pending',
        },
      ]);
    });
  });

  describe('the scenarios of the plan', () => {
    it('2. [EX-1] changes a JSON file once the person has agreed (founding documents: implementation-plan)', async () => {
      const person = await fixture().person({ 'config.json': '{"api_url": "http://old"}' });
      await person.startSampleClient();
      const content = '{"api_url": "http://new.api.com"}';
      const { told } = await person.ask('Set api_url in config.json, says the plan', [
        calls('write_file', { path: 'config.json', content, mode: 'write' }),
        says('Done.'),
      ]);
      expect(person.dialogs).toEqual([{ toolName: 'write_file', riskLevel: 'MEDIUM', timeoutSeconds: 300 }]);
      expect(told).toMatchObject([{ status: 'success', result: { path: 'config.json' } }]);
      expect(readFileSync(join(person.workspace, 'config.json'), 'utf8')).toBe(content);
    });

    it('3. [RK-2] asks about npm install for five minutes (founding documents: implementation-plan)', async () => {
      const person = await fixture().person();
      await person.listen();
      await person.execute('execute_command', { command: 'npm', args: ['install'], timeout: 300 });
      expect(await person.next('tool.approval_request')).toMatchObject({
        risk_level: 'MEDIUM',
        timeout_seconds: 300,
      });
    });

    it('4. [VA-4] refuses rm without asking, and tells the agent (founding documents: implementation-plan)', async () => {
      const person = await fixture().person();
      await person.startSampleClient();
      const { answer, told } = await person.ask('Remove everything, says the plan', [
        calls('execute_command', { command: 'rm', args: ['-rf', '/'] }),
        says('I may not.'),
      ]);
      expect(answer).toBe('I may not.');
      expect(told).toMatchObject([{ status: 'error' }]);
      expect(JSON.stringify(told)).toContain('Command not allowed: rm');
      expect([person.dialogs, person.all('tool.execution_signal')]).toEqual([[], []]);
    });
  });

  describe('the boundaries', () => {
    it('[RE-5] without a token, or with a wrong one: 401 (founding documents: tools-specification)', async () => {
      const person = await fixture().person();
      const statuses = ['', 'wrong', `${person.token}x`].map(async (token) => {
        const answer = await person.get('/my/tools/history', token);
        return answer.status;
      });
      expect(await Promise.all(statuses)).toEqual([401, 401, 401]);
    });

    it('[AP-9] an agent cannot approve what it asked for (founding documents: tools-specification)', async () => {
      const person = await fixture().person();
      const agent = signToken(person.userId, 'agent');
      const asked = { tool_name: 'write_file', tool_params: { path: 'a.md', content: 'x' } };
      const { body } = await person.post('/my/tools/execute', asked, agent);
      const approve = person.inProject(`/approvals/${body.approval_id}/approve`);
      const confirm = `/my/approvals/${body.approval_id}/confirm`;
      for (const path of [approve, confirm])
        expect((await person.post(path, { decision: 'approved' }, agent)).status).toBe(403);
      expect(await person.call(body.tool_id)).toMatchObject({ status: 'awaiting_approval' });
    });

    it("[RE-3] another person's call, approval and project look as if they did not exist (founding documents: tools-specification)", async () => {
      const [ada, bob] = [await fixture().person(), await fixture().person()];
      const { body } = await ada.execute('write_file', { path: 'a.md', content: 'x' });
      const answers = [
        await bob.get(`/my/tools/${body.tool_id}`),
        await bob.post(`/my/approvals/${body.approval_id}/confirm`, {}),
        await bob.post(ada.inProject(`/approvals/${body.approval_id}/approve`), {}),
        await bob.post(ada.inProject(`/tools/${body.tool_id}/result`), { status: 'completed', result: {} }),
        await bob.get(ada.inProject('/tools/available')),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
      expect((await bob.get('/my/tools/history')).body.executions).toEqual([]);
    });
  });
}
