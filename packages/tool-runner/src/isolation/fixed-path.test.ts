import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findOwnNode } from './fixed-path.ts';

let parent: string;
beforeEach(() => {
  parent = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-path-')));
});
afterEach(() => rmSync(parent, { recursive: true }));

function program(path: string, { withNpm = false } = {}): string {
  const file = join(parent, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  chmodSync(file, 0o755);
  if (withNpm) mkdirSync(join(dirname(file), '../lib/node_modules/npm'), { recursive: true });
  return file;
}

describe('findOwnNode', () => {
  const find = (executable: string, root = join(parent, 'workspace')) =>
    findOwnNode(root, join(parent, 'home'), executable);

  it('[RN-5] shows a whole installation, but of a Node that stands alone the one file', () => {
    const versions = join(parent, 'home/.nvm/v24');
    expect(find(program('home/.nvm/v24/bin/node', { withNpm: true }))).toEqual({
      programs: join(versions, 'bin'),
      shown: versions,
    });
    const alone = program('home/node');
    expect(find(alone)).toEqual({ programs: join(parent, 'home'), shown: alone });
    const prefixIsHome = program('home/bin/node', { withNpm: true });
    expect(find(prefixIsHome)).toEqual({ programs: join(parent, 'home/bin'), shown: prefixIsHome });
  });

  it('[VA-4] finds none in the workspace, none that was removed, and no editor', () => {
    const inside = program('workspace/node_modules/node/bin/node');
    const around = program('bin/node', { withNpm: true });
    expect([find(inside), find(join(parent, 'gone/node')), find(program('code'))]).toEqual(
      Array(3).fill(undefined),
    );
    expect(find(around)).toEqual({ programs: dirname(around), shown: around });
  });
});
