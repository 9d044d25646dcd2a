import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue, parseToolCall } from '@countersign/protocol';
import {
  readingContext,
  runnerWorkspace,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BuiltInTools } from './built-in-tools.ts';
import type { FileChange } from './files/file-snapshot.ts';
import { fileTools } from './files/file-tools.test-data.ts';

let workspace: TemporaryWorkspace;
let files: BuiltInTools;
let begun: FileChange[];
beforeEach(() => {
  workspace = temporaryWorkspace();
  files = fileTools(runnerWorkspace(workspace));
  begun = [];
});
afterEach(() => workspace.remove());

function execute(tool: string, params: object) {
  const parsed = parseToolCall(tool, params);
  if (!parsed.ok) throw new Error(parsed.error.message);
  const changes = { begin: (changed: readonly FileChange[]) => void begun.push(...changed) };
  return files.execute(parsed.call, { ...readingContext(), changes });
}
const at = (path: string) => join(workspace.root, path);

describe('[RN-3] the file tools', () => {
  it('reads, lists, searches and changes files', async () => {
    await execute('create_directory', { path: 'new' });
    await execute('write_file', { path: 'new/a.txt', content: 'one\n' });
    await execute('edit_file', { path: 'new/a.txt', old: 'one', new: 'two' });
    await execute('copy_file', { source: 'new/a.txt', dest: 'new/b.txt' });
    expect(await execute('read_file', { path: 'new/b.txt' })).toMatchObject({ content: 'two\n' });
    expect(await execute('list_directory', { path: 'new' })).toMatchObject({ total_count: 2 });
    expect(await execute('search_files', { path: 'new', content: 'two' })).toMatchObject({ total_count: 2 });
    await execute('delete_file', { path: 'new/a.txt' });
    expect([existsSync(at('new/a.txt')), readFileSync(at('new/b.txt'), 'utf8')]).toEqual([false, 'two\n']);
    expect(begun.map(({ path, operation }) => `${operation} ${path}`)).toEqual(
      expect.arrayContaining([
        'created new/a.txt',
        'modified new/a.txt',
        'created new/b.txt',
        'deleted new/a.txt',
      ]),
    );
  });

  it('[EX-9] reads what it has just written, not what it remembers', async () => {
    writeFileSync(at('a.txt'), 'before');
    // By this clock every file is old enough to be remembered.
    const clock = { now: () => Date.now() + 10_000, monotonic: () => 0 };
    files = fileTools(runnerWorkspace(workspace), { clock });
    expect(await execute('read_file', { path: 'a.txt' })).toMatchObject({ content: 'before' });
    await execute('write_file', { path: 'a.txt', content: 'after!' });
    expect(await execute('read_file', { path: 'a.txt' })).toMatchObject({ content: 'after!' });
  });

  it('does only what its tools are, and nothing once it was disposed of', async () => {
    await expect(execute('git_status', {})).rejects.toMatchObject({ code: 'UNKNOWN_TOOL' });
    expect(files.tools).toEqual(
      catalogue.flatMap(({ name, category }) => (category === 'filesystem' ? [name] : [])),
    );
    await files.dispose();
    await files.dispose();
    await expect(execute('write_file', { path: 'a.txt', content: '' })).rejects.toMatchObject({
      code: 'EXECUTION_CANCELLED',
    });
    expect(existsSync(at('a.txt'))).toBe(false);
  });
});
