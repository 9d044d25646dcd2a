import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { setAside } from './planted-places.ts';

let folder: string;
let base: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-set-aside-'));
  base = join(folder, 'workspace');
  mkdirSync(join(base, 'sub/.vscode'), { recursive: true });
  writeFileSync(join(base, 'sub/.vscode/tasks.json'), 'evil');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('[VA-3] moves a place out of the workspace', () => {
  const keptIn = setAside(base, 'sub/.vscode', join(folder, 'kept')) as string;
  expect(keptIn.startsWith(join(folder, 'kept'))).toBe(true);
  expect(readFileSync(join(keptIn, 'tasks.json'), 'utf8')).toBe('evil');
  expect(readdirSync(join(base, 'sub'))).toEqual([]);
  expect(statSync(dirname(keptIn)).mode & 0o777).toBe(0o700);
});

// Root may write in any folder, so as root the test runs as another user.
const asUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

it.each([
  ['moves it', 'kept', 'kept'],
  ['takes its name away', 'a-file', 'workspace/sub'],
])('[VA-3] %s even if the command removed the permissions for that', (_, kept, place) => {
  writeFileSync(join(folder, 'a-file'), '');
  mkdirSync(join(folder, 'kept'));
  for (const path of ['', 'kept', 'workspace', 'workspace/sub', 'workspace/sub/.vscode'])
    chownSync(join(folder, path), asUser.uid ?? -1, asUser.gid ?? -1);
  chmodSync(join(base, 'sub/.vscode'), 0o500);
  chmodSync(join(base, 'sub'), 0o500);
  const program = `
    const { setAside } = await import(${JSON.stringify(import.meta.resolve('./planted-places.ts'))});
    console.log(setAside(${JSON.stringify(base)}, 'sub/.vscode', ${JSON.stringify(join(folder, kept))}));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    ...asUser,
  });
  expect(stderr).toBe('');
  expect(stdout.startsWith(`${join(folder, place)}/`)).toBe(true);
  expect(readFileSync(join(stdout.trim(), 'tasks.json'), 'utf8')).toBe('evil');
  expect(existsSync(join(base, 'sub/.vscode'))).toBe(false);
  expect(statSync(join(base, 'sub')).mode & 0o777).toBe(0o500);
});

it('[VA-3] takes its name away where it cannot be moved out: nothing obeys it any more', () => {
  writeFileSync(join(folder, 'kept'), 'a file, where a folder would have to be made');
  const keptIn = setAside(base, 'sub/.vscode', join(folder, 'kept')) as string;
  expect(keptIn).toMatch(/workspace\/sub\/set-aside-[\d-]+$/);
  expect(readFileSync(join(keptIn, 'tasks.json'), 'utf8')).toBe('evil');
  expect(existsSync(join(base, 'sub/.vscode'))).toBe(false);
});

it('has nothing to say of what somebody removed meanwhile', () => {
  expect(setAside(base, 'sub/.envrc', join(folder, 'kept'))).toBeUndefined();
});
