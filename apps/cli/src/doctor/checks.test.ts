import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { temporaryWorkspace } from '@countersign/testing';
import { expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { examine } from './checks.ts';

/** The warnings about runner and workspace, of a server that knows these runners and projects. */
async function warnings(root: string, capabilities: string[], projectIds: string[]): Promise<string[]> {
  const at = '2026-11-15T12:00:00Z';
  const runners = [
    { runner_id: 'r', project_id: 'p', workspace: root, capabilities, connected: true, last_seen_at: at },
  ];
  const projects = projectIds.map((project_id) => ({
    project_id,
    name: 'demo',
    workspace: root,
    created_at: at,
  }));
  const server = createServer(({ url }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ success: true, ...(url === '/my/runners' ? { runners } : { projects }) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const env = { HOME: root, XDG_CONFIG_HOME: `${root}/none`, COUNTERSIGN_TOKEN: 'token' };
    const checks = await examine({ root, server: address, words: wordsFor({}, 'en'), env });
    return checks
      .filter(({ name, state }) => state === 'warning' && ['Runner', 'Workspace'].includes(name))
      .map(({ says }) => says);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it('[AP-7] warns of a runner without previews, and of a workspace that two projects have', async () => {
  const files = temporaryWorkspace();
  try {
    expect(await warnings(files.root, ['preview'], ['p'])).toEqual([]);
    expect(await warnings(files.root, [], ['p', 'q'])).toEqual([
      expect.stringContaining('makes no previews'),
      expect.stringContaining('demo (p), demo (q)'),
    ]);
  } finally {
    files.remove();
  }
});
