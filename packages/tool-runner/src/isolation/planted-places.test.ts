import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
