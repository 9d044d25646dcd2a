import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { shownDigestOf, writeSignal } from '../call-samples.test-data.ts';
import { runnerFixture } from '../handler-fixture.test-data.ts';
import type { ExecutionSignal } from '../runner-api.ts';
import { ToolHandler } from '../tool-handler.ts';
import { cannotIsolate } from './isolation-fixture.test-data.ts';

it.skipIf(cannotIsolate)(
  '[VA-3] what a person approved while a background job runs is there after it, also when it was undone',
  async () => {
    const { api, dialogs, logger, workspace, configFolder, remove } = runnerFixture();
    const handler = new ToolHandler(api, dialogs, logger, { workspace, configFolder });
    const has = (path: string): boolean => existsSync(join(workspace.root, path));
    let count = 0;
    const run = async (tool_name: string, tool_params: ExecutionSignal['tool_params']) => {
      const tool_id = `tool-${count++}`;
      const signal = writeSignal({ tool_id, tool_name, tool_params, risk_level: 'HIGH' });
      const digest = await shownDigestOf(handler, signal);
      const result = await handler.handleToolExecutionSignal({ ...signal, digest });
      expect(result).toMatchObject({ status: 'success' });
      return { tool_id, output: result.output as Record<string, unknown> };
    };

    writeFileSync(join(workspace.root, '.envrc'), 'mine\n');
    const { output } = await run('shell_background', {
      command: 'echo begun; until [ -e go ]; do sleep 0.02; done; echo evil > .bashrc',
    });
    const look = async () => (await run('shell_output', { job_id: output.job_id as string })).output;
    // Wait for this output: until then the mounts are being set up, and a place that vanishes would end the command.
    await expect.poll(look).toMatchObject({ stdout: 'begun\n' });
    await run('write_file', { path: '.pre-commit-config.yaml', content: 'approved\n' });
    await run('create_directory', { path: '.circleci' });
    const deleted = await run('delete_file', { path: '.envrc' });
    await handler.undoCalls([deleted.tool_id], { force: false });
    writeFileSync(join(workspace.root, 'go'), '');
    await expect
      .poll(look)
      .toMatchObject({ running: false, stderr: expect.stringContaining('".bashrc" would execute') });
    expect(['.pre-commit-config.yaml', '.circleci', '.envrc', '.bashrc'].map(has)).toEqual([
      true,
      true,
      true,
      false,
    ]);
    await handler.dispose();
    remove();
  },
);
