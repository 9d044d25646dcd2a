import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolCallPolicy } from '@countersign/policy';
import { type BuiltInToolName, isCustomCall } from '@countersign/protocol';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BuiltInTools } from './built-in-tools.ts';
import { versionOf } from './files/file-snapshot.ts';
import {
  callOf,
  codeOf,
  executeChange,
  fileTools,
  recordingContext,
  workspaceAt,
} from './files/file-tools.test-data.ts';
import { WorkspaceTexts } from './lsp/workspace-texts.ts';
import { OpenEditor } from './open-editor.test-data.ts';
import { realDisk } from './real-disk.ts';
import type { Workspace } from './workspace.ts';

let folder: TemporaryWorkspace;
let editor: OpenEditor;
let workspace: Workspace;
let executor: BuiltInTools;
beforeEach(() => {
  folder = temporaryWorkspace();
  editor = new OpenEditor();
  workspace = { ...workspaceAt(folder.root), documents: editor };
  executor = fileTools(workspace);
});
afterEach(async () => {
  await executor.dispose();
  folder.remove();
});

const at = (path: string): string => join(folder.root, path);
const put = (path: string, text: string): void => writeFileSync(at(path), text);
const onDisk = (path: string): string => readFileSync(at(path), 'utf8');

/** Asks the policy first, with the real disk, as the runner does. */
function decided(tool: BuiltInToolName, params: Record<string, unknown>) {
  const decision = new ToolCallPolicy({ root: folder.root, disk: realDisk }).decide(tool, params);
  if (!decision.call || isCustomCall(decision.call)) throw new Error('not a call');
  return { call: decision.call, decision };
}
const look = (tool: BuiltInToolName, params: Record<string, unknown>) => {
  const { call, decision } = decided(tool, params);
  return executor.preview(call, decision);
};
const propose = (tool: BuiltInToolName, params: Record<string, unknown>) => {
  const { call, decision } = decided(tool, params);
  return executor.proposedText(call, decision);
};
/** Approves the call as it is shown now, then executes it. */
async function run(tool: BuiltInToolName, params: Record<string, unknown>, digest?: string) {
  const shown = digest ?? (await look(tool, params)).base;
  const context = recordingContext({ digest: shown });
  return {
    result: await codeOf(() => executor.execute(callOf(tool, params), context)),
    begun: context.begun,
  };
}

const edit = { path: 'a.md', old: 'typed', new: 'edited' };

