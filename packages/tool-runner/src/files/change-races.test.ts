import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import {
  securityCases,
  startSwapping,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callOf, executeChange, recordingContext, workspaceAt } from './file-tools.test-data.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

/** Names, contents and times: a file that is made and removed again changes the directory's time. */
const stateOfOutside = () => {
  const { outside } = workspace;
  const { mtimeNs, ctimeNs } = statSync(outside, { bigint: true });
  return [
    mtimeNs,
    ctimeNs,
    ...readdirSync(outside).map((name) => {
      const path = join(outside, name);
      return [name, readFileSync(path, 'utf8'), statSync(path, { bigint: true }).ctimeNs];
    }),
  ];
};

type Tool = 'write_file' | 'edit_file' | 'copy_file' | 'move_file' | 'delete_file' | 'create_directory';

async function outcomeOf(tool: Tool, params: Record<string, unknown>): Promise<string> {
  try {
    await executeChange(callOf(tool, params), recordingContext(), workspaceAt(workspace.root));
    return 'done';
  } catch (error) {
    if (error instanceof CountersignError) return error.code;
    throw error;
  }
}

/** The allowed outcomes of a change whose path is swapped all the time. */
const possible = [
  'done',
  'PATH_OUTSIDE_WORKSPACE',
  'FILE_NOT_FOUND',
  'NOT_A_DIRECTORY',
  'APPROVAL_STALE',
  'PATH_INVALID',
  'FILE_EXISTS',
  'WRITE_FAILED',
];

describe('[VA-1] a change whose path is swapped by a link', () => {
  it.each(
    securityCases('paths')
      .filter(({ input }) => input.race)
      .map((testCase) => [testCase.id, testCase] as const),
  )(
    '[VA-9] %s: an edit never touches what is outside',
    async (_id, { input }) => {
      if (!input.race) throw new Error('a race case without a race');
      workspace.apply(input.setup ?? []);
      const path = (input.args as { path: string }).path;
      const before = stateOfOutside();
      const stopSwapping = await startSwapping(workspace, input.race);
      const seen = new Set<string>();
      try {
        for (let i = 0; i < 10_000; i++)
          seen.add(await outcomeOf('edit_file', { path, old: 'INSIDE', new: 'INSIDE' }));
      } finally {
        await stopSwapping();
      }
      expect([...seen].filter((outcome) => !possible.includes(outcome))).toEqual([]);
      expect([...seen]).toEqual(expect.arrayContaining(['PATH_OUTSIDE_WORKSPACE', 'done']));
      expect(stateOfOutside()).toEqual(before);
    },
    60_000,
  );

  it('never creates, copies or deletes outside', async () => {
    const { root, outside } = workspace;
    writeFileSync(join(outside, 'a.md'), 'OUTSIDE');
    mkdirSync(join(root, 'real'));
    writeFileSync(join(root, 'real/a.md'), 'INSIDE');
    const before = stateOfOutside();
    // Unlike startSwapping, this continues when a call has created something at the path.
    const swapper = spawn(
      process.execPath,
      ['-e', swapping, join(root, 'cur'), join(root, 'real'), outside],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    await once(swapper.stdout, 'data');
    const seen = new Set<string>();
    const calls: readonly [Tool, Record<string, unknown>][] = [
      ['write_file', { path: 'cur/new.md', content: 'x' }],
      ['write_file', { path: 'cur/deep/er/new.md', content: 'x' }],
      ['copy_file', { source: 'README.md', dest: 'cur/a.md' }],
      ['copy_file', { source: 'cur/a.md', dest: 'copy.md' }],
      ['move_file', { source: 'cur/a.md', dest: 'copy.md' }],
      ['create_directory', { path: 'cur/made/here' }],
      ['delete_file', { path: 'cur/a.md' }],
    ];
    try {
      for (let i = 0; i < 10_000; i++) {
        const [tool, params] = calls[i % calls.length] as (typeof calls)[number];
        seen.add(await outcomeOf(tool, params));
        rmSync(join(root, 'copy.md'), { force: true });
      }
    } finally {
      const ended = once(swapper, 'exit');
      swapper.kill('SIGKILL');
      await ended;
    }
    expect([...seen].filter((outcome) => !possible.includes(outcome))).toEqual([]);
    expect([...seen]).toEqual(expect.arrayContaining(['PATH_OUTSIDE_WORKSPACE', 'done']));
    expect(stateOfOutside()).toEqual(before);
  });
});

const swapping = `
const { renameSync, rmSync, symlinkSync } = require('node:fs');
const [path, real, target] = process.argv.slice(1);
const attempt = (step) => { try { step(); } catch {} };
process.stdout.write('swapping');
for (;;) {
  attempt(() => renameSync(real, path));
  attempt(() => renameSync(path, real));
  attempt(() => symlinkSync(target, path));
  attempt(() => rmSync(path, { recursive: true }));
}`;
