import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runnerIdOf, runnerInstanceOf } from './runner-id.ts';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'countersign-runner-id-'));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

it('[EX-6] a runner has the same id at every start, and is the same program', () => {
  const folder = join(parent, 'state');
  const [id, instance] = [runnerIdOf(folder), runnerInstanceOf(folder)];
  expect([runnerIdOf(folder), runnerInstanceOf(folder)]).toEqual([id, instance]);
  expect(instance).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
});

it('[EX-6] a copy of its folder has its id, and is another program', () => {
  const [folder, copy] = [join(parent, 'state'), join(parent, 'copy')];
  const instance = runnerInstanceOf(folder);
  cpSync(folder, copy, { recursive: true });
  expect(runnerIdOf(copy)).toBe(runnerIdOf(folder));
  expect(runnerInstanceOf(copy)).not.toBe(instance);
});

it('an id that no runner can have is replaced', () => {
  const folder = join(parent, 'state');
  const first = runnerIdOf(folder);
  writeFileSync(join(folder, 'runner-id'), 'not an id\n');
  expect(runnerIdOf(folder)).not.toBe(first);
});
