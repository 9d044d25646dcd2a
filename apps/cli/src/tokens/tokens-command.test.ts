import { createClient } from '@countersign/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linesOfJson, ServerFixture } from '../server-fixture.test-data.ts';

let server: ServerFixture;
beforeAll(async () => {
  server = await ServerFixture.start();
});
afterAll(() => server?.close());

const tokens = (...argv: string[]) => server.run('tokens', ...argv);

describe('countersign tokens', () => {
  it('[AP-9] makes a token for an agent, which asks and never decides, and ends it', async () => {
    const made = await tokens('new', 'Claude Code', '--days', '7');
    expect(made).toMatchObject({ status: 0, error: expect.stringContaining('never approve') });
    const token = made.out.trim();
    const agent = createClient({ baseUrl: server.address, token: () => token });
    await agent.listProjects();
    await expect(agent.listApprovals()).rejects.toMatchObject({ code: 'FORBIDDEN' });

    const listed = linesOfJson((await tokens('list', '--json')).out);
    const [own] = listed.filter(({ name }) => name === 'Claude Code');
    expect(own).toMatchObject({ scope: 'agent', project_id: null, revoked_at: null });
    expect(JSON.stringify(listed)).not.toContain(token);
    const id = String(own?.token_id);
    expect((await tokens()).out).toMatch(
      new RegExp(`${id}  agent +Claude Code  all projects · used .* · until`),
    );

    expect(await tokens('revoke', id)).toMatchObject({
      status: 0,
      out: 'Revoked: Claude Code. It works no longer.\n',
    });
    await expect(agent.listProjects()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect((await tokens('list')).out).not.toContain('Claude Code');
    expect((await tokens('list', '--all', '--lang', 'ru')).out).toContain('отозван');
  });

  it('binds one to the project of a folder', async () => {
    const client = await server.client();
    const { project } = await client.createProject({ body: { name: 'w', workspace: server.workspace } });
    const made = await tokens('new', 'bound', '--workspace', server.workspace, '--json');
    expect(JSON.parse(made.out)).toMatchObject({
      name: 'bound',
      scope: 'agent',
      project_id: project.project_id,
      token: expect.any(String),
    });
    expect((await tokens('list')).out).toContain(project.project_id);
    expect(await tokens('revoke', String(JSON.parse(made.out).token_id), '--json')).toMatchObject({
      status: 0,
    });
    expect(await tokens('new', 'x', '--workspace', server.folder)).toMatchObject({
      status: 2,
      error: expect.stringContaining('No project'),
    });
  });

  it.each([
    [['new'], 'Name the program'],
    [['new', 'x', '--days', '1000'], '--days'],
    [['list', 'x'], 'not expected'],
    [['new', 'a', 'b'], 'not expected'],
    [['revoke'], 'Which token'],
    [['revoke', 'zzz'], 'No token begins'],
    [['revoke', ''], 'begins several'],
    [['steal'], 'There is no "steal"'],
  ])('says what is wrong with %j', async (argv, problem) => {
    await tokens('new', 'another');
    expect(await tokens(...argv)).toMatchObject({ status: 2, error: expect.stringContaining(problem) });
  });

  it('has its own help', async () => {
    expect((await tokens('--help')).out).toContain('It can never approve anything');
  });
});
