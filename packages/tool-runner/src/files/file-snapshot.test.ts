import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identityNow, takeSnapshot } from './file-snapshot.ts';
import { codeOf } from './file-tools.test-data.ts';
import { openDirectory, type WorkspaceDirectory } from './workspace-directory.ts';

let workspace: TemporaryWorkspace;
let directory: WorkspaceDirectory;
beforeEach(() => {
  workspace = temporaryWorkspace();
  mkdirSync(join(workspace.root, 'd/folder'), { recursive: true });
  directory = openDirectory(workspace.root, 'd');
});
afterEach(() => {
  directory.close();
  workspace.remove();
});

const at = (name: string): string => join(workspace.root, 'd', name);
const snap = (name: string, from = directory) => takeSnapshot(from, name, { path: name, maxBytes: 100 });

describe('takeSnapshot', () => {
  it('has the bytes and what tells when they change', async () => {
    writeFileSync(at('a'), 'abc', { mode: 0o640 });
    const snapshot = await snap('a');
    expect(snapshot).toMatchObject({
      bytes: Buffer.from('abc'),
      version: `sha256:${createHash('sha256').update('abc').digest('hex')}`,
      mode: 0o640,
      identity: identityNow(directory, 'a'),
    });
    writeFileSync(at('a'), 'abcd');
    expect(identityNow(directory, 'a')).not.toBe(snapshot?.identity);
    expect([await snap('missing'), identityNow(directory, 'missing')]).toEqual([undefined, undefined]);
  });

  it('is only of regular files that are not too large', async () => {
    writeFileSync(at('large'), 'x'.repeat(101));
    writeFileSync(at('limit'), 'x'.repeat(100));
    symlinkSync('limit', at('link'));
    workspace.apply([
      { op: 'fifo', path: 'd/queue' },
      { op: 'socket', path: 'd/socket' },
    ]);
    const codes = ['large', 'folder', 'link', 'queue', 'socket'].map((name) => codeOf(() => snap(name)));
    expect(await Promise.all(codes)).toEqual([
      'FILE_TOO_LARGE',
      'IS_A_DIRECTORY',
      'NOT_A_REGULAR_FILE',
      'NOT_A_REGULAR_FILE',
      'NOT_A_REGULAR_FILE',
    ]);
    expect((await snap('limit'))?.bytes.length).toBe(100);
  });

  it('gives up on a file whose size never matches its content', async () => {
    const proc: WorkspaceDirectory = { ...directory, path: '', at: (name) => `/proc/self/${name}` };
    expect(await codeOf(() => snap('status', proc))).toBe('READ_FAILED');
  });
});
