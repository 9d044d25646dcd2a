import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ApiError } from '@countersign/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Ended } from './runner/runner-story.ts';
import { Desk, RunnerServer } from './runner/runner-story.ts';

/** What can stand between a call and its preview, with the real server and `countersign connect` (AP-7). */

let server: RunnerServer;
let desk: Desk;
beforeAll(async () => {
  server = await RunnerServer.start();
  desk = await Desk.open(server, 'ada');
  await desk.startRunner();
});
afterAll(async () => {
  await desk?.close();
  await server?.close();
});

const ask = async (tool: string, params: object): Promise<string> => {
  const asked = await desk.ask(tool, params);
  if (typeof asked !== 'string') throw new Error(asked.message);
  return asked;
};
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: ApiError) => error.code,
  );
const approvalOf = async (toolId: string) => {
  const { approvals } = await desk.person.client.listApprovals();
  const found = approvals.find(({ tool_id }) => tool_id === toolId);
  if (!found) throw new Error(`nobody is asked about ${toolId}`);
  return { params: { approval_id: found.approval_id } };
};

const dots = './'.repeat(300);

it('[AP-7] [AP-8] a path of three hundred dots is recorded, shown and written by its short name, as it was shown', async () => {
  desk.write('a.txt', 'first\n');
  const toolId = await ask('write_file', { path: `${dots}a.txt`, content: 'theirs\n' });
  const card = await desk.card(toolId);
  expect(card).toMatchObject({ tool_params: { path: 'a.txt' }, preview: { files: [{ path: 'a.txt' }] } });
  expect(card.description).toContain('a.txt');
  expect(card.description).not.toContain('./');
  desk.write('a.txt', 'mine\n');
  await desk.approve(card);
  // It changed after it was shown: nothing is overwritten, and the person is asked again.
  await desk.card(toolId, ({ digest }) => digest !== card.digest);
  expect(desk.read('a.txt')).toBe('mine\n');
  expect(await desk.approvedToTheEnd(toolId)).toMatchObject({ status: 'completed' });
  expect((await desk.look(toolId)).execution.tool_params).toMatchObject({ path: 'a.txt' });
  expect(desk.read('a.txt')).toBe('theirs\n');
});

it.each<[string, object]>([
  ['edit_file', { path: `${dots}b.txt`, old: 'old', new: 'new' }],
  ['copy_file', { source: `${dots}b.txt`, dest: `${dots}copied.txt` }],
  ['create_directory', { path: `${dots}made` }],
  ['delete_file', { path: `${dots}b.txt` }],
])('[AP-7] %s with such a path gets its preview, and runs', async (tool, params) => {
  desk.write('b.txt', 'old\n');
  expect(await desk.call(tool, params)).toMatchObject({ status: 'completed' });
});

it('[AP-7] a name of three hundred bytes is refused before anybody is asked', async () => {
  const name = 'я'.repeat(150);
  for (const [tool, params] of [
    ['write_file', { path: `${name}.md`, content: '' }],
    ['copy_file', { source: 'a.txt', dest: `docs/${name}.md` }],
    ['git_commit', { message: 'm', files: [name] }],
    ['shell_exec', { command: 'ls', cwd: name }],
    ['hover', { path: name, line: 1, col: 1 }],
  ] as const)
    expect([tool, (await desk.ask(tool, params)) as Ended]).toMatchObject([tool, { code: 'PATH_INVALID' }]);
  expect(
    desk.person
      .all('tool.approval_request')
      .filter(({ tool_params }) => JSON.stringify(tool_params).includes(name)),
  ).toEqual([]);
});

it('[AP-6] [AP-7] nothing MEDIUM is approved before its preview; an edit that is approved waits for its own', async () => {
  desk.runner.pause();
  const toolId = await ask('write_file', { path: 'seen.md', content: 'x\n' });
  const approval = await approvalOf(toolId);
  try {
    expect(await codeOf(desk.person.client.confirm({ ...approval, body: {} }))).toBe('PREVIEW_PENDING');
  } finally {
    desk.runner.resume();
  }
  const { digest } = await desk.card(toolId);
  const tool_params = { path: 'docs//edited.md', content: 'edited\n' };
  await desk.person.client.confirm({ ...approval, body: { digest: String(digest), tool_params } });
  expect(await desk.untilFinal(toolId)).toMatchObject({ status: 'completed' });
  expect([existsSync(desk.at('seen.md')), desk.read('docs/edited.md')]).toEqual([false, 'edited\n']);
  const { execution } = await desk.look(toolId);
  expect(execution.tool_params).toMatchObject({ path: 'docs/edited.md' });
});

it('[RK-5] a denial that is saved after an approval refuses at the claim', async () => {
  const toolId = await ask('write_file', { path: 'denied.md', content: 'x\n' });
  const card = await desk.card(toolId);
  desk.runner.pause();
  try {
    await desk.approve(card);
    const rules = [{ id: 'no', effect: 'deny' as const, tool: 'write_file', why: 'not any more' }];
    await desk.person.client.putPolicy({ body: { version: 1, rules } });
  } finally {
    desk.runner.resume();
  }
  const ended = await desk.untilFinal(toolId);
  await desk.person.client.putPolicy({ body: { version: 1, rules: [] } });
  expect([ended.status, ended.code, ended.message.includes('not any more')]).toEqual([
    'failed',
    'DENIED_BY_POLICY',
    true,
  ]);
  expect(existsSync(desk.at('denied.md'))).toBe(false);
});

it('[AP-7] a preview that throws ends the call, and everybody is told why', async () => {
  await desk.runner.end('SIGTERM');
  const hooks = fileURLToPath(new URL('../../faults/src/sabotage-hooks.ts', import.meta.url));
  const patch = {
    file: 'packages/tool-runner/src/preview/file-diff.ts',
    find: 'const { path, operation, before, after } = versions;',
    replace: "throw new TypeError('a bug in the preview');",
  };
  const added = { node: ['--import', hooks], env: { FAULTS_PATCHES: JSON.stringify([patch]) } };
  const broken = desk.prepare([], { added });
  await broken.connect();
  const toolId = await ask('write_file', { path: 'c.txt', content: 'x' });
  const ended = await desk.untilFinal(toolId);
  expect(ended).toMatchObject({ status: 'failed', code: 'PREVIEW_FAILED' });
  expect(ended.message).toContain('a bug in the preview');
  const told = await desk.person.next('approval.resolved', ({ tool_id }) => tool_id === toolId);
  expect(told).toMatchObject({
    status: 'cancelled',
    error: { code: 'PREVIEW_FAILED', message: ended.message },
  });
  expect(existsSync(desk.at('c.txt'))).toBe(false);
});
