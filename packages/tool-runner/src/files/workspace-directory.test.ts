import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDirectory, type WorkspaceDirectory } from './workspace-directory.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

// Both ways work on Linux, so both are tested here.
describe.each(['linux', 'darwin'] as const)('[VA-1] a directory as on %s', (platform) => {
  const open = (path: string): WorkspaceDirectory => openDirectory(workspace.root, path, platform);

  it('is entered through links that stay inside, and flushed', () => {
    symlinkSync('docs', join(workspace.root, 'd'));
    const directory = open('d');
    expect(directory.path).toBe('docs');
    writeFileSync(directory.at('new.md'), 'new');
    directory.sync();
    directory.assertSamePlace();
    directory.close();
    expect(readdirSync(join(workspace.root, 'docs'))).toContain('new.md');
    const root = open('');
    expect(root.path).toBe('');
    root.assertSamePlace();
    root.close();
  });

  it('is not entered outside, and not through a link by its name', () => {
    symlinkSync(workspace.outside, join(workspace.root, 'out'));
    expect(() => open('out')).toThrow(expect.objectContaining({ code: 'PATH_OUTSIDE_WORKSPACE' }));
    expect(() => open('..')).toThrow(expect.objectContaining({ code: 'PATH_OUTSIDE_WORKSPACE' }));
    expect(() => open('missing')).toThrow(expect.objectContaining({ code: 'ENOENT' }));
    expect(() => open('README.md')).toThrow(
      expect.objectContaining({ code: expect.stringMatching('NOT_?A?_?DIR') }),
    );
    const root = open('');
    expect(() => root.open('out')).toThrow();
    const docs = root.open('docs');
    expect(docs.path).toBe('docs');
    docs.close();
    root.close();
  });

  it('knows when it was moved', () => {
    mkdirSync(join(workspace.root, 'here'));
    const directory = open('here');
    renameSync(join(workspace.root, 'here'), join(workspace.outside, 'there'));
    mkdirSync(join(workspace.root, 'here'));
    expect(() => directory.assertSamePlace()).toThrow(expect.objectContaining({ code: 'APPROVAL_STALE' }));
    directory.close();
  });
});
