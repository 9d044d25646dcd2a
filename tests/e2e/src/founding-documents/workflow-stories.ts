import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../../lab/src/waiting.ts';
import {
  calls,
  type DocumentFixture,
  type Json,
  type Person,
  says,
  utcTime,
  uuid,
} from './document-fixture.ts';

const npmTest = { command: 'npm', args: ['test'], timeout: 30 };
const withTests = {
  'package.json': '{ "scripts": { "test": "node test.js" } }',
  'test.js': 'console.log("all green")',
};

/** The thirteen steps of the workflow document, its states, endpoints and events. */
export function describeWorkflow(fixture: () => DocumentFixture): void {
  describe('the sample client', () => {
    it('[EX-1] reads a file that the agent asks for: LOW, without approval (founding documents: workflow)', async () => {
      const person = await fixture().person({ 'src/main.py': 'print("hello")' });
      await person.startSampleClient();
      const { answer, told } = await person.ask('Read src/main.py of the workflow', [
        calls('read_file', { path: 'src/main.py' }),
        says('It prints hello.'),
      ]);
      expect(answer).toBe('It prints hello.');
      expect(told).toMatchObject([{ status: 'success', result: { content: 'print("hello")' } }]);
      expect(person.dialogs).toEqual([]);
      const [signal] = person.all('tool.execution_signal');
      expect(signal).toMatchObject({
        tool_id: expect.stringMatching(uuid),
        tool_name: 'read_file',
        tool_params: { path: 'src/main.py' },
        timestamp: expect.stringMatching(utcTime),
      });
      expect(await person.call(signal?.tool_id)).toMatchObject({
        status: 'completed',
        risk_level: 'LOW',
        requires_approval: false,
        approval_id: null,
      });
      expect(person.logged).toEqual(['Tool result sent successfully']);
    });

    it('[EX-1] [AP-2] runs npm test once the dialog was answered with yes (founding documents: workflow)', async () => {
      const person = await fixture().person(withTests);
      await person.startSampleClient(() => true);
      const { answer, told } = await person.ask('Run the tests, please', [
        calls('execute_command', npmTest),
        says('All green.'),
      ]);
      expect(answer).toBe('All green.');
      expect(told).toMatchObject([{ status: 'success', result: { success: true, exit_code: 0 } }]);
      expect(JSON.stringify(told)).toContain('all green');
      expect(person.dialogs).toEqual([
        { toolName: 'execute_command', riskLevel: 'MEDIUM', timeoutSeconds: 300 },
      ]);
      const [request] = person.all('tool.approval_request');
      expect(await person.call(request?.tool_id)).toMatchObject({
        status: 'completed',
        approved_by: 'user',
        approval_id: request?.approval_id,
        approved_at: expect.stringMatching(utcTime),
        completed_at: expect.stringMatching(utcTime),
      });
    });

    it('[AP-5] does not run the tool once the dialog was answered with no (founding documents: workflow)', async () => {
      const person = await fixture().person(withTests);
      await person.startSampleClient(() => false);
      const { answer, told } = await person.ask('Run the tests, if I agree', [
        calls('execute_command', npmTest),
        says('Then not.'),
      ]);
      expect(answer).toBe('Then not.');
      expect(told).toMatchObject([{ status: 'rejected', reason: 'User declined' }]);
      expect(person.all('tool.execution_signal')).toEqual([]);
      const [request] = person.all('tool.approval_request');
      expect(await person.call(request?.tool_id)).toMatchObject({ status: 'rejected' });
    });

    it('[RE-3] reports a missing program as an error to the agent (founding documents: workflow)', async () => {
      const person = await fixture().person();
      await person.startSampleClient(undefined, async () => {
        throw new Error('Command not found: npm');
      });
      const { told } = await person.ask('Count the lines of nothing', [
        calls('execute_command', { command: 'wc', args: ['-l', 'nothing.md'] }),
        says('That did not work.'),
      ]);
      expect(told).toMatchObject([{ status: 'error', error: { message: 'Command not found: npm' } }]);
      const { tool_id } = await person.next('tool.result');
      expect(await person.call(tool_id)).toMatchObject({
        status: 'failed',
        error: { message: 'Command not found: npm' },
      });
    });

    it('[TL-2] a command that exits with 1 is completed, without success (founding documents: workflow)', async () => {
      const person = await fixture().person({ 'a.txt': 'text' });
      await person.startSampleClient();
      const { told } = await person.ask('Look for what is not there', [
        calls('execute_command', { command: 'grep', args: ['nowhere', 'a.txt'] }),
        says('It is not there.'),
      ]);
      const { tool_id } = await person.next('tool.result');
      expect(await person.call(tool_id)).toMatchObject({ status: 'completed', error: null });
      expect((await person.get(`/my/tools/${tool_id}`)).body.result).toMatchObject({
        success: false,
        exit_code: 1,
      });
      expect(JSON.stringify(told)).toContain('"exit_code":1');
    });

    it('[EX-4] runs several calls of one step side by side, each by itself (founding documents: workflow)', async () => {
      const person = await fixture().person({ 'one.md': '1', 'two.md': '2' });
      let underway = 0;
      let release = () => {};
      const bothUnderway = new Promise<void>((resolve) => {
        release = resolve;
      });
      await person.startSampleClient(undefined, async (_, { path }) => {
        underway += 1;
        if (underway === 2) release();
        await bothUnderway;
        const content = readFileSync(join(person.workspace, String(path)), 'utf8');
        return { success: true, content, encoding: 'utf-8', size: content.length };
      });
      const { told } = await person.ask('Read both files', [
        [
          { call: { name: 'read_file', args: { path: 'one.md' }, id: 'call_1' } },
          { call: { name: 'read_file', args: { path: 'two.md' }, id: 'call_2' } },
        ],
        says('One and two.'),
      ]);
      expect(told.map(({ tool_call_id, status }) => [tool_call_id, status])).toEqual([
        ['call_1', 'success'],
        ['call_2', 'success'],
      ]);
      expect(new Set(person.all('tool.execution_signal').map(({ tool_id }) => tool_id)).size).toBe(2);
    });
  });

  describe('a body without a JSON content type, with a bearer and without an Origin', () => {
    it.each([
      ['as fetch sends a text', 'text/plain;charset=UTF-8'],
      ['without any type', undefined],
    ])('[RE-5] %s: approving works (founding documents: workflow)', async (_, contentType) => {
      const person = await fixture().person();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      const path = person.inProject(`/approvals/${body.approval_id}/approve`);
      expect(await person.postAs(path, { decision: 'approved' }, contentType)).toEqual({
        status: 200,
        body: { success: true, approval_id: body.approval_id, status: 'approved' },
      });
    });
  });

  describe('the events', () => {
    it('[EV-1] a request for approval has the fields of the document (founding documents: workflow)', async () => {
      const person = await fixture().person(withTests);
      await person.listen();
      const { body } = await person.execute('execute_command', npmTest);
      expect(await person.next('tool.approval_request')).toMatchObject({
        approval_id: body.approval_id,
        tool_id: body.tool_id,
        tool_name: 'execute_command',
        risk_level: 'MEDIUM',
        timeout_seconds: 300,
        description: expect.stringContaining('npm test'),
        timestamp: expect.stringMatching(utcTime),
      });
    });

    it('[EV-1] an accepted result is acknowledged (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const toolId = await signalled(person);
      await person.post(person.inProject(`/tools/${toolId}/result`), done);
      expect(await person.next('tool.result_ack')).toMatchObject({
        tool_id: toolId,
        status: 'received',
        timestamp: expect.stringMatching(utcTime),
      });
    });

    it('[AP-1] the description says what the agent wants to change (founding documents: tools-specification)', async () => {
      const person = await fixture().person({ 'config.json': '{}' });
      await person.listen();
      await person.execute('write_file', { path: 'config.json', content: '{"a": 1}' });
      expect(await person.next('tool.approval_request')).toMatchObject({
        description: 'Agent wants to change config.json',
      });
    });
  });

  describe('the states', () => {
    it('[EX-2] pending is announced before the approval request (founding documents: workflow)', async () => {
      const person = await fixture().person();
      await person.listen();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      await person.next('tool.approval_request', ({ tool_id }) => tool_id === body.tool_id);
      const about = person.seen.filter(({ data }) => data.tool_id === body.tool_id);
      const asked = about.findIndex(({ name }) => name === 'tool.approval_request');
      expect(about.slice(0, asked).map(({ data }) => data.status)).toContain('pending');
    });

    it('[EX-2] awaiting_approval until a person decides (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      expect(body.status).toBe('awaiting_approval');
      expect(await person.call(body.tool_id)).toMatchObject({
        status: 'awaiting_approval',
        requires_approval: true,
      });
    });

    it('[EX-2] approved while no runner is connected (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      await person.post(person.inProject(`/approvals/${body.approval_id}/approve`), { decision: 'approved' });
      expect(await person.call(body.tool_id)).toMatchObject({ status: 'approved', approved_by: 'user' });
    });

    it('[EX-2] approved becomes executing with the signal (founding documents: workflow)', async () => {
      const person = await fixture().person();
      await person.listen();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      await person.post(person.inProject(`/approvals/${body.approval_id}/approve`), { decision: 'approved' });
      await person.next('tool.execution_signal');
      expect(await person.call(body.tool_id)).toMatchObject({ status: 'executing' });
    });

    it('[EX-2] a LOW call is executing with the signal (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const toolId = await signalled(person);
      expect(await person.call(toolId)).toMatchObject({ status: 'executing', approved_by: 'auto' });
    });

    it('[EX-2] executing is announced when a LOW call is claimed (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const toolId = await signalled(person);
      await person.post(person.inProject(`/tools/${toolId}/result`), done);
      await person.next('tool.result');
      const states = person.seen.filter(({ data }) => data.tool_id === toolId).map(({ data }) => data.status);
      expect(states).toContain('executing');
    });

    it('[AP-3] timeout when nobody decides, and the agent goes on with "Approval timeout" (founding documents: workflow)', async () => {
      const person = await fixture().person();
      await person.listen();
      const asked = person.ask('Write late.md of the workflow', [
        calls('write_file', { path: 'late.md', content: 'x' }),
        says('Later, then.'),
      ]);
      const { approval_id, tool_id } = await person.next('tool.approval_request');
      // Nearly expired when the server comes back. If that takes longer, there are 30 s of grace.
      await fixture().restart(() =>
        fixture().database.query(
          'update approvals set deadline_at = $1 where id = $2 returning id',
          Date.now() + 3_000,
          String(approval_id),
        ),
      );
      const { answer, told } = await asked;
      expect(answer).toBe('Later, then.');
      expect(JSON.stringify(told)).toContain('Approval timeout');
      expect(await person.call(tool_id)).toMatchObject({ status: 'timeout' });
      expect(person.all('tool.execution_signal')).toEqual([]);
    });

    it('[EX-1] failed without asking when the parameters are not valid (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const { body } = await person.execute('write_file', { path: '../outside.md', content: 'x' });
      expect(body).toMatchObject({ success: false, code: 'PATH_OUTSIDE_WORKSPACE' });
      expect(await person.call(body.tool_id)).toMatchObject({
        status: 'failed',
        approval_id: null,
        error: { code: 'PATH_OUTSIDE_WORKSPACE' },
      });
    });
  });

  describe('the endpoints', () => {
    it('[RE-3] accept a result: 200 (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const toolId = await signalled(person);
      const { status, body } = await person.post(person.inProject(`/tools/${toolId}/result`), done);
      expect([status, body]).toEqual([
        200,
        {
          success: true,
          tool_id: toolId,
          status: 'completed',
          message: expect.any(String),
          audit_head: expect.any(String),
        },
      ]);
    });

    it('[RE-3] accept an error as text (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const toolId = await signalled(person);
      const failed = { status: 'failed', error: 'Command not found: npm' };
      const { body } = await person.post(person.inProject(`/tools/${toolId}/result`), failed);
      expect(body).toMatchObject({ success: true, tool_id: toolId, status: 'failed' });
    });

    it('[RE-3] 404 for an unknown call (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const path = person.inProject('/tools/123e4567-e89b-12d3-a456-426614174000/result');
      expect(await person.post(path, done)).toMatchObject({ status: 404, body: { success: false } });
    });

    it.each([
      ['without a status', { result: {} }],
      ['with a status that nobody knows', { status: 'maybe', result: {} }],
      ['that failed without an error', { status: 'failed' }],
      ['that is a text', 'completed'],
    ])(
      '[RE-3] 400 for a result %s, and nothing changes (founding documents: workflow)',
      async (_, result) => {
        const person = await fixture().person();
        const toolId = await signalled(person);
        const { status, body } = await person.post(person.inProject(`/tools/${toolId}/result`), result);
        expect([status, body.success]).toEqual([400, false]);
        expect(await person.call(toolId)).toMatchObject({ status: 'executing' });
      },
    );

    it('[RE-3] 500 when the server itself fails, and the result is accepted later (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const toolId = await signalled(person);
      const path = person.inProject(`/tools/${toolId}/result`);
      const { database } = fixture();
      await database.query('alter table results rename to results_away');
      const failed = await person.post(path, done);
      await database.query('alter table results_away rename to results');
      expect(failed).toMatchObject({ status: 500, body: { success: false } });
      await until(async () => (await person.post(path, done)).status === 200, {
        otherwise: () => 'the result is not taken',
      });
      expect(await person.call(toolId)).toMatchObject({ status: 'completed' });
    });

    it.each([
      ['approve', { decision: 'approved' }, 'approved'],
      ['reject', { reason: 'User declined execution' }, 'rejected'],
    ])('[RE-1] %s (founding documents: workflow)', async (decision, sent, status) => {
      const person = await fixture().person();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      const { approval_id } = body;
      expect(await person.post(person.inProject(`/approvals/${approval_id}/${decision}`), sent)).toEqual({
        status: 200,
        body: { success: true, approval_id, status },
      });
    });

    it('[TL-1] list the tools with the fields of the document (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const { body } = await person.get(person.inProject('/tools/available'));
      const tools = body.tools as Json[];
      expect([body.success, body.total_count]).toEqual([true, tools.length]);
      const named = (name: string) => tools.find((tool) => tool.name === name);
      expect(named('read_file')).toMatchObject({
        description: expect.any(String),
        parameters: { path: { type: 'string' } },
        requires_approval: false,
        risk_level: 'LOW',
        timeout_seconds: 0,
      });
      expect(named('execute_command')).toMatchObject({
        description: expect.any(String),
        parameters: {
          command: { type: 'string' },
          args: { type: 'array' },
          timeout: { type: 'integer' },
        },
        requires_approval: true,
        risk_level: 'MEDIUM',
        timeout_seconds: 300,
      });
    });
  });
}

const done = { status: 'completed', result: { success: true, stdout: 'a', stderr: null, exit_code: 0 } };

/** A LOW call whose signal arrived on this person's stream: the signal is the claim (EV-3). */
export async function signalled(person: Person, tool = 'read_file', params: Json = { path: 'a.md' }) {
  await person.listen();
  const answered = person.execute(tool, params);
  const { tool_id } = await person.next('tool.execution_signal');
  // The response waits a moment for a result, which may never come, even while a later story restarts the server.
  answered.catch(() => {});
  return String(tool_id);
}
