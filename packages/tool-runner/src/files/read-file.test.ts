import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type CountersignError,
  findTool,
  type Limits,
  parseToolCall,
  resultSchemaOf,
} from '@countersign/protocol';
import {
  readingContext,
  runnerWorkspace,
  securityCases,
  startSwapping,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BuiltInTools } from '../built-in-tools.ts';
import type { ToolResult } from '../executor.ts';
import { fileTools } from './file-tools.test-data.ts';
import { encodeText, type TextEncoding } from './text-encoding.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

const put = (path: string, content: string | Uint8Array) =>
  writeFileSync(join(workspace.root, path), content);
const executor = (limits?: Partial<Limits>) => fileTools(runnerWorkspace(workspace, limits));

async function readWith(files: BuiltInTools, params: object, signal?: AbortSignal): Promise<ToolResult> {
  const parsed = parseToolCall('read_file', params);
  if (!parsed.ok) throw new Error(parsed.error.message);
  const result = await files.execute(parsed.call, readingContext(signal));
  resultSchemaOf(findTool('read_file') ?? expect.fail()).parse(result);
  return result;
}
const read = (params: object, limits?: Partial<Limits>) => readWith(executor(limits), params);
const codeOf = (params: object, limits?: Partial<Limits>): Promise<string> =>
  read(params, limits).then(
    () => 'read',
    (error: CountersignError) => error.code,
  );

/** The parts that follow `first`, each read from the `next_offset` of the part before. */
async function readOn(params: object, first: ToolResult, files = executor()): Promise<ToolResult[]> {
  const parts: ToolResult[] = [];
  for (let { next_offset } = first; next_offset !== undefined; next_offset = parts.at(-1)?.next_offset)
    parts.push(await readWith(files, { ...params, offset: next_offset }));
  return parts;
}