describe('[RN-9] an unsaved buffer', () => {
  it('is what read_file reads, whole or in part, and through a link', async () => {
    put('a.md', 'saved\n');
    symlinkSync('a.md', at('link.md'));
    editor.open(at('link.md'), 'one\ntwo\nthree\n');
    const read = async (params: Record<string, unknown>) =>
      executor.execute(callOf('read_file', params), recordingContext());
    expect(await read({ path: 'a.md' })).toEqual({
      success: true,
      content: 'one\ntwo\nthree\n',
      encoding: 'utf-8',
      size: 14,
      truncated: false,
    });
    expect(await read({ path: 'a.md', start_line: 2, end_line: 2 })).toMatchObject({
      content: 'two\n',
      start_line: 2,
      end_line: 2,
    });
    expect(await read({ path: 'a.md', start_line: 9 })).toMatchObject({ content: '', end_line: 3 });
  });

  it('[TL-2] is read in parts as its own bytes, not as those on the disk (founding documents: tools-specification)', async () => {
    put('a.md', 'saved, and longer than what was typed\n');
    editor.open(at('a.md'), 'öne\ntwo\n');
    const read = async (params: Record<string, unknown>) =>
      executor.execute(callOf('read_file', { path: 'a.md', ...params }), recordingContext());
    expect(await read({ offset: 1, length: 4 })).toEqual({
      ...{ success: true, content: 'öne\n', encoding: 'utf-8', size: 9 },
      ...{ truncated: false, offset: 0, next_offset: 5 },
    });
    expect(await read({ offset: 5 })).toMatchObject({ content: 'two\n', truncated: false, offset: 5 });
    expect(await read({ start_line: 1, end_line: 1 })).toMatchObject({ next_offset: 5 });
  });

  it('is what search_files searches, where the search goes and nothing is sensitive', async () => {
    mkdirSync(at('src'), { recursive: true });
    for (const path of ['a.md', 'src/b.md', 'src/c.md', '.env']) put(path, 'needle on the disk\n');
    editor.open(at('a.md'), 'typed\nneedle in the buffer\n');
    editor.open(at('src/b.md'), 'nothing of the kind\n');
    editor.open(at('.env'), 'needle=secret\n');
    editor.open(join(folder.outside, 'x.md'), 'needle outside\n');
    editor.open(at('src/c.md')); // no unsaved changes
    const search = async (params: Record<string, unknown>) => {
      const { files } = await executor.execute(callOf('search_files', params), recordingContext());
      return (files as { path: string; matches: unknown[] }[]).map(({ path, matches }) => [path, ...matches]);
    };
    const inC = ['src/c.md', { line: 1, text: 'needle on the disk' }];
    expect(await search({ content: 'needle' })).toEqual([
      ['a.md', { line: 2, text: 'needle in the buffer' }],
      inC,
    ]);
    expect(await search({ content: 'needle', path: 'src' })).toEqual([inC]);
    expect(await search({ content: 'nothing', pattern: 'b.*' })).toEqual([
      ['src/b.md', { line: 1, text: 'nothing of the kind' }],
    ]);
    expect(await search({ content: 'needle in', pattern: '*.ts' })).toEqual([]);
  });

  it('is cut like a file, behind a whole line', async () => {
    put('a.md', '');
    editor.open(at('a.md'), `${'x'.repeat(600_000)}\n`.repeat(3));
    const read = await executor.execute(callOf('read_file', { path: 'a.md' }), recordingContext());
    expect([read.truncated, String(read.content).length, read.end_line]).toEqual([true, 600_001, 1]);
  });

  it('is the base of preview and digest, and both say so', async () => {
    put('a.md', 'saved\n');
    const saved = await look('write_file', { path: 'a.md', content: 'new\n' });
    editor.open(at('a.md'), 'typed\n');
    const unsaved = await look('write_file', { path: 'a.md', content: 'new\n' });
    expect(unsaved.preview).toMatchObject({
      kind: 'diff',
      files: [{ unsaved: true, diff: expect.stringContaining('-typed') }],
    });
    expect(JSON.stringify(saved.preview)).not.toContain('unsaved');
    expect(unsaved.base).not.toBe(saved.base);
    // The same text gives another digest base once it is saved, because the call then has nothing unsaved to save.
    put('a.md', 'typed\n');
    editor.open(at('a.md'));
    expect((await look('write_file', { path: 'a.md', content: 'new\n' })).base).not.toBe(unsaved.base);
  });

  it('is edited and saved, as one step in the editor, and can be undone to what was typed', async () => {
    put('a.md', 'saved\n');
    editor.open(at('a.md'), 'typed\n');
    const { result, begun } = await run('edit_file', edit);
    expect(result).toMatchObject({ success: true, path: 'a.md', size: 7 });
    expect([onDisk('a.md'), editor.textOf(at('a.md')), editor.replacements]).toEqual([
      'edited\n',
      'edited\n',
      1,
    ]);
    expect(begun).toEqual([
      [
        expect.objectContaining({
          before: versionOf(Buffer.from('typed\n')),
          after: versionOf(Buffer.from('edited\n')),
          original: expect.objectContaining({ bytes: Buffer.from('typed\n') }),
        }),
      ],
    ]);
  });

  it('[AP-8] that changed after the approval is asked about again, and nothing happens', async () => {
    put('a.md', 'saved\n');
    editor.open(at('a.md'), 'typed\n');
    const { base: digest } = await look('edit_file', edit);
    editor.open(at('a.md'), 'typed more\n');
    expect((await run('edit_file', edit, digest)).result).toBe('APPROVAL_STALE');
    expect([onDisk('a.md'), editor.textOf(at('a.md'))]).toEqual(['saved\n', 'typed more\n']);
  });

  it('[AP-8] that changes at the last moment is not overwritten', async () => {
    put('a.md', 'saved\n');
    editor.open(at('a.md'), 'typed\n');
    const { base: digest } = await look('edit_file', edit);
    const context = recordingContext({ digest, onBegin: () => editor.open(at('a.md'), 'typed more\n') });
    expect(await codeOf(() => executor.execute(callOf('edit_file', edit), context))).toBe('APPROVAL_STALE');
    expect([onDisk('a.md'), editor.textOf(at('a.md'))]).toEqual(['saved\n', 'typed more\n']);
  });

  it('whose file changes on the disk at the last moment is not written', async () => {
    put('a.md', 'saved\n');
    editor.open(at('a.md'), 'typed\n');
    const { base: digest } = await look('edit_file', edit);
    const context = recordingContext({ digest, onBegin: () => put('a.md', 'by somebody else\n') });
    expect(await codeOf(() => executor.execute(callOf('edit_file', edit), context))).toBe('APPROVAL_STALE');
    expect(onDisk('a.md')).toBe('by somebody else\n');
  });

  it('is the source of a copy, and the text that language tools see', async () => {
    put('a.md', 'saved\n');
    editor.open(at('a.md'), 'typed\n');
    await run('copy_file', { source: 'a.md', dest: 'b.md' });
    expect([onDisk('b.md'), onDisk('a.md')]).toEqual(['typed\n', 'saved\n']);
    expect(new WorkspaceTexts(workspace).read('a.md')).toBe('typed\n');
  });

  it('is what a move takes along; the buffer itself stays in the editor', async () => {
    put('a.md', 'saved\n');
    editor.open(at('a.md'), 'typed\n');
    const { result, begun } = await run('move_file', { source: 'a.md', dest: 'b.md' });
    expect(result).toMatchObject({ success: true });
    expect([onDisk('b.md'), existsSync(at('a.md')), editor.textOf(at('a.md'))]).toEqual([
      'typed\n',
      false,
      'typed\n',
    ]);
    // Undo restores the text that was on the disk.
    expect(begun.flat()[1]?.original?.bytes.toString()).toBe('saved\n');
    put('c.md', 'saved\n');
    editor.open(at('b.md'), 'more\n');
    const shown = await look('move_file', { source: 'c.md', dest: 'b.md' });
    expect(shown.preview).toMatchObject({ files: [{ unsaved: true }, { operation: 'deleted' }] });
    editor.open(at('b.md'), 'more and more\n');
    expect((await run('move_file', { source: 'c.md', dest: 'b.md' }, shown.base)).result).toBe(
      'APPROVAL_STALE',
    );
  });

  it('[TL-2] is never written back: a move that cannot end reports the file that it replaced', async () => {
    put('c.md', 'mine\n');
    put('b.md', 'saved\n');
    editor.open(at('b.md'), 'typed\n');
    const context = recordingContext({ onBegin: () => put('c.md', 'changed meanwhile\n') });
    const call = callOf('move_file', { source: 'c.md', dest: 'b.md' });
    const failure = await executeChange(call, context, workspace).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'EXECUTION_FAILED',
      changes: { changed_files: [{ path: 'b.md', operation: 'modified' }] },
    });
    expect([onDisk('b.md'), onDisk('c.md')]).toEqual(['mine\n', 'changed meanwhile\n']);
  });

  it('stays in the editor when its file is deleted', async () => {
    put('a.md', 'saved\n');
    editor.open(at('a.md'), 'typed\n');
    expect((await look('delete_file', { path: 'a.md' })).preview).toMatchObject({ head: 'saved\n' });
    expect((await run('delete_file', { path: 'a.md' })).result).toMatchObject({ success: true });
    expect(editor.textOf(at('a.md'))).toBe('typed\n');
  });

  it('that its file has no characters for is taken as UTF-8', async () => {
    writeFileSync(at('a.md'), Buffer.from('caf\xe9\n', 'latin1'));
    editor.open(at('a.md'), 'typed ✓\n');
    expect((await look('edit_file', edit)).preview).toMatchObject({
      files: [{ diff: expect.stringContaining('+edited ✓') }],
    });
  });
});

