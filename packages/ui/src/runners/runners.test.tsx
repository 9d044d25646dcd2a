// @vitest-environment happy-dom
import { cleanup, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { event, examples, openPage, Refused, settle, TestServer } from '../page-fixture.test-data.tsx';
import { RunnersScreen } from './runners-screen.tsx';

afterEach(cleanup);

const runner = (change: object) => ({
  ...examples<{ runners: object[] }>('bodies/listRunners.response')[0]?.runners[0],
  ...change,
});

it('[EX-10] shows which runners are connected, and what to run when none is', async () => {
  const server = new TestServer();
  server.on('listRunners', {
    success: true,
    runners: [runner({ runner_id: 'r1', connected: false, capabilities: [] })],
  });
  const { clock } = await openPage(<RunnersScreen />, { server });
  expect(document.body.textContent).toContain('No runner is connected');
  expect(document.body.textContent).toContain('npx countersign connect');
  server.on('listRunners', {
    success: true,
    runners: [
      runner({ runner_id: 'r1', connected: false }),
      runner({ runner_id: 'r2', connected: true, capabilities: ['lsp', 'git'] }),
    ],
  });
  await server.emit(event('runner.changed'));
  await clock.advance(500);
  await settle();
  const tiles = screen.getAllByRole('listitem').map(({ textContent }) => textContent);
  expect(tiles[0]).toContain('Connected');
  expect(tiles[0]).toContain('lsp, git');
  expect(tiles[1]).toContain('Not connected');
});

it('says when they could not be read', async () => {
  const server = new TestServer();
  server.on('listRunners', () => {
    throw new Refused(500, 'INTERNAL');
  });
  await openPage(<RunnersScreen />, { server });
  expect(screen.getByRole('alert').textContent).toContain('INTERNAL');
});
