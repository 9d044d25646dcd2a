import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseToolCall } from '@countersign/protocol';
import {
  readingContext,
  runnerWorkspace,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Progress } from '../executor.ts';
import { progressTicks } from '../progress-ticks.test-data.ts';
import { fileTools } from './file-tools.test-data.ts';

let workspace: TemporaryWorkspace;
let told: Progress[];
beforeEach(() => {
  workspace = temporaryWorkspace();
  told = [];
});
afterEach(() => {
  vi.restoreAllMocks();
  workspace.remove();
});

const write = (path: string, content: string | Uint8Array): void => {
  mkdirSync(join(workspace.root, path, '..'), { recursive: true });
  writeFileSync(join(workspace.root, path), content);
};

async function execute(tool: string, params: object, onBegin = (): void => {}): Promise<void> {
  const parsed = parseToolCall(tool, params);
  if (!parsed.ok) throw new Error(parsed.error.message);
  const context = { ...readingContext(), onProgress: (progress: Progress) => void told.push(progress) };
  const files = fileTools(runnerWorkspace(workspace));
  await files.execute(parsed.call, { ...context, changes: { begin: onBegin } });
}

describe('[EV-1] how far a long call is (founding documents: tool-system)', () => {
  it('list_directory: what it has looked at and found', async () => {
    for (const path of ['own/a/1.txt', 'own/a/2.md', 'own/b/3.txt']) write(path, '');
    const tick = progressTicks();
    await execute('list_directory', { path: 'own', recursive: true, pattern: '*.txt' });
    tick();
    expect(told).toEqual([{ message: '5 entries looked at, 2 found' }]);
  });

  it('search_files: what it has found, by name and by content', async () => {
    for (const path of ['own/a/1.txt', 'own/a/2.md', 'own/b/3.txt']) write(path, 'needle\n');
    const tick = progressTicks();
    await execute('search_files', { path: 'own', pattern: '*.txt' });
    await execute('search_files', { path: 'own', content: 'needle' });
    tick();
    expect(told).toEqual([{ message: '2 files found so far' }, { message: '3 files found so far' }]);
  });

  it('read_file: how much it has read on the way to a line', async () => {
    write('big.log', `${'x'.repeat(999)}\n`.repeat(2_000));
    const tick = progressTicks();
    await execute('read_file', { path: 'big.log', start_line: 1_500, end_line: 1_500 });
    tick();
    expect(told).toEqual([{ percent: 78, message: '1.6 of 2.0 MB read' }]);
  });

  it('copy_file: how much it has read, then written', async () => {
    write('a.txt', 'x'.repeat(5_000_000));
    const tick = progressTicks();
    let begun: readonly Progress[] = [];
    await execute('copy_file', { source: 'a.txt', dest: 'b.txt' }, () => {
      tick();
      begun = [...told];
    });
    tick();
    expect([begun, told.at(-1)]).toEqual([
      [{ percent: 50, message: '5.0 of 5.0 MB read' }],
      { percent: 100, message: '5.0 of 5.0 MB written' },
    ]);
  });

  it('write_file: how much it has written', async () => {
    const tick = progressTicks();
    await execute('write_file', { path: 'a.txt', content: 'x'.repeat(2_000_000) });
    tick();
    expect(told).toEqual([{ percent: 100, message: '2.0 of 2.0 MB written' }]);
  });
});
