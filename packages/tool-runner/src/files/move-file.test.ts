import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ToolCallPolicy } from '@countersign/policy';
import { findTool, isCustomCall } from '@countersign/protocol';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realDisk } from '../real-disk.ts';
import { versionOf } from './file-snapshot.ts';
import {
  callOf,
  codeOf,
  executeChange,
  fileTools,
  recordingContext,
  workspaceAt,
} from './file-tools.test-data.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
  put('a.sh', 'echo one\n');
  chmodSync(at('a.sh'), 0o750);
});
afterEach(() => workspace.remove());

const at = (path: string): string => join(workspace.root, path);
const put = (path: string, content: string): void => writeFileSync(at(path), content);
const read = (path: string): string | undefined =>
  existsSync(at(path)) ? readFileSync(at(path), 'utf8') : undefined;
const version = (text: string): string => versionOf(Buffer.from(text));

async function move(source: string, dest: string, context = recordingContext()) {
  const call = callOf('move_file', { source, dest });
  const result = await executeChange(call, context, workspaceAt(workspace.root));
  expect(findTool('move_file')?.result.parse(result)).toEqual(result);
  return result;
}

/** Asks the policy first, with the real disk, as the runner does. */
async function look(source: string, dest: string) {
  const { call, ...decision } = new ToolCallPolicy({ root: workspace.root, disk: realDisk }).decide(
    'move_file',
    { source, dest },
  );
  if (!call || isCustomCall(call)) throw new Error('not a call');
  return fileTools(workspaceAt(workspace.root)).preview(call, { call, ...decision });
}

describe('[TL-1] move_file', () => {
  it('[RN-3] moves a file with its permissions into directories that it makes, and records both ends first', async () => {
    const context = recordingContext({ onBegin: () => expect(read('a.sh')).toBe('echo one\n') });
    expect(await move('a.sh', 'bin/deep/b.sh', context)).toEqual({
      success: true,
      path: 'bin/deep/b.sh',
      size: 9,
      changed_files: [
        { path: 'bin/deep/b.sh', operation: 'created' },
        { path: 'a.sh', operation: 'deleted' },
      ],
    });
    expect([read('a.sh'), read('bin/deep/b.sh')]).toEqual([undefined, 'echo one\n']);
    expect(statSync(at('bin/deep/b.sh')).mode & 0o777).toBe(0o750);
    const text = Buffer.from('echo one\n');
    expect(context.begun).toEqual([
      [
        {
          path: 'bin/deep/b.sh',
          operation: 'created',
          before: null,
          after: versionOf(text),
          original: undefined,
          contentAfter: { bytes: text, mode: 0o750 },
        },
        {
          path: 'a.sh',
          operation: 'deleted',
          before: versionOf(text),
          after: null,
          original: { bytes: text, mode: 0o750 },
          contentAfter: null,
        },
      ],
    ]);
  });

  it('replaces a file that is there, and keeps a copy of it', async () => {
    put('b.sh', 'old\n');
    const context = recordingContext();
    expect(await move('a.sh', 'b.sh', context)).toMatchObject({
      changed_files: [
        { path: 'b.sh', operation: 'modified' },
        { path: 'a.sh', operation: 'deleted' },
      ],
    });
    expect([read('a.sh'), read('b.sh')]).toEqual([undefined, 'echo one\n']);
    expect(context.begun.flat().map(({ original }) => original?.bytes.toString())).toEqual([
      'old\n',
      'echo one\n',
    ]);
  });

  it('is refused for a missing file, a directory, a link, and the file itself', async () => {
    mkdirSync(at('d'));
    symlinkSync('a.sh', at('link.sh'));
    const before = readdirSync(workspace.root).sort();
    expect(await codeOf(() => move('none.sh', 'b.sh'))).toBe('FILE_NOT_FOUND');
    expect(await codeOf(() => move('d', 'e'))).toBe('IS_A_DIRECTORY');
    expect(await codeOf(() => move('a.sh', 'd'))).toBe('IS_A_DIRECTORY');
    expect(await codeOf(() => move('link.sh', 'b.sh'))).toBe('NOT_A_REGULAR_FILE');
    expect(await codeOf(() => move('a.sh', './a.sh'))).toBe('INVALID_PARAMS');
    expect(await codeOf(() => move('a.sh', 'link.sh'))).toBe('INVALID_PARAMS');
    expect([readdirSync(workspace.root).sort(), read('a.sh')]).toEqual([before, 'echo one\n']);
  });

  it('[VA-1] neither end leads out of the workspace', async () => {
    writeFileSync(join(workspace.outside, 'x.md'), 'CANARY');
    symlinkSync(workspace.outside, at('out'));
    symlinkSync(join(workspace.outside, 'x.md'), at('x.md'));
    for (const [source, dest] of [
      ['out/x.md', 'b.md'],
      ['a.sh', 'out/b.md'],
      ['a.sh', 'x.md'],
      ['x.md', 'b.md'],
      [join(workspace.outside, 'x.md'), 'b.md'],
      ['a.sh', join(workspace.outside, 'b.md')],
    ] as const)
      expect(await codeOf(() => move(source, dest))).toMatch(/^PATH_OUTSIDE_WORKSPACE$|^PERMISSION_DENIED$/);
    expect([read('a.sh'), read('b.md')]).toEqual(['echo one\n', undefined]);
    expect(readdirSync(workspace.outside)).toEqual(['x.md']);
    expect(readFileSync(join(workspace.outside, 'x.md'), 'utf8')).toBe('CANARY');
  });

  it('[AP-7] the card shows both ends', async () => {
    put('b.sh', 'old\n');
    const { preview } = await look('a.sh', 'b.sh');
    expect(preview).toEqual({
      kind: 'diff',
      files: [
        {
          path: 'b.sh',
          operation: 'modified',
          diff: expect.stringContaining('\n-old\n+echo one\n'),
          truncated: false,
          size_before: 4,
          size_after: 9,
        },
        {
          path: 'a.sh',
          operation: 'deleted',
          diff: '--- a/a.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-echo one\n',
          truncated: false,
          size_before: 9,
          size_after: null,
        },
      ],
    });
  });

  it('[AP-8] its digest covers both ends: only the move that was approved is carried out', async () => {
    const approved = (await look('a.sh', 'b.sh')).base;
    expect((await look('a.sh', 'b.sh')).base).toBe(approved);
    const changes: readonly (() => void)[] = [
      () => put('b.sh', 'there now'),
      () => put('a.sh', 'echo two\n'),
      () => chmodSync(at('a.sh'), 0o700),
    ];
    const seen = new Set([approved]);
    for (const change of changes) {
      change();
      const context = recordingContext({ digest: approved });
      expect(await codeOf(() => move('a.sh', 'b.sh', context))).toBe('APPROVAL_STALE');
      expect(context.begun).toEqual([]);
      seen.add((await look('a.sh', 'b.sh')).base);
    }
    expect(seen.size).toBe(4);
    const { base } = await look('a.sh', 'b.sh');
    await move('a.sh', 'b.sh', recordingContext({ digest: base }));
    expect(version(read('b.sh') ?? '')).toBe(version('echo two\n'));
  });

  it('[RN-3] leaves both files as they were where the source changes meanwhile', async () => {
    put('b.sh', 'old\n');
    const context = recordingContext({ onBegin: () => put('a.sh', 'mine\n') });
    expect(await codeOf(() => move('a.sh', 'b.sh', context))).toBe('APPROVAL_STALE');
    expect([read('a.sh'), read('b.sh')]).toEqual(['mine\n', 'old\n']);
  });
});
