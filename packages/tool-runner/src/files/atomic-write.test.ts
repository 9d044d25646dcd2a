import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeFile, removeLeftovers, replaceFile } from './atomic-write.ts';
import { codeOf } from './file-tools.test-data.ts';
import { openDirectory, type WorkspaceDirectory } from './workspace-directory.ts';

let workspace: TemporaryWorkspace;
let directory: WorkspaceDirectory;
beforeEach(() => {
  workspace = temporaryWorkspace();
  mkdirSync(join(workspace.root, 'd'));
  writeFileSync(join(workspace.root, 'd/a.md'), 'old');
  directory = openDirectory(workspace.root, 'd');
});
afterEach(() => {
  directory.close();
  workspace.remove();
});

const names = (): string[] => readdirSync(join(workspace.root, 'd'));
const replacement = {
  name: 'a.md',
  bytes: Buffer.from('new'),
  mode: 0o644,
  owner: undefined,
  toolId: 'call',
};

/** The same directory on a disk whose flush fails. */
const flushFailsWith = (code: string): WorkspaceDirectory => ({
  path: directory.path,
  at: (name) => directory.at(name),
  open: (name) => directory.open(name),
  assertSamePlace: () => directory.assertSamePlace(),
  sync: () => {
    throw Object.assign(new Error(code), { code });
  },
  close: () => {},
});

describe('[RN-3] replaceFile and removeFile', () => {
  it('change nothing and leave no file if `confirm` throws', async () => {
    const confirm = (): void => {
      throw new Error('not this one');
    };
    await expect(replaceFile({ ...replacement, directory, confirm })).rejects.toThrow('not this one');
    await expect(removeFile(directory, 'a.md', confirm)).rejects.toThrow('not this one');
    expect([names(), readFileSync(join(workspace.root, 'd/a.md'), 'utf8')]).toEqual([['a.md'], 'old']);
  });

  it('name the temporary file after the call, whatever its id', async () => {
    const seen: string[][] = [];
    const confirm = (): void => {
      seen.push(names());
    };
    await replaceFile({ ...replacement, directory, toolId: `../${'x'.repeat(100)}`, confirm });
    expect(seen).toEqual([[expect.stringMatching(/^\.countersign-___x{61}-[0-9a-f]{16}\.tmp$/), 'a.md']]);
    expect([names(), readFileSync(join(workspace.root, 'd/a.md'), 'utf8')]).toEqual([['a.md'], 'new']);
  });

  it('say when it happened but may not last', async () => {
    const replace = (code: string) =>
      codeOf(() => replaceFile({ ...replacement, directory: flushFailsWith(code), confirm: () => {} }));
    expect([await replace('EIO'), await replace('EINVAL')]).toEqual(['EXECUTION_FAILED', undefined]);
    expect(readFileSync(join(workspace.root, 'd/a.md'), 'utf8')).toBe('new');
  });
});

describe('removeLeftovers', () => {
  it('looks only inside', () => {
    symlinkSync(workspace.outside, join(workspace.root, 'out'));
    writeFileSync(join(workspace.outside, '.countersign-call-0.tmp'), '');
    expect(() => removeLeftovers(workspace.root, 'out/a.md', 'call')).toThrow(
      expect.objectContaining({ code: 'PATH_OUTSIDE_WORKSPACE' }),
    );
    expect(readdirSync(workspace.outside)).toEqual(['.countersign-call-0.tmp']);
  });
});