describe('[RN-9] a file that is open and saved', () => {
  it('is changed in the editor, so that undo works there', async () => {
    put('a.md', 'typed\n');
    editor.open(at('a.md'));
    await run('edit_file', edit);
    expect([onDisk('a.md'), editor.textOf(at('a.md')), editor.replacements]).toEqual([
      'edited\n',
      'edited\n',
      1,
    ]);
  });

  it('ends as the approved bytes, whatever a formatter does on the way', async () => {
    put('a.md', 'typed\n');
    editor.open(at('a.md'));
    editor.format = (text) => text.toUpperCase();
    await run('edit_file', edit);
    expect(onDisk('a.md')).toBe('edited\n');
  });

  it('is written on the disk where the editor is behind it', async () => {
    put('a.md', 'older\n');
    editor.open(at('a.md'));
    put('a.md', 'typed\n');
    await run('edit_file', edit);
    expect([onDisk('a.md'), editor.replacements]).toEqual(['edited\n', 0]);
  });

  it('does not concern other files, nor those that are gone', async () => {
    put('a.md', 'typed\n');
    put('b.md', 'other\n');
    editor.open(at('b.md'), 'unsaved\n');
    editor.open(at('gone.md'), 'unsaved\n');
    await run('edit_file', edit);
    expect([onDisk('a.md'), editor.replacements]).toEqual(['edited\n', 0]);
  });
});

