import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { releaseCommands } from '@countersign/testing/release-commands';
import { beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../../lab/src/waiting.ts';
import { calls, type DocumentFixture, type Json, type Person, says, utcTime } from './document-fixture.ts';
import { startHandler } from './handler-over-rest.ts';

/** The scenarios of the local execution document: the real ToolHandler, disk and server. */
export function describeToolHandler(fixture: () => DocumentFixture): void {
  describe('ToolHandler', () => {
    let person: Person;
    beforeEach(async () => {
      person = await fixture().person({
        'README.md': 'Read me',
        'config.json': '{}',
        'make.js': 'require("fs").writeFileSync("made.md", "made")',
        'fail.js': 'console.log("half"); process.exit(3)',
        'wait.js': waitForRelease,
        '.hidden': 'x',
      });
    });
    const result = async (toolId: unknown) => (await person.get(`/my/tools/${toolId}`)).body.result as Json;
    const ended = async (toolId: unknown) => {
      await person.next('tool.result', ({ tool_id }) => tool_id === toolId);
      return person.call(toolId);
    };
    const content = (path: string) => readFileSync(join(person.workspace, path), 'utf8');

    it('[RN-1] starts with nothing pending, active or in its history (founding documents: local-tool-execution)', async () => {
      const { handler } = await startHandler(person);
      expect({
        pending: handler.pendingApprovals.size,
        active: handler.activeExecutions.size,
        history: handler.executionHistory,
        count: handler.concurrentCount,
        queue: handler.concurrentQueue,
      }).toEqual({ pending: 0, active: 0, history: [], count: 0, queue: [] });
    });

    it('[TL-2] reads a file at once (founding documents: local-tool-execution, tools-specification)', async () => {
      const { handler, log } = await startHandler(person);
      const { body } = await person.execute('read_file', { path: 'README.md' });
      expect(await ended(body.tool_id)).toMatchObject({ status: 'completed' });
      expect(await result(body.tool_id)).toMatchObject({
        success: true,
        content: 'Read me',
        encoding: 'utf-8',
        size: 7,
      });
      expect(handler.executionHistory).toMatchObject([
        {
          tool_id: body.tool_id,
          tool_type: 'read_file',
          status: 'completed',
          duration_ms: expect.any(Number),
          risk_level: 'LOW',
        },
      ]);
      const ack = `Tool result ack received: ${body.tool_id}, received`;
      await until(() => log.some(({ message }) => message === ack), {
        otherwise: () => 'no acknowledgement',
      });
      const info = log.filter(({ level }) => level === 'info').map(({ message }) => message);
      expect(info).toEqual(
        expect.arrayContaining([
          `Tool execution signal received: ${body.tool_id}, read_file`,
          `Tool execution started: ${body.tool_id}, read_file`,
          `Tool execution completed: ${body.tool_id}`,
        ]),
      );
    });

    it('[TL-2] lists a folder; names that begin with a dot only where asked for (founding documents: tools-specification)', async () => {
      await startHandler(person);
      const plain = await person.execute('list_directory', { path: '.' });
      await ended(plain.body.tool_id);
      const listed = await result(plain.body.tool_id);
      const files = listed.files as Json[];
      expect(listed).toMatchObject({ success: true, total_count: 5 });
      expect(files.find(({ name }) => name === 'README.md')).toEqual({
        name: 'README.md',
        path: 'README.md',
        type: 'file',
        size: 7,
        modified: expect.stringMatching(utcTime),
      });
      const dots = await person.execute('list_directory', { path: '.', pattern: '.*' });
      await ended(dots.body.tool_id);
      expect((await result(dots.body.tool_id)).files).toMatchObject([{ name: '.hidden' }]);
    });

    it('[RN-1] [TL-2] writes a file once the dialog said yes (founding documents: local-tool-execution)', async () => {
      const { handler, log } = await startHandler(person, () => true);
      const { body } = await person.execute('write_file', { path: 'config.json', content: '{"a": 1}' });
      expect(await ended(body.tool_id)).toMatchObject({ status: 'completed', approved_by: 'user' });
      expect(await result(body.tool_id)).toMatchObject({ success: true, path: 'config.json', size: 8 });
      expect(content('config.json')).toBe('{"a": 1}');
      expect(log.map(({ message }) => message)).toContain(
        `Tool approval request received: ${body.tool_id}, write_file, risk_level=MEDIUM`,
      );
      expect(handler.pendingApprovals.size).toBe(0);
      expect(await person.next('file.changed')).toMatchObject({
        path: 'config.json',
        operation: 'modified',
      });
    });

    it('[TL-2] appends (founding documents: tools-specification)', async () => {
      await startHandler(person, () => true);
      const { body } = await person.execute('write_file', {
        path: 'README.md',
        content: ', please',
        mode: 'append',
      });
      await ended(body.tool_id);
      expect(content('README.md')).toBe('Read me, please');
    });

    it("[RN-1] sends 'User declined' once the dialog said no (founding documents: local-tool-execution)", async () => {
      const { handler } = await startHandler(person, () => false);
      const { body } = await person.execute('write_file', { path: 'new.md', content: 'x' });
      await person.untilStatus(body.tool_id, 'rejected');
      const { decision } = (await person.get(`/my/tools/${body.tool_id}`)).body;
      expect(decision).toMatchObject({ status: 'rejected', reason: 'User declined' });
      expect(existsSync(join(person.workspace, 'new.md'))).toBe(false);
      expect(handler.executionHistory).toMatchObject([{ status: 'rejected', user_approved: false }]);
    });

    it('[RK-1] [AP-7] deletes a file, HIGH, once its preview was shown and the dialog said yes (founding documents: tool-system)', async () => {
      await startHandler(person, () => true);
      const { body } = await person.execute('delete_file', { path: 'README.md' });
      expect(await ended(body.tool_id)).toMatchObject({ status: 'completed', risk_level: 'HIGH' });
      expect(existsSync(join(person.workspace, 'README.md'))).toBe(false);
    });

    it('[TL-2] runs a command (founding documents: local-tool-execution, tools-specification)', async () => {
      await startHandler(person, () => true);
      const { body } = await person.execute('execute_command', { command: 'node', args: ['make.js'] });
      expect(await ended(body.tool_id)).toMatchObject({ status: 'completed' });
      expect(await result(body.tool_id)).toMatchObject({
        success: true,
        stdout: '',
        stderr: '',
        exit_code: 0,
        execution_time: expect.any(Number),
      });
      expect(content('made.md')).toBe('made');
    });

    it('[TL-2] [EV-1] a command reports the files it changed (founding documents: tool-system)', async () => {
      await startHandler(person, () => true);
      const { body } = await person.execute('execute_command', { command: 'node', args: ['make.js'] });
      await ended(body.tool_id);
      expect(
        person
          .all('file.changed', ({ tool_id }) => tool_id === body.tool_id)
          .map(({ path, operation }) => ({ path, operation })),
      ).toEqual([{ path: 'made.md', operation: 'created' }]);
    });

    it('[TL-2] a command that exits with 3 is completed, without success (founding documents: tools-specification)', async () => {
      await startHandler(person, () => true);
      const { body } = await person.execute('execute_command', { command: 'node', args: ['fail.js'] });
      expect(await ended(body.tool_id)).toMatchObject({ status: 'completed' });
      expect(await result(body.tool_id)).toMatchObject({ success: false, stdout: 'half\n', exit_code: 3 });
    });

    it('[EX-2] executing is announced when a LOW call is claimed (founding documents: workflow)', async () => {
      await startHandler(person);
      const { body } = await person.execute('read_file', { path: 'README.md' });
      await ended(body.tool_id);
      const states = person.seen
        .filter(({ data }) => data.tool_id === body.tool_id)
        .map(({ data }) => data.status);
      expect(states).toContain('executing');
    });

    it('[RN-1] an error is caught, logged and reported, and the next call runs (founding documents: local-tool-execution)', async () => {
      const { handler, log } = await startHandler(person);
      const missing = await person.execute('read_file', { path: 'not-there.md' });
      expect(await ended(missing.body.tool_id)).toMatchObject({
        status: 'failed',
        error: { code: 'FILE_NOT_FOUND' },
      });
      expect(log.some(({ level, message }) => level !== 'debug' && message.includes('failed'))).toBe(true);
      const next = await person.execute('read_file', { path: 'README.md' });
      expect(await ended(next.body.tool_id)).toMatchObject({ status: 'completed' });
      expect(handler.concurrentCount).toBe(0);
    });

    it('[EX-4] runs at most three at once, and the others afterwards (founding documents: local-tool-execution)', async () => {
      const { handler } = await startHandler(person, () => true);
      const made = await Promise.all(
        Array.from({ length: 5 }, () =>
          person.execute('execute_command', { command: 'node', args: ['wait.js'] }),
        ),
      );
      await until(() => handler.activeExecutions.size === 5, { otherwise: () => 'not all are signalled' });
      expect([handler.concurrentCount, handler.concurrentQueue.length]).toEqual([3, 2]);
      await releaseCommands(person.workspace, 'wait.js', 3);
      await until(() => handler.activeExecutions.size === 2, { otherwise: () => 'three do not end' });
      await releaseCommands(person.workspace, 'wait.js', 2);
      for (const { body } of made) expect(await ended(body.tool_id)).toMatchObject({ status: 'completed' });
      expect([handler.concurrentCount, handler.concurrentQueue]).toEqual([0, []]);
    });

    it('[AP-3] [AP-10] dispose withdraws the card and decides nothing (founding documents: local-tool-execution)', async () => {
      const never = new Promise<boolean>(() => {});
      const { handler } = await startHandler(person, () => never);
      const { body } = await person.execute('write_file', { path: 'new.md', content: 'x' });
      await until(() => handler.pendingApprovals.size === 1, { otherwise: () => 'no card' });
      await handler.dispose();
      expect([handler.pendingApprovals.size, handler.activeExecutions.size]).toEqual([0, 0]);
      expect(await person.call(body.tool_id)).toMatchObject({ status: 'awaiting_approval' });
    });

    it('[EX-1] the whole way: a message, a dialog, a changed file, an answer (founding documents: workflow, implementation-plan)', async () => {
      await startHandler(person, () => true);
      const { answer, told } = await person.ask('Change config.json with the handler', [
        calls('write_file', { path: 'config.json', content: '{"b": 2}' }),
        says('Changed.'),
      ]);
      expect(answer).toBe('Changed.');
      expect(told).toMatchObject([{ status: 'success', execution_time_ms: expect.any(Number) }]);
      expect(content('config.json')).toBe('{"b": 2}');
    });
  });
}

/** Ends when it is released. */
const waitForRelease = 'process.on("SIGUSR2", () => process.exit()); setInterval(() => {}, 1_000);';