describe('[TL-2] read_file', () => {
  it('reads a file, also by its absolute path and through a link', async () => {
    put('a.txt', 'one\ntwo\n');
    symlinkSync('a.txt', join(workspace.root, 'link'));
    const expected = { success: true, content: 'one\ntwo\n', encoding: 'utf-8', size: 8, truncated: false };
    expect(await read({ path: 'a.txt' })).toEqual(expected);
    expect(await read({ path: join(workspace.root, 'a.txt') })).toEqual(expected);
    expect(await read({ path: 'link' })).toEqual(expected);
    put('empty', '');
    expect(await read({ path: 'empty' })).toMatchObject({ content: '', encoding: 'utf-8', size: 0 });
  });

  it('reads a range of lines, each with its line end', async () => {
    put('lines', 'one\r\ntwo\r\n\r\nfour');
    const range = async (start_line?: number, end_line?: number) => {
      const result = await read({ path: 'lines', start_line, end_line });
      return [result.content, result.start_line, result.end_line, result.truncated];
    };
    expect(await range(1, 1)).toEqual(['one\r\n', 1, 1, false]);
    expect(await range(2, 3)).toEqual(['two\r\n\r\n', 2, 3, false]);
    expect(await range(4)).toEqual(['four', 4, 4, false]);
    expect(await range(undefined, 2)).toEqual(['one\r\ntwo\r\n', 1, 2, false]);
    expect(await range(3, 99)).toEqual(['\r\nfour', 3, 4, false]);
    // Beyond the end of the file: no text, but the number of lines.
    expect(await range(9, 12)).toEqual(['', 9, 4, false]);
    put('lines', 'one\n');
    expect(await range(2)).toEqual(['', 2, 1, false]);
  });

  it('cuts behind a whole line, and the next range goes on there', async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `line ${i} größe\n`);
    put('long', lines.join(''));
    const pieces: unknown[] = [];
    for (let start_line = 1; ; ) {
      const piece = await read({ path: 'long', start_line }, { readChunkBytes: 100 });
      pieces.push(piece.content);
      expect(Buffer.byteLength(piece.content as string)).toBeLessThanOrEqual(100);
      if (!piece.truncated) break;
      start_line = (piece.end_line as number) + 1;
    }
    expect(pieces.length).toBeGreaterThan(10);
    expect(pieces.join('')).toBe(lines.join(''));
    expect(await read({ path: 'long' }, { readChunkBytes: 17 })).toEqual({
      ...{
        success: true,
        content: 'line 0 größe\n',
        encoding: 'utf-8',
        size: Buffer.byteLength(lines.join('')),
      },
      ...{ truncated: true, start_line: 1, end_line: 1, next_offset: 15 },
    });
  });

  it.each<[TextEncoding, boolean]>([
    ['utf-8', false],
    ['utf-8', true],
    ['utf-16le', false],
    ['utf-16le', true],
    ['utf-16be', false],
    ['utf-16be', true],
  ])('[TL-4] never splits a character of %s (mark: %s)', async (encoding, bom) => {
    const text = `a${'😁ä'.repeat(10)}${'x'.repeat(400)}`;
    put('one-line', encodeText(text, { encoding, bom }) ?? '');
    for (let readChunkBytes = 1; readChunkBytes < 60; readChunkBytes++) {
      const result = await read({ path: 'one-line' }, { readChunkBytes });
      const content = result.content as string;
      expect(result).toMatchObject({ encoding, truncated: true, start_line: 1 });
      expect(text.startsWith(content) && content.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(content)).toBeLessThanOrEqual(readChunkBytes);
      expect(Buffer.byteLength(content)).toBeGreaterThan(readChunkBytes - 4);
    }
    expect(await read({ path: 'one-line' })).toMatchObject({ content: text, encoding, truncated: false });
  });

  it.each<TextEncoding>(['utf-8', 'utf-16le', 'utf-16be', 'latin1'])(
    '[TL-4] finds lines of %s beyond the first chunks',
    async (encoding) => {
      // U+0A0A and U+0A00 contain the byte of a line feed but are not line feeds. Chunks end within characters.
      const filler = encoding === 'latin1' ? 'é'.repeat(97) : 'ਊ਀😀x'.repeat(20);
      const lines = Array.from({ length: 8_000 }, (_, i) => `${i} ${filler}\n`);
      put('many', encodeText(lines.join(''), { encoding, bom: encoding !== 'latin1' }) ?? '');
      const result = await read({ path: 'many', start_line: 7_001, end_line: 7_003 });
      expect(result).toMatchObject({ encoding, start_line: 7_001, end_line: 7_003, truncated: false });
      expect(result.content).toBe(lines.slice(7_000, 7_003).join(''));
      expect(await read({ path: 'many', start_line: 9_000 })).toMatchObject({ content: '', end_line: 8_000 });
      const whole = await read({ path: 'many' });
      expect(whole.truncated).toBe(true);
      expect(lines.slice(0, whole.end_line as number).join('')).toBe(whole.content);
    },
  );

  it('[TL-4] names Latin-1 where a file stops being UTF-8, and refuses the encoding it is not in', async () => {
    put('mixed', Buffer.concat([Buffer.from('ä\n'.repeat(200_000)), Buffer.from([0xe9, 0x0a])]));
    expect(await read({ path: 'mixed', end_line: 2 })).toMatchObject({
      content: 'ä\nä\n',
      encoding: 'utf-8',
    });
    expect(await read({ path: 'mixed', start_line: 200_001 })).toMatchObject({
      content: 'é\n',
      encoding: 'latin1',
    });
    expect(await codeOf({ path: 'mixed', encoding: 'utf-8' })).toBe('ENCODING_UNSUPPORTED');
    put('cut', Buffer.from('caf\xe9', 'latin1'));
    expect(await read({ path: 'cut' })).toMatchObject({ content: 'café', encoding: 'latin1' });
    // What fits as bytes of Latin-1 may be too long as UTF-8.
    expect(await read({ path: 'cut' }, { readChunkBytes: 4 })).toMatchObject({
      content: 'caf',
      truncated: true,
    });
    put('bare', encodeText('漢字\n', { encoding: 'utf-16be', bom: false }) ?? '');
    expect(await codeOf({ path: 'bare' })).toBe('BINARY_FILE');
    expect(await read({ path: 'bare', encoding: 'utf-16be' })).toMatchObject({ content: '漢字\n' });
    put('text', encodeText('ab', { encoding: 'utf-16le', bom: false }) ?? '');
    expect(await codeOf({ path: 'text', encoding: 'latin1' })).toBe('ENCODING_UNSUPPORTED');
    put(
      'odd',
      Buffer.concat([encodeText('ab', { encoding: 'utf-16le', bom: true }) ?? Buffer.of(), Buffer.of(65)]),
    );
    expect(await read({ path: 'odd' })).toMatchObject({ content: 'ab\ufffd', encoding: 'utf-16le' });
  });

  it('[TL-4] gives PDF and images as base64, at most a chunk of them, and refuses other binaries', async () => {
    const image = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100, 7)]);
    put('image.png', image);
    put('paper.pdf', '%PDF-1.7 …');
    put('program', Buffer.from('7f454c4602010100', 'hex'));
    expect(await read({ path: 'image.png', start_line: 2 })).toEqual({
      success: true,
      content: image.toString('base64'),
      encoding: 'base64',
      size: 108,
      truncated: false,
      media_type: 'image/png',
    });
    const part = await read({ path: 'image.png' }, { readChunkBytes: 50 });
    expect(part).toMatchObject({
      content: image.subarray(0, 48).toString('base64'),
      size: 108,
      truncated: true,
      next_offset: 48,
    });
    expect(await read({ path: 'paper.pdf' })).toMatchObject({ media_type: 'application/pdf' });
    expect(await codeOf({ path: 'program' })).toBe('BINARY_FILE');
    expect(await codeOf({ path: 'program', encoding: 'latin1' })).toBe('BINARY_FILE');
  });

  it('gives a PDF above 1 MiB whole in parts, whose base64 can be joined as it is (founding documents: tools-specification)', async () => {
    const paper = Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(2_500_000)]);
    put('paper.pdf', paper);
    const first = await read({ path: 'paper.pdf' });
    expect({ ...first, content: '' }).toEqual({
      ...{ success: true, content: '', encoding: 'base64', media_type: 'application/pdf' },
      ...{ size: 2_500_009, truncated: true, next_offset: 1_048_575 },
    });
    const parts = [first, ...(await readOn({ path: 'paper.pdf' }, first))];
    expect(parts).toHaveLength(3);
    expect(parts.at(-1)).toMatchObject({ truncated: false, offset: 2_097_150 });
    expect(Buffer.from(parts.map(({ content }) => content).join(''), 'base64').equals(paper)).toBe(true);

    const some = await read({ path: 'paper.pdf', offset: 5, length: 7 });
    expect(some).toEqual({
      ...{ success: true, content: paper.subarray(5, 12).toString('base64'), encoding: 'base64' },
      ...{ media_type: 'application/pdf', size: 2_500_009, truncated: false, offset: 5, next_offset: 12 },
    });
    // A read beyond the limit is truncated; a read beyond the end is empty.
    expect(await read({ path: 'paper.pdf', offset: 1, length: 2_000_000 })).toMatchObject({
      ...{ truncated: true, offset: 1, next_offset: 1_048_576 },
    });
    expect(await read({ path: 'paper.pdf', offset: 9_000_000 })).toEqual({
      ...{ success: true, content: '', encoding: 'base64', media_type: 'application/pdf' },
      ...{ size: 2_500_009, truncated: false, offset: 2_500_009 },
    });
  });

  it('gives a line above 1 MiB whole in parts (founding documents: tools-specification)', async () => {
    const text = `short\n${'größe €😀'.repeat(200_000)}\nlast\n`;
    put('one-line.txt', text);
    const [first, long] = [
      await read({ path: 'one-line.txt' }),
      await read({ path: 'one-line.txt', start_line: 2 }),
    ];
    expect(first).toMatchObject({ content: 'short\n', truncated: true, end_line: 1, next_offset: 6 });
    expect(long).toMatchObject({ truncated: true, start_line: 2, end_line: 2 });
    const parts = [first, long, ...(await readOn({ path: 'one-line.txt' }, long))];
    expect(parts.map(({ content }) => content).join('')).toBe(text);
    expect(parts.every(({ content }) => Buffer.byteLength(content as string) <= 1_048_576)).toBe(true);
    expect(parts.at(-1)).toMatchObject({ truncated: false, size: Buffer.byteLength(text) });
  });

  it.each<[TextEncoding, boolean]>([
    ['utf-8', false],
    ['utf-8', true],
    ['utf-16le', false],
    ['utf-16le', true],
    ['utf-16be', false],
    ['utf-16be', true],
    ['latin1', false],
  ])(
    '[TL-4] parts of %s (mark: %s) that meet give the text again, whatever their borders',
    async (encoding, bom) => {
      const text = encoding === 'latin1' ? 'é'.repeat(50) : `a${'😁ä€'.repeat(8)}\nzz`;
      const bytes = encodeText(text, { encoding, bom }) ?? expect.fail();
      put('parts', bytes);
      const files = executor({ readChunkBytes: 40 });
      for (let length = 1; length <= 50; length++) {
        // In steps of a fixed size, no matter where the previous part ended.
        const step = Math.min(length, 20);
        let joined = '';
        for (let offset = 0; offset < bytes.length; offset += step)
          joined += (await readWith(files, { path: 'parts', encoding, offset, length: step })).content;
        expect(joined).toBe(text);
        // In steps that follow each `next_offset`.
        const first = await readWith(files, { path: 'parts', encoding, length });
        const followed = [first, ...(await readOn({ path: 'parts', encoding, length }, first, files))];
        expect(followed.map(({ content }) => content).join('')).toBe(text);
      }
    },
  );

  it('[TL-4] names Latin-1 in a part behind the byte that is not UTF-8, and refuses UTF-8 there', async () => {
    put('mixed', Buffer.concat([Buffer.from('ä'.repeat(300_000)), Buffer.from([0xe9, 0x0a, 0xc3, 0xa4])]));
    expect(await read({ path: 'mixed', offset: 1, length: 4 })).toMatchObject({
      ...{ content: 'ää', encoding: 'utf-8', offset: 0, next_offset: 4 },
    });
    expect(await read({ path: 'mixed', offset: 600_002 })).toMatchObject({
      ...{ content: 'Ã¤', encoding: 'latin1', offset: 600_002, truncated: false },
    });
    expect(await codeOf({ path: 'mixed', offset: 600_002, encoding: 'utf-8' })).toBe('ENCODING_UNSUPPORTED');
    put('cut', Buffer.from([0x61, 0xc3, 0xa4, 0xe2, 0x82]));
    expect(await read({ path: 'cut', offset: 3 })).toMatchObject({ encoding: 'latin1' });
  });

  it('[TL-3] refuses what is too large, and what is no file, with its code', async () => {
    put('large', '');
    truncateSync(join(workspace.root, 'large'), 100 * 1024 * 1024 + 1);
    workspace.apply([
      { op: 'fifo', path: 'queue' },
      { op: 'socket', path: 'socket' },
    ]);
    // Only root can make devices, so other users get a second pipe instead.
    const kind = process.getuid?.() === 0 ? ['c', '1', '3'] : ['p'];
    execFileSync('mknod', [join(workspace.root, 'null'), ...kind]);
    symlinkSync('loop', join(workspace.root, 'loop'));
    symlinkSync(workspace.outside, join(workspace.root, 'out'));
    const codes = await Promise.all(
      ['large', 'src', 'queue', 'socket', 'null', 'loop', 'missing', 'README.md/x', 'out', '../x'].map(
        (path) => codeOf({ path }),
      ),
    );
    expect(codes).toEqual([
      'FILE_TOO_LARGE',
      'IS_A_DIRECTORY',
      'NOT_A_REGULAR_FILE',
      'NOT_A_REGULAR_FILE',
      'NOT_A_REGULAR_FILE',
      'PATH_INVALID',
      'FILE_NOT_FOUND',
      'FILE_NOT_FOUND',
      'PATH_OUTSIDE_WORKSPACE',
      'PATH_OUTSIDE_WORKSPACE',
    ]);
    expect(await codeOf({ path: 'x'.repeat(300) })).toBe('PATH_INVALID');
  });

  it("[VA-2] refuses git's configuration where a login stands in it, unless the person lifted it", async () => {
    mkdirSync(join(workspace.root, '.git'), { recursive: true });
    put('.git/config', '[remote "origin"]\n\turl = https://example.com/x.git\n');
    expect(await codeOf({ path: '.git/config' })).toBe('read');
    put('.git/config', '[remote "origin"]\n\turl = https://me:token@example.com/x.git\n');
    symlinkSync('.git/config', join(workspace.root, 'innocent'));
    expect(await codeOf({ path: '.git/config' })).toBe('PATH_SENSITIVE');
    expect(await codeOf({ path: 'innocent', start_line: 2 })).toBe('PATH_SENSITIVE');
    const lifting = fileTools(runnerWorkspace(workspace), {
      liftedSensitivePaths: () => new Set(['.git/config']),
    });
    expect(await readWith(lifting, { path: '.git/config' })).toMatchObject({ success: true });
  });

  it('[VA-2] refuses a sensitive file behind a link that the policy did not see, unless the person lifted it', async () => {
    put('.env', 'KEY=1\n');
    mkdirSync(join(workspace.root, 'back\\slash'));
    put('back\\slash/.env', 'KEY=1\n');
    symlinkSync('.env', join(workspace.root, 'notes'));
    symlinkSync('back\\slash/.env', join(workspace.root, 'more'));
    expect(await codeOf({ path: 'notes' })).toBe('PATH_SENSITIVE');
    expect(await codeOf({ path: '.env' })).toBe('PATH_SENSITIVE');
    expect(await codeOf({ path: 'more' })).toBe('PATH_SENSITIVE');
    let lifted = new Set<string>();
    const lifting = fileTools(runnerWorkspace(workspace), {
      liftedSensitivePaths: () => lifted,
    });
    // A change of the person's exceptions applies to the next call, also if an exception is withdrawn.
    await expect(readWith(lifting, { path: '.env' })).rejects.toMatchObject({ code: 'PATH_SENSITIVE' });
    lifted = new Set(['.env']);
    expect(await readWith(lifting, { path: '.env' })).toMatchObject({ content: 'KEY=1\n' });
    lifted = new Set();
    await expect(readWith(lifting, { path: '.env' })).rejects.toMatchObject({ code: 'PATH_SENSITIVE' });
  });

  it('reads many pieces of a large file without holding it', async () => {
    const line = `${'x'.repeat(99)}\n`;
    put('hundred', Buffer.alloc(100 * 1024 * 1024, line));
    const files = executor();
    const last = 1_000_000;
    await readWith(files, { path: 'hundred', start_line: last, end_line: last });
    const before = memoryInUse();
    for (const start_line of [1, 500_000, last]) {
      const result = await readWith(files, { path: 'hundred', start_line, end_line: start_line });
      expect(result).toMatchObject({ content: line, end_line: start_line });
    }
    // The cache may hold 16 MiB of results. It skips files that changed a moment ago, so only a slow machine fills it.
    // Poll, because a thread frees collected buffers and may have to wait for a core.
    await expect
      .poll(() => memoryInUse().arrayBuffers - before.arrayBuffers)
      .toBeLessThan((16 + 8) * 1024 * 1024);
    expect(memoryInUse().heapUsed - before.heapUsed).toBeLessThan(32 * 1024 * 1024);
  });

  it('ends when it is cancelled, and leaves no descriptor behind', async () => {
    put('hundred', Buffer.alloc(20 * 1024 * 1024, 'x\n'));
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();
    const cancel = new AbortController();
    const reading = readWith(executor(), { path: 'hundred', start_line: 9_000_000 }, cancel.signal);
    cancel.abort();
    await expect(reading).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
    await expect(readWith(executor(), { path: 'hundred' }, cancel.signal)).rejects.toMatchObject({
      code: 'EXECUTION_CANCELLED',
    });
    const files = executor();
    const disposed = readWith(files, { path: 'hundred', start_line: 9_000_000 });
    await Promise.all([
      files.dispose(),
      expect(disposed).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' }),
    ]);
    await files.dispose();
    expect(open()).toBe(before);
  });

  it.each(
    securityCases('paths')
      .filter(({ input }) => input.race && input.tool === 'read_file')
      .map((testCase) => [testCase.id, testCase] as const),
  )('[VA-1] %s: a link swapped in between never escapes', async (_id, { input }) => {
    if (!input.race) throw new Error('a race case without a race');
    workspace.apply(input.setup ?? []);
    const files = executor();
    const stopSwapping = await startSwapping(workspace, input.race);
    try {
      const seen = new Set<string>();
      for (let i = 0; i < 10_000; i++) {
        const outcome = await readWith(files, input.args as object).catch(
          (error: CountersignError) => error.code,
        );
        seen.add(typeof outcome === 'string' ? outcome : (outcome.content as string));
      }
      const possible = ['INSIDE\n', 'PATH_OUTSIDE_WORKSPACE', 'FILE_NOT_FOUND', 'PATH_INVALID'];
      expect([...seen].filter((outcome) => !possible.includes(outcome))).toEqual([]);
      expect(seen.size).toBeGreaterThan(1);
    } finally {
      await stopSwapping();
    }
  });
});

/** Collects garbage first, because otherwise the result depends on when the engine collects it. */
function memoryInUse(): NodeJS.MemoryUsage {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage();
}
