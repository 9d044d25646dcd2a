import { createHash } from 'node:crypto';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { defaultLimits } from '@countersign/protocol';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planCopy } from './copy-file.ts';
import { planDeletion } from './delete-file.ts';
import { planEdit } from './edit-file.ts';
import { callOf, codeOf, workspaceAt } from './file-tools.test-data.ts';
import { encodeText, type TextForm } from './text-encoding.ts';
import { planWrite } from './write-file.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

type Tool = 'write_file' | 'edit_file' | 'copy_file' | 'delete_file';
function plan(tool: Tool, given: Record<string, unknown>, limits = defaultLimits) {
  const place = workspaceAt(workspace.root, limits);
  const call = callOf(tool, given);
  switch (call.tool) {
    case 'write_file':
      return planWrite(call.params, place);
    case 'edit_file':
      return planEdit(call.params, place);
    case 'copy_file':
      return planCopy({ tool, ...call.params }, place);
    case 'delete_file':
      return planDeletion(call.params.path, place);
  }
}
const codeOfPlan = (tool: Tool, params: Record<string, unknown>, limits = defaultLimits) =>
  codeOf(() => plan(tool, params, limits));
const put = (path: string, content: string | Uint8Array): void =>
  writeFileSync(join(workspace.root, path), content);
const afterOf = async (tool: Tool, params: Record<string, unknown>): Promise<Buffer> =>
  Buffer.from((await plan(tool, params)).after ?? []);

const forms: readonly TextForm[] = [
  { encoding: 'utf-8', bom: false },
  { encoding: 'utf-8', bom: true },
  { encoding: 'utf-16le', bom: false },
  { encoding: 'utf-16le', bom: true },
  { encoding: 'utf-16be', bom: false },
  { encoding: 'utf-16be', bom: true },
  { encoding: 'latin1', bom: false },
];
const program = Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0', 'latin1');
const bytesOf = (text: string, form: TextForm): Buffer =>
  Buffer.from(encodeText(text, form) ?? expect.fail('has no such character'));

