import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type RunnerFixture, runnerFixture } from './handler-fixture.test-data.ts';
import { ExecutingPlaceGuard } from './isolation/executing-place-guard.ts';
import { WorkspaceScan } from './isolation/workspace-scan.ts';
import { ToolHandler } from './tool-handler.ts';

let fixture: RunnerFixture;
let handler: ToolHandler | undefined;
beforeEach(() => {
  fixture = runnerFixture();
});
afterEach(async () => {
  await handler?.dispose();
  fixture.remove();
});

function start(): ToolHandler {
  const { api, dialogs, logger, clock, workspace, configFolder } = fixture;
  handler = new ToolHandler(api, dialogs, logger, { workspace, clock, configFolder, isIsolated: true });
  return handler;
}

it('[VA-3] a new ToolHandler logs what a command of a killed runner had planted', () => {
  const { root, stateFolder, home } = fixture.workspace;
  const scan = new WorkspaceScan({ root, home });
  const killed = new ExecutingPlaceGuard({ root, stateFolder, findPlaces: () => scan.findPlaces() });
  killed.protect(scan.findPlaces(), {}); // not released, because the runner was killed
  writeFileSync(join(root, '.envrc'), 'evil');
  start();
  expect(fixture.logger.messages('error')).toEqual([
    'Planted file set aside: .envrc, left by a runner that was killed',
  ]);
});

it('[UI-2] proposes the text of a change for a diff, and nothing for a call that is refused', async () => {
  const proposing = start();
  expect(await proposing.proposedText('write_file', { path: 'new.md', content: 'new' })).toMatchObject({
    after: 'new',
  });
  expect(await proposing.proposedText('write_file', { path: '../new.md', content: 'new' })).toBeUndefined();
});
