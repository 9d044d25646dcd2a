import { existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EndedAfterChanges } from '../runner-errors.ts';
import { callOf, executeChange, recordingContext, workspaceAt } from './file-tools.test-data.ts';

/** The folder whose flush fails, as on a dying or remote disk. */
let broken = '';
vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>();
  const fsyncSync = (descriptor: number): void => {
    if (readlinkSync(`/proc/self/fd/${descriptor}`) === broken)
      throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
    fs.fsyncSync(descriptor);
  };
  return { ...fs, fsyncSync };
});

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
  for (const folder of ['a', 'b']) mkdirSync(join(workspace.root, folder));
  writeFileSync(join(workspace.root, 'a/x.md'), 'the only copy\n');
});
afterEach(() => {
  broken = '';
  workspace.remove();
});

const read = (path: string): string | undefined => {
  const file = join(workspace.root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};

it.each([
  ['a', [undefined, 'the only copy\n'], ['b/y.md', 'a/x.md']],
  ['b', ['the only copy\n', 'the only copy\n'], ['b/y.md']],
])(
  '[RN-3] move_file loses no file where folder %s cannot be flushed, and reports what changed',
  async (folder, left, changed) => {
    broken = join(workspace.root, folder);
    const call = callOf('move_file', { source: 'a/x.md', dest: 'b/y.md' });
    const failure = await executeChange(call, recordingContext(), workspaceAt(workspace.root)).catch(
      (error: unknown) => error,
    );
    expect([read('a/x.md'), read('b/y.md')]).toEqual(left);
    expect(failure).toBeInstanceOf(EndedAfterChanges);
    expect(failure).toMatchObject({ code: 'EXECUTION_FAILED' });
    expect((failure as EndedAfterChanges).changes.changed_files?.map(({ path }) => path)).toEqual(changed);
  },
);