describe('[RN-3] the plan of a change', () => {
  it('says what writing a new file will do, and does nothing', async () => {
    const before = readdirSync(workspace.root);
    expect(await plan('write_file', { path: 'new/deep.md', content: 'größe\n' })).toEqual({
      path: 'new/deep.md',
      operation: 'created',
      before: null,
      after: Buffer.from('größe\n'),
      mode: undefined,
    });
    expect(readdirSync(workspace.root)).toEqual(before);
  });

  it('says what replacing, editing and deleting will do', async () => {
    put('a.md', 'one two\n');
    chmodSync(join(workspace.root, 'a.md'), 0o640);
    const { uid, gid } = statSync(join(workspace.root, 'a.md'));
    const before = {
      bytes: Buffer.from('one two\n'),
      version: `sha256:${createHash('sha256').update('one two\n').digest('hex')}`,
      mode: 0o640,
      owner: { uid, gid },
      identity: expect.any(String),
    };
    const modified = { path: 'a.md', operation: 'modified', before, mode: 0o640 };
    expect(await plan('write_file', { path: 'a.md', content: 'x' })).toEqual({
      ...modified,
      after: Buffer.from('x'),
    });
    expect(await plan('edit_file', { path: 'a.md', old: 'two', new: 'three' })).toEqual({
      ...modified,
      after: Buffer.from('one three\n'),
    });
    expect(await plan('write_file', { path: 'a.md', content: 'end', mode: 'append' })).toEqual({
      ...modified,
      after: Buffer.from('one two\nend'),
    });
    expect(await plan('delete_file', { path: 'a.md' })).toEqual({
      ...modified,
      operation: 'deleted',
      after: null,
    });
  });

  it('copies bytes and permissions, not set-user-id', async () => {
    put('tool', program);
    chmodSync(join(workspace.root, 'tool'), 0o4755);
    const copied = await plan('copy_file', { source: 'tool', dest: 'copies/tool' });
    expect(copied).toMatchObject({
      path: 'copies/tool',
      operation: 'created',
      before: null,
      after: program,
      mode: 0o755,
      source: { path: 'tool', snapshot: { mode: 0o4755 } },
    });
    put('dest.md', 'old');
    expect(await plan('copy_file', { source: 'tool', dest: 'dest.md' })).toMatchObject({
      operation: 'modified',
      mode: 0o755,
    });
  });

  it('does not copy a file onto itself, under any of its names', async () => {
    put('a.md', 'a');
    linkSync(join(workspace.root, 'a.md'), join(workspace.root, 'b.md'));
    symlinkSync('a.md', join(workspace.root, 'c.md'));
    for (const dest of ['a.md', 'b.md', 'c.md'])
      expect(await codeOfPlan('copy_file', { source: 'a.md', dest })).toBe('INVALID_PARAMS');
  });

  it.each(forms)('keeps $encoding (mark: $bom)', async (form) => {
    const text = 'grüße: one\r\nplain words so that nobody doubts\r\n';
    put('a.txt', bytesOf(text, form));
    expect(await plan('edit_file', { path: 'a.txt', old: 'one\n', new: 'zwölf\n' })).toMatchObject({
      after: bytesOf(text.replace('one', 'zwölf'), form),
    });
    expect(await afterOf('write_file', { path: 'a.txt', content: 'ü\nneu', mode: 'append' })).toEqual(
      bytesOf(`${text}ü\r\nneu`, form),
    );
    expect(await afterOf('write_file', { path: 'a.txt', content: 'ü\nneu' })).toEqual(
      bytesOf('ü\r\nneu', form),
    );
  });

  it('does not write a second mark', async () => {
    put('a.txt', '\ufeffa');
    expect(await afterOf('write_file', { path: 'a.txt', content: '\ufeffb' })).toEqual(
      Buffer.from('\ufeffb'),
    );
  });

  it('says which character an encoding does not have', async () => {
    put('a.txt', Buffer.from('caf\xe9', 'latin1'));
    const edit = { path: 'a.txt', old: 'caf', new: 'cäf €' };
    await expect(plan('edit_file', edit)).rejects.toThrow(
      '"a.txt" is kept in latin1, which has no character U+20AC',
    );
    expect(await codeOfPlan('edit_file', edit)).toBe('INVALID_PARAMS');
    await expect(plan('write_file', { path: 'b.txt', content: 'a\ud800' })).rejects.toThrow('U+D800');
  });

  it('keeps all bytes but those of the edit, whatever the file is', async () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'é', '\n', '\r\n', '\r', ' '), maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(piece, piece, fc.constantFrom(...forms), async (before, after, form) => {
        const text = `${before}plain wörds so that nobody doubts <mark>${after}`;
        put('p.txt', bytesOf(text, form));
        const there = await afterOf('edit_file', { path: 'p.txt', old: '<mark>', new: '[é]' });
        expect(there).toEqual(bytesOf(text.replace('<mark>', '[é]'), form));
      }),
      { numRuns: 150 },
    );
  });

  it('wants exactly one match', async () => {
    put('a.md', 'x y x');
    expect(await codeOfPlan('edit_file', { path: 'a.md', old: 'z', new: '' })).toBe('EDIT_NO_MATCH');
    await expect(plan('edit_file', { path: 'a.md', old: 'x', new: '' })).rejects.toMatchObject({
      code: 'EDIT_AMBIGUOUS',
      message: expect.stringContaining('2 times'),
    });
    expect(await afterOf('edit_file', { path: 'a.md', old: 'x', new: 'z', replace_all: true })).toEqual(
      Buffer.from('z y z'),
    );
    put('b.md', 'x'.repeat(1_000_000));
    expect(await codeOfPlan('edit_file', { path: 'b.md', old: 'x', new: '', replace_all: true })).toBe(
      'INVALID_PARAMS',
    );
  });

  it('writes over a binary file, but neither edits it nor appends to it', async () => {
    put('a.dat', program);
    expect(await afterOf('write_file', { path: 'a.dat', content: 'text\n' })).toEqual(Buffer.from('text\n'));
    expect(await codeOfPlan('write_file', { path: 'a.dat', content: 'x', mode: 'append' })).toBe(
      'BINARY_FILE',
    );
    expect(await codeOfPlan('edit_file', { path: 'a.dat', old: 'x', new: 'y' })).toBe('BINARY_FILE');
  });

  it('[TL-3] refuses what is or becomes too large', async () => {
    const limits = { ...defaultLimits, fileBytes: 10 };
    put('a.md', '12345678');
    const code = (tool: Tool, params: Record<string, unknown>) =>
      codeOfPlan(tool, { path: 'a.md', ...params }, limits);
    expect(await code('write_file', { content: '12', mode: 'append' })).toMatchObject({
      operation: 'modified',
    });
    expect(await code('write_file', { content: '123', mode: 'append' })).toBe('CONTENT_TOO_LARGE');
    expect(await code('write_file', { content: '12345678901' })).toBe('CONTENT_TOO_LARGE');
    expect(await code('edit_file', { old: '8', new: '8888' })).toBe('CONTENT_TOO_LARGE');
    put('a.md', '12345678901');
    expect(await code('edit_file', { old: '12345678901', new: '' })).toBe('FILE_TOO_LARGE');
    expect(await code('delete_file', {})).toBe('FILE_TOO_LARGE');
    expect(await codeOfPlan('copy_file', { source: 'a.md', dest: 'b.md' }, limits)).toBe('FILE_TOO_LARGE');
    put('huge', '');
    truncateSync(join(workspace.root, 'huge'), 200 * 1024 * 1024);
    expect(await codeOfPlan('write_file', { path: 'huge', content: '' })).toBe('FILE_TOO_LARGE');
  });

  it('[VA-1] refuses anything but a regular file inside', async () => {
    const { root, outside } = workspace;
    writeFileSync(join(outside, 'secret.md'), 'secret');
    symlinkSync(join(outside, 'secret.md'), join(root, 'out.md'));
    symlinkSync('docs/guide.md', join(root, 'in.md'));
    mkdirSync(join(root, 'folder'));
    workspace.apply([
      { op: 'fifo', path: 'queue' },
      { op: 'socket', path: 'socket' },
    ]);
    const codes = async (path: string) => [
      await codeOfPlan('write_file', { path, content: '' }),
      await codeOfPlan('edit_file', { path, old: 's', new: '' }),
      await codeOfPlan('delete_file', { path }),
      await codeOfPlan('copy_file', { source: path, dest: 'copy.md' }),
      await codeOfPlan('copy_file', { source: 'README.md', dest: path }),
    ];
    expect(await codes('out.md')).toEqual(Array(5).fill('PATH_OUTSIDE_WORKSPACE'));
    expect(await codes('../outside/secret.md')).toEqual(Array(5).fill('PATH_OUTSIDE_WORKSPACE'));
    expect(await codes('folder')).toEqual(Array(5).fill('IS_A_DIRECTORY'));
    expect(await codes('queue')).toEqual(Array(5).fill('NOT_A_REGULAR_FILE'));
    expect(await codes('socket')).toEqual(Array(5).fill('NOT_A_REGULAR_FILE'));
    expect(await codeOfPlan('edit_file', { path: 'missing', old: 'a', new: 'b' })).toBe('FILE_NOT_FOUND');
    expect(await codeOfPlan('delete_file', { path: 'missing' })).toBe('FILE_NOT_FOUND');
    expect(await codeOfPlan('copy_file', { source: 'missing', dest: 'x' })).toBe('FILE_NOT_FOUND');
    expect(await codeOfPlan('delete_file', { path: 'in.md' })).toBe('NOT_A_REGULAR_FILE');
    expect(await codeOfPlan('write_file', { path: 'README.md/x', content: '' })).toBe('NOT_A_DIRECTORY');
    expect(readFileSync(join(outside, 'secret.md'), 'utf8')).toBe('secret');
  });

  it('names the file that a link leads to', async () => {
    symlinkSync('docs', join(workspace.root, 'd'));
    symlinkSync('d/guide.md', join(workspace.root, 'alias.md'));
    expect(await plan('write_file', { path: 'alias.md', content: 'x' })).toMatchObject({
      path: 'docs/guide.md',
      operation: 'modified',
    });
  });
});