describe('a proposed text', () => {
  it('is the whole file before and after', async () => {
    put('a.md', 'saved\n');
    editor.open(at('a.md'), 'typed\nmore\n');
    expect(await propose('edit_file', edit)).toEqual({
      path: 'a.md',
      before: 'typed\nmore\n',
      after: 'edited\nmore\n',
    });
    expect(await propose('write_file', { path: 'new.md', content: 'x' })).toEqual({
      path: 'new.md',
      before: null,
      after: 'x',
    });
  });

  it('is nothing for what changes no text', async () => {
    writeFileSync(at('image.png'), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 0]));
    put('a.md', 'x');
    expect(await propose('copy_file', { source: 'image.png', dest: 'copy.png' })).toBeUndefined();
    expect(await propose('delete_file', { path: 'a.md' })).toBeUndefined();
    expect(await propose('move_file', { source: 'a.md', dest: 'moved.md' })).toBeUndefined();
  });
});

it('[RN-9] an editor that must be asked is asked for the files of a call, before its preview and its execution', async () => {
  put('a.ts', 'saved');
  put('b.ts', 'other');
  const asked: (readonly string[])[] = [];
  let shown: string | undefined;
  const documents = {
    prepare: async (paths: readonly string[]) => {
      asked.push(paths);
      shown = 'unsaved';
    },
    list: () => (shown === undefined ? [] : [{ path: at('a.ts'), isUnsaved: true, text: () => shown ?? '' }]),
    replace: async () => false,
  };
  const tools = fileTools({ ...workspace, documents });
  try {
    const read = await tools.execute(callOf('read_file', { path: 'a.ts' }), recordingContext({}));
    expect(read).toMatchObject({ content: 'unsaved' });
    const { call, decision } = decided('copy_file', { source: 'b.ts', dest: 'c.ts' });
    await tools.preview(call, decision);
    expect(asked).toEqual([[at('a.ts')], [at('b.ts'), at('c.ts')]]);
  } finally {
    await tools.dispose();
  }
});
