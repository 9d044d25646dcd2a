import { expect, it } from 'vitest';
import { TestServer } from '../testing/test-server.ts';

it('runs a LOW call all the way', async () => {
  const server = await TestServer.start();
  const ada = await server.person('ada');
  const runner = await server.runner(ada);
  const done = await server.send('POST', '/my/tools/execute', {
    token: ada.tokens.person,
    body: { tool_name: 'read_file', tool_params: { path: 'README.md' } },
  });
  expect(done.body).toMatchObject({ success: true, status: 'completed', result: { success: true } });
  expect(runner.executed.length).toBe(1);
  await server.close();
});
