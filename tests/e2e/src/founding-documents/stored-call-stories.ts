import { describe, expect, it } from 'vitest';
import { type DocumentFixture, type Json, uuid } from './document-fixture.ts';

const columns = [
  ...['id', 'user_id', 'project_id', 'session_id', 'approval_id', 'tool_name', 'tool_params', 'risk_level'],
  ...['requires_approval', 'status', 'error', 'error_type', 'execution_time_ms'],
  ...['created_at', 'completed_at', 'approved_at'],
];

/** The table of the workflow document, read directly from the database. */
export function describeStoredCalls(fixture: () => DocumentFixture, databaseName: string): void {
  const rowOf = async (toolId: unknown): Promise<Json> => {
    const rows = await fixture().database.query(
      `select ${columns.join(', ')} from tool_executions where id = $1`,
      String(toolId),
    );
    return rows[0] as Json;
  };

  describe('a row of tool_executions', () => {
    it('[DA-1] has the columns of the document (founding documents: workflow)', async () => {
      const person = await fixture().person();
      await person.startSampleClient();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      await person.post(`/my/approvals/${body.approval_id}/confirm`, {});
      await person.untilStatus(body.tool_id, 'completed');
      const row = await rowOf(body.tool_id);
      expect(row).toMatchObject({
        id: expect.stringMatching(uuid),
        user_id: person.userId,
        project_id: person.projectId,
        session_id: body.session_id,
        approval_id: expect.stringMatching(uuid),
        tool_name: 'write_file',
        risk_level: 'MEDIUM',
        status: 'completed',
        error: null,
        error_type: null,
      });
      expect(Boolean(row.requires_approval)).toBe(true);
      const [created, approved, ended] = [row.created_at, row.approved_at, row.completed_at].map(Number);
      expect([Number(approved) >= Number(created), Number(ended) >= Number(approved)]).toEqual([true, true]);
    });

    it("[DA-1] has the time that the sample client's call took (founding documents: workflow)", async () => {
      const person = await fixture().person({ 'a.md': 'a' });
      await person.startSampleClient();
      const { body } = await person.execute('read_file', { path: 'a.md' });
      await person.untilStatus(body.tool_id, 'completed');
      expect(Number((await rowOf(body.tool_id)).execution_time_ms)).toBeGreaterThanOrEqual(0);
      expect((await rowOf(body.tool_id)).execution_time_ms).not.toBeNull();
    });

    it('[DA-1] has an ordinary session for a call that named none (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const { body } = await person.execute('write_file', { path: 'a.md', content: 'x' });
      expect((await rowOf(body.tool_id)).session_id).toMatch(uuid);
    });

    it('[DA-1] has the error and its kind (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const { body } = await person.execute('read_file', { path: '../a.md' });
      expect(await rowOf(body.tool_id)).toMatchObject({
        status: 'failed',
        error: expect.any(String),
        error_type: 'PATH_OUTSIDE_WORKSPACE',
      });
    });

    it('[DA-3] has its parameters masked (founding documents: workflow)', async () => {
      const person = await fixture().person();
      const secret = `ghp_${'A1b2C3d4'.repeat(4)}1234`;
      const { body } = await person.execute('write_file', { path: 'a.md', content: `token ${secret}` });
      const stored = JSON.stringify((await rowOf(body.tool_id)).tool_params);
      expect([stored.includes('a.md'), stored.includes(secret)]).toEqual([true, false]);
    });

    it('[DA-1] has indexes by user, project, tool, status and time (founding documents: workflow)', async () => {
      const { database } = fixture();
      const definitions = await (databaseName === 'SQLite'
        ? database.query(
            "select sql as definition from sqlite_master where type = 'index' and sql is not null",
          )
        : database.query('select indexdef as definition from pg_indexes'));
      const ours = definitions
        .map(({ definition }) => String(definition))
        .filter((one) => /\btool_executions\b/.test(one));
      for (const column of ['user_id', 'project_id', 'tool_name', 'status', 'created_at'])
        expect(ours.some((one) => new RegExp(`\\([^)]*\\b${column}\\b`).test(one))).toBe(true);
    });
  });
}
