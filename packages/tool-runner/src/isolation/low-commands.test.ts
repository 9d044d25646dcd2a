import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ToolCallPolicy } from '@countersign/policy';
import { defaultLimits } from '@countersign/protocol';
import { realDisk, securityCases, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltInTools } from '../built-in-tools.ts';
import type { CallContext } from '../executor.ts';
import { cannotIsolate } from './isolation-fixture.test-data.ts';
import { IsolatingStarter } from './process-starter.ts';

/** Every file below a folder with its mode, times and content: whatever a command writes shows here. */
function snapshot(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const { mode, mtimeMs, size } = lstatSync(path);
    const content = entry.isFile()
      ? createHash('sha256').update(readFileSync(path)).digest('hex')
      : entry.isSymbolicLink()
        ? readlinkSync(path)
        : '';
    found[path] = `${mode} ${mtimeMs} ${size} ${content}`;
  }
  return found;
}

/**
 * The commands that policy lets run unasked, really run. Each in the fixture's workspace, with canaries: secrets inside
 * it and files outside it whose content must not come back.
 */
describe.skipIf(cannotIsolate)('commands of security/commands.jsonl that are LOW', () => {
  const canary = 'canary-7d1f0c';
  let workspace: TemporaryWorkspace;
  let starter: IsolatingStarter;
  let executor: BuiltInTools;

  beforeAll(() => {
    workspace = temporaryWorkspace();
    for (const path of [
      '.env',
      'src/.env.local',
      'data/credentials.json',
      '.ssh/id_rsa',
      'docs/server.key',
    ]) {
      mkdirSync(join(workspace.root, path, '..'), { recursive: true });
      writeFileSync(join(workspace.root, path), `${canary}\nTODO function foo error hello\n`);
    }
    writeFileSync(join(workspace.outside, 'outside.txt'), canary);
    const stateFolder = join(workspace.outside, '..', 'state');
    mkdirSync(stateFolder);
    const runner = {
      root: workspace.root,
      stateFolder,
      limits: defaultLimits,
      home: homedir(),
      addedEnvironment: [],
    };
    starter = new IsolatingStarter(runner);
    executor = new BuiltInTools({ command: { workspace: runner, starter } });
  });
  afterAll(async () => {
    await executor.dispose();
    await starter.dispose();
    workspace.remove();
  });

  const context: CallContext = {
    toolId: 'tool-1',
    attempt: 1,
    sessionId: 'session-1',
    riskLevel: 'LOW',
    network: false,
    signal: new AbortController().signal,
    onProgress: () => {},
    changes: { begin: () => {} },
  };

  const cases = securityCases('commands').filter(({ expect: expected }) => expected === 'LOW');

  it('are many', () => {
    expect(cases.length).toBeGreaterThan(25);
  });

  it.each(cases)(
    '[VA-9] $id writes nothing and reads no secret: $input.command $input.args',
    async ({ input }) => {
      workspace.apply(input.setup ?? []);
      const command = input.command ?? '';
      const args = workspace.fill((input.args ?? []) as string[]);
      const policy = new ToolCallPolicy({ root: workspace.root, disk: realDisk });
      expect(policy.decide('execute_command', { command, args })).toMatchObject({
        verdict: { decision: 'LOW' },
      });

      const before = snapshot(join(workspace.outside, '..', 'workspace'));
      const outside = snapshot(workspace.outside);
      const call = { tool: 'execute_command', params: { command, args, timeout: 10 } } as const;
      const result = await executor.execute(call, context).catch((error: { code: string }) => error);
      expect(snapshot(join(workspace.outside, '..', 'workspace'))).toEqual(before);
      expect(snapshot(workspace.outside)).toEqual(outside);
      expect(JSON.stringify(result)).not.toContain(canary);
      // The one failure there may be: a program that this machine does not have.
      expect('code' in result ? result.code : 'none').toMatch(/^(none|COMMAND_FAILED|PROGRAM_NOT_FOUND)$/);
    },
  );
});
