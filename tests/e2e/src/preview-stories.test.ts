import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ApiError } from '@countersign/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Ended } from './runner/runner-story.ts';
import { RunnerServer, RunnerStory } from './runner/runner-story.ts';

/** What can happen between a call and its preview, with the real server and `countersign connect` (AP-7). */

let server: RunnerServer;
let story: RunnerStory;
beforeAll(async () => {
  server = await RunnerServer.start();
  story = await RunnerStory.open(server, 'ada');
  await story.startRunner();
});
afterAll(async () => {
  await story?.close();
  await server?.close();
});

const ask = async (tool: string, params: object): Promise<string> => {
  const asked = await story.ask(tool, params);
  if (typeof asked !== 'string') throw new Error(asked.message);
  return asked;
};
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: ApiError) => error.code,
  );
const approvalOf = async (toolId: string) => {
  const { approvals } = await story.person.client.listApprovals();
  const found = approvals.find(({ tool_id }) => tool_id === toolId);
  if (!found) throw new Error(`there is no request for ${toolId}`);
  return { params: { approval_id: found.approval_id } };
};

const dots = './'.repeat(300);

it('[AP-7] [AP-8] a path with three hundred dots is recorded, shown and written in its normal form', async () => {
  story.write('a.txt', 'first\n');
  const toolId = await ask('write_file', { path: `${dots}a.txt`, content: 'theirs\n' });
  const card = await story.card(toolId);
  expect(card).toMatchObject({ tool_params: { path: 'a.txt' }, preview: { files: [{ path: 'a.txt' }] } });
  expect(card.description).toContain('a.txt');
  expect(card.description).not.toContain('./');
  story.write('a.txt', 'mine\n');
  await story.approve(card);
  // The file changed after it was shown: nothing is overwritten, and the person is asked again.
  await story.card(toolId, ({ digest }) => digest !== card.digest);
  expect(story.read('a.txt')).toBe('mine\n');
  expect(await story.approvedToTheEnd(toolId)).toMatchObject({ status: 'completed' });
  expect((await story.look(toolId)).execution.tool_params).toMatchObject({ path: 'a.txt' });
  expect(story.read('a.txt')).toBe('theirs\n');
});

it.each<[string, object]>([
  ['edit_file', { path: `${dots}b.txt`, old: 'old', new: 'new' }],
  ['copy_file', { source: `${dots}b.txt`, dest: `${dots}copied.txt` }],
  ['create_directory', { path: `${dots}made` }],
  ['delete_file', { path: `${dots}b.txt` }],
])('[AP-7] %s with such a path gets its preview, and runs', async (tool, params) => {
  story.write('b.txt', 'old\n');
  expect(await story.call(tool, params)).toMatchObject({ status: 'completed' });
});

it('[AP-7] a name of three hundred bytes is refused without asking', async () => {
  const name = 'я'.repeat(150);
  for (const [tool, params] of [
    ['write_file', { path: `${name}.md`, content: '' }],
    ['copy_file', { source: 'a.txt', dest: `docs/${name}.md` }],
    ['git_commit', { message: 'm', files: [name] }],
    ['shell_exec', { command: 'ls', cwd: name }],
    ['hover', { path: name, line: 1, col: 1 }],
  ] as const)
    expect([tool, (await story.ask(tool, params)) as Ended]).toMatchObject([tool, { code: 'PATH_INVALID' }]);
  expect(
    story.person
      .all('tool.approval_request')
      .filter(({ tool_params }) => JSON.stringify(tool_params).includes(name)),
  ).toEqual([]);
});

it('[AP-6] [AP-7] MEDIUM is not approved before its preview; an edited call waits for the preview of the edit', async () => {
  story.runner.pause();
  const toolId = await ask('write_file', { path: 'seen.md', content: 'x\n' });
  const approval = await approvalOf(toolId);
  try {
    expect(await codeOf(story.person.client.confirm({ ...approval, body: {} }))).toBe('PREVIEW_PENDING');
  } finally {
    story.runner.resume();
  }
  const { digest } = await story.card(toolId);
  const tool_params = { path: 'docs//edited.md', content: 'edited\n' };
  await story.person.client.confirm({ ...approval, body: { digest: String(digest), tool_params } });
  expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
  expect([existsSync(story.at('seen.md')), story.read('docs/edited.md')]).toEqual([false, 'edited\n']);
  const { execution } = await story.look(toolId);
  expect(execution.tool_params).toMatchObject({ path: 'docs/edited.md' });
});

it('[RK-5] a deny rule saved after an approval refuses the claim', async () => {
  const toolId = await ask('write_file', { path: 'denied.md', content: 'x\n' });
  const card = await story.card(toolId);
  story.runner.pause();
  try {
    await story.approve(card);
    const rules = [{ id: 'no', effect: 'deny' as const, tool: 'write_file', why: 'not any more' }];
    await story.person.client.putPolicy({ body: { version: 1, rules } });
  } finally {
    story.runner.resume();
  }
  const ended = await story.untilFinal(toolId);
  await story.person.client.putPolicy({ body: { version: 1, rules: [] } });
  expect([ended.status, ended.code, ended.message.includes('not any more')]).toEqual([
    'failed',
    'DENIED_BY_POLICY',
    true,
  ]);
  expect(existsSync(story.at('denied.md'))).toBe(false);
});

it('[AP-7] a preview that throws ends the call, and every front end is told why', async () => {
  await story.runner.end('SIGTERM');
  const hooks = fileURLToPath(new URL('../../faults/src/patch-hooks.ts', import.meta.url));
  const patch = {
    file: 'packages/tool-runner/src/preview/file-diff.ts',
    find: 'const { path, operation, before, after } = versions;',
    replace: "throw new TypeError('a bug in the preview');",
  };
  const added = { node: ['--import', hooks], env: { FAULTS_PATCHES: JSON.stringify([patch]) } };
  const broken = story.prepare([], { added });
  await broken.connect();
  const toolId = await ask('write_file', { path: 'c.txt', content: 'x' });
  const ended = await story.untilFinal(toolId);
  expect(ended).toMatchObject({ status: 'failed', code: 'PREVIEW_FAILED' });
  expect(ended.message).toContain('a bug in the preview');
  const told = await story.person.next('approval.resolved', ({ tool_id }) => tool_id === toolId);
  expect(told).toMatchObject({
    status: 'cancelled',
    error: { code: 'PREVIEW_FAILED', message: ended.message },
  });
  expect(existsSync(story.at('c.txt'))).toBe(false);
});
