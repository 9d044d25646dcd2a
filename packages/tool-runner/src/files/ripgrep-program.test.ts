import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { arch, platform } from 'node:process';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ripgrepOfEditor } from './ripgrep-program.ts';

let folder: TemporaryWorkspace;
beforeEach(() => {
  folder = temporaryWorkspace();
});
afterEach(() => folder.remove());

const put = (path: string, mode = 0o755): string => {
  const at = join(folder.root, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, '');
  chmodSync(at, mode);
  return at;
};

describe.skipIf(platform === 'win32')('ripgrepOfEditor', () => {
  it.each([
    `node_modules/@vscode/ripgrep-universal/bin/${platform}-${arch}/rg`,
    `node_modules/@vscode/ripgrep-${platform}-${arch}/bin/rg`,
    'node_modules/@vscode/ripgrep/bin/rg',
    'node_modules.asar.unpacked/@vscode/ripgrep/bin/rg',
  ])('finds %s', (path) => {
    expect(ripgrepOfEditor(folder.root)).toBeUndefined();
    const program = put(path);
    expect(ripgrepOfEditor(folder.root)).toBe(program);
  });
});
