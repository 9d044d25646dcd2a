import { closeSync, constants, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CountersignError } from '@countersign/protocol';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openByRealPath } from './open-by-real-path.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

const open = (path: string, flags: number): string | undefined => {
  try {
    const descriptor = openByRealPath(workspace.root, path, flags);
    try {
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return (error as CountersignError).code;
  }
};
const read = (path: string) => open(path, constants.O_RDONLY);

describe('[VA-1] openByRealPath', () => {
  it('opens what is inside, also through links, and by its absolute path', () => {
    const { root } = workspace;
    symlinkSync('docs', join(root, 'way'));
    const guide = readFileSync(join(root, 'docs/guide.md'), 'utf8');
    expect([read('docs/guide.md'), read('way/guide.md'), read(join(root, 'docs/guide.md'))]).toEqual(
      Array(3).fill(guide),
    );
    expect(open('docs/new.md', constants.O_CREAT | constants.O_RDWR)).toBe('');
    expect(readdirSync(join(root, 'docs'))).toContain('new.md');
  });

  it('refuses what leads outside or is no file, and leaves no descriptor behind', () => {
    const { root, outside } = workspace;
    const descriptors = (): number => readdirSync('/dev/fd').length;
    const before = descriptors();
    writeFileSync(join(outside, 'secret.txt'), 'CANARY');
    symlinkSync(outside, join(root, 'out'));
    symlinkSync(join(outside, 'made'), join(root, 'dangling'));
    workspace.apply([{ op: 'fifo', path: 'queue' }]);
    expect(['out/secret.txt', 'out', '..', '../outside/secret.txt', '/etc/hostname'].map(read)).toEqual(
      Array(5).fill('PATH_OUTSIDE_WORKSPACE'),
    );
    expect(open('out/made', constants.O_CREAT | constants.O_RDWR)).toBe('PATH_OUTSIDE_WORKSPACE');
    expect(open('dangling', constants.O_CREAT | constants.O_RDWR)).toBe('ELOOP');
    expect(readdirSync(outside)).toEqual(['secret.txt']);
    expect(read('queue')).toBe('NOT_A_REGULAR_FILE');
    expect(read('missing')).toBe('ENOENT');
    expect(read('README.md/x')).toBe('ENOTDIR');
    expect(descriptors()).toBe(before);
  });
});
