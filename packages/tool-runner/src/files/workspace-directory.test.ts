import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileFailure } from '../real-disk.ts';
import {
  findPlace,
  openDirectory,
  openOrCreateDirectory,
  type WorkspaceDirectory,
} from './workspace-directory.ts';

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

function placeOf(path: string): unknown {
  try {
    const { directory, ...place } = findPlace(workspace.root, path);
    directory?.close();
    return { ...place, inDirectory: directory?.path };
  } catch (error) {
    return fileFailure(error, path, 'READ_FAILED').code;
  }
}

const at = (path: string, inDirectory: string | undefined, throughLink = false) => ({
  path,
  name: path.slice(path.lastIndexOf('/') + 1),
  inDirectory,
  throughLink,
});

describe('[VA-1] findPlace', () => {
  it('finds files that are there and files that are not', () => {
    expect(placeOf('docs/guide.md')).toEqual(at('docs/guide.md', 'docs'));
    expect(placeOf('new.md')).toEqual(at('new.md', ''));
    expect(placeOf('./docs//../docs/./new.md')).toEqual(at('docs/new.md', 'docs'));
    expect(placeOf(join(workspace.root, 'docs/guide.md'))).toEqual(at('docs/guide.md', 'docs'));
    expect(placeOf(`/${workspace.root}/docs/guide.md`)).toEqual(at('docs/guide.md', 'docs'));
    expect(placeOf('a/b/c.md')).toEqual(at('a/b/c.md', undefined));
    expect(placeOf('docs/b/c.md')).toEqual(at('docs/b/c.md', undefined));
  });

  it('follows a link to the file it leads to, also to one that is not there', () => {
    const { root } = workspace;
    symlinkSync('docs', join(root, 'd'));
    symlinkSync('d/guide.md', join(root, 'one'));
    symlinkSync(join(root, 'one'), join(root, 'two'));
    symlinkSync('docs/missing.md', join(root, 'dangling'));
    symlinkSync('nowhere/missing.md', join(root, 'far'));
    expect(placeOf('d/guide.md')).toEqual(at('docs/guide.md', 'docs'));
    expect(placeOf('two')).toEqual(at('docs/guide.md', 'docs', true));
    expect(placeOf('dangling')).toEqual(at('docs/missing.md', 'docs', true));
    expect(placeOf('far')).toEqual(at('nowhere/missing.md', undefined, true));
    expect(placeOf('d/new/x.md')).toEqual(at('docs/new/x.md', undefined));
  });

  it('refuses a path that leads outside, is endless, or cannot hold a file', () => {
    const { root, outside } = workspace;
    symlinkSync(outside, join(root, 'out'));
    symlinkSync(join(outside, 'later.md'), join(root, 'later'));
    symlinkSync('../outside/later.md', join(root, 'up'));
    symlinkSync('loop', join(root, 'loop'));
    writeFileSync(join(root, 'file'), '');
    expect(['out/x', 'later', 'up', '../x', `${outside}/x`, '/etc/passwd'].map(placeOf)).toEqual(
      Array(6).fill('PATH_OUTSIDE_WORKSPACE'),
    );
    expect(placeOf('loop')).toBe('PATH_INVALID');
    expect(placeOf('file/x')).toBe('NOT_A_DIRECTORY');
    expect(placeOf('missing/../x')).toBe('FILE_NOT_FOUND');
    expect(placeOf('docs/..')).toBe('IS_A_DIRECTORY');
    expect(placeOf('.')).toBe('PATH_IS_ROOT');
    expect(placeOf('x'.repeat(300))).toBe('PATH_INVALID');
  });

  it('leaves no descriptor behind', () => {
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();
    for (const path of ['docs/guide.md', 'a/b/c', '../x', 'x'.repeat(300), 'README.md/x']) placeOf(path);
    expect(open()).toBe(before);
  });
});

describe('openOrCreateDirectory', () => {
  it('creates what is missing, and says what it was', () => {
    const { root } = workspace;
    symlinkSync('docs', join(root, 'd'));
    const first = openOrCreateDirectory(root, 'd/a/b');
    const second = openOrCreateDirectory(root, 'd/a/b');
    expect([first.directory.path, first.created, second.created]).toEqual([
      'docs/a/b',
      ['docs/a', 'docs/a/b'],
      [],
    ]);
    first.directory.close();
    second.directory.close();
  });

  it('creates nothing behind a link to nowhere, in or out', () => {
    const { root, outside } = workspace;
    symlinkSync('nowhere', join(root, 'in'));
    symlinkSync(join(outside, 'new'), join(root, 'out'));
    mkdirSync(join(root, 'x'));
    for (const path of ['in/a', 'in', 'out/a', 'out'])
      expect(() => openOrCreateDirectory(root, path)).toThrow();
    expect([existsSync(join(root, 'nowhere')), readdirSync(outside)]).toEqual([false, []]);
  });
});
