import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChangedFile } from '@countersign/protocol';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CallChanges } from './call-changes.ts';

let folder: string;
let files: ChangedFile[];
let changes: CallChanges;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-changes-'));
  files = [];
  changes = new CallChanges({ runChanges: async () => ({ success: true, run_id: 'r', files }) }, folder);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes `text`, as a call would, and returns what that call shows. `diff` is the change of the whole run. */
async function shown(toolId: string, text: string, diff: string, more: Partial<ChangedFile> = {}) {
  writeFileSync(join(folder, 'a.md'), text);
  const tool_ids = [...(files[0]?.tool_ids ?? []), toolId];
  const file: ChangedFile = {
    path: 'a.md',
    operation: 'modified',
    added: 1,
    removed: 1,
    diff,
    truncated: false,
    tool_ids,
    undoable: true,
    undone: false,
    ...more,
  };
  files = [file];
  const result = { changed_files: [{ path: 'a.md', operation: 'modified' }] };
  const change = await changes.of('r', toolId, result);
  return change && { ...change.content[0], ...change.locations[0], path: 'a.md' };
}

it('each call of a run shows its own change', async () => {
  const first = '@@ -1,2 +1,2 @@\n-a\n+A\n b';
  const both = '@@ -1,2 +1,2 @@\n-a\n-b\n+A\n+B';
  expect(await shown('t1', 'A\nb\n', first)).toMatchObject({ oldText: 'a\nb\n', newText: 'A\nb\n', line: 1 });
  expect(await shown('t2', 'A\nB\n', both)).toMatchObject({ oldText: 'A\nb\n', newText: 'A\nB\n', line: 2 });
});

it('a call that reverses the change of its run shows no difference', async () => {
  await shown('t1', 'A\n', '@@ -1 +1 @@\n-a\n+A');
  files = [];
  expect(await changes.of('r', 't2', { changed_files: [{ path: 'a.md', operation: 'modified' }] })).toBe(
    undefined,
  );
  expect(await shown('t3', 'c\n', '@@ -1 +1 @@\n-a\n+c')).toMatchObject({ oldText: 'a\n', newText: 'c\n' });
});

it('[AP-8] shows the lines of the difference if the file is not what the call left, and nothing if it is unknown', async () => {
  const diff = '@@ -1 +1 @@\n-a\n+A';
  expect(await shown('t1', 'other\n', diff)).toMatchObject({ oldText: 'a', newText: 'A' });
  expect(await shown('t2', 'A\n', diff, { truncated: true })).toMatchObject({ oldText: 'a', newText: 'A' });
  expect(await shown('t3', 'A\n', diff, { tool_ids: ['t3', 'a later call'] })).toBe(undefined);
  expect(await changes.of('r', 't4', null)).toBe(undefined);
  expect(await changes.of('r', 't4', { changed_files: ['a.md', { path: 7 }] })).toBe(undefined);
});

it('[UI-5] shows the first changes of a command that changed thousands of files', async () => {
  files = Array.from({ length: 1_000 }, (_, n) => ({
    path: `f${n}`,
    operation: 'created' as const,
    added: 1,
    removed: 0,
    diff: '@@ -0,0 +1 @@\n+a',
    truncated: false,
    tool_ids: ['t1'],
    undoable: true,
    undone: false,
  }));
  const change = await changes.of('r', 't1', { changed_files: files.map(({ path }) => ({ path })) });
  expect(change?.content.length).toBe(50);
});
