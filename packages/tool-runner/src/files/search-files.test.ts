import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
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
import { fileTools } from './file-tools.test-data.ts';
import type { FoundFile } from './search-files.ts';
import { encodeText } from './text-encoding.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

function put(path: string, content: string | Uint8Array = ''): void {
  const target = join(workspace.root, path);
  mkdirSync(join(target, '..'), { recursive: true });
  writeFileSync(target, content);
}

interface Answer {
  readonly files: readonly FoundFile[];
  readonly total_count: number;
  readonly truncated: boolean;
}

async function searchWith(files: BuiltInTools, params: object, signal?: AbortSignal): Promise<Answer> {
  const parsed = parseToolCall('search_files', params);
  if (!parsed.ok) throw new Error(parsed.error.message);
  const result = await files.execute(parsed.call, readingContext(signal));
  resultSchemaOf(findTool('search_files') ?? expect.fail()).parse(result);
  return result as unknown as Answer;
}
const search = (params: object, limits?: Partial<Limits>) =>
  searchWith(fileTools(runnerWorkspace(workspace, limits)), { path: 'new', ...params });
const paths = async (params: object) =>
  (await search(params)).files.map(({ path }) => path.replace('new/', ''));
/** Each match as `path:line:text`. */
const matches = async (params: object, limits?: Partial<Limits>) =>
  (await search(params, limits)).files.flatMap(({ path, matches = [] }) =>
    matches.map(({ line, text }) => `${path.replace('new/', '')}:${line}:${text}`),
  );
const codeOf = (params: object): Promise<string> =>
  search(params).then(
    () => 'found',
    (error: CountersignError) => error.code,
  );

describe('[TL-2] search_files', () => {
  it('finds lines by a regular expression, with the file they are in', async () => {
    put('new/a.ts', 'const one = 1;\nlet two;\nconst three = 3;\n');
    put('new/b/c.md', 'a const\r\n');
    put('new/none', 'nothing');
    const { files, total_count, truncated } = await search({ content: '\\bconst\\b' });
    expect(files).toEqual([
      {
        ...{ name: 'a.ts', path: 'new/a.ts', type: 'file', size: 41, modified: expect.any(String) },
        matches: [
          { line: 1, text: 'const one = 1;' },
          { line: 3, text: 'const three = 3;' },
        ],
      },
      {
        ...{ name: 'c.md', path: 'new/b/c.md', type: 'file', size: 9, modified: expect.any(String) },
        matches: [{ line: 1, text: 'a const' }],
      },
    ]);
    expect([total_count, truncated]).toEqual([2, false]);
    expect(await matches({ content: 'const', pattern: '*.md' })).toEqual(['b/c.md:1:a const']);
    expect(await matches({ content: 'const', path: 'new/b' })).toEqual(['b/c.md:1:a const']);
    expect(await matches({ content: 'const', path: '.', pattern: 'new/**/*.{md,x}' })).toEqual([
      'b/c.md:1:a const',
    ]);
  });

  it('finds files by name', async () => {
    put('new/a.ts');
    put('new/b/c.test.ts');
    put('new/b/d [1].ts');
    put('new/b/größe.tsx');
    expect(await paths({ pattern: '*.ts' })).toEqual(['a.ts', 'b/c.test.ts', 'b/d [1].ts']);
    expect(await paths({ pattern: 'b/**' })).toEqual(['b/c.test.ts', 'b/d [1].ts', 'b/größe.tsx']);
    expect(await paths({ pattern: '**/*.test.ts' })).toEqual(['b/c.test.ts']);
    expect(await paths({ pattern: '*.{tsx,md}' })).toEqual(['b/größe.tsx']);
    expect(await paths({ pattern: '*[[]1].ts' })).toEqual(['b/d [1].ts']);
    expect(await paths({ pattern: '{b/c,x/y}*.ts' })).toEqual(['b/c.test.ts']);
    const [first] = (await search({ pattern: 'a.ts' })).files;
    expect(first).toEqual({
      name: 'a.ts',
      path: 'new/a.ts',
      type: 'file',
      size: 0,
      modified: expect.any(String),
    });
  });

  it('leaves out what git ignores, and nothing else', async () => {
    put('new/.gitignore', 'ignored.ts\nbuild/\n');
    put('new/.ignore', 'kept.ts\n');
    for (const path of ['ignored.ts', 'build/x.ts', 'kept.ts']) put(`new/${path}`, 'needle');
    expect(await paths({ pattern: '*.ts' })).toEqual(['kept.ts']);
    expect(await paths({ content: 'needle' })).toEqual(['kept.ts']);
    expect(await paths({ content: 'needle', pattern: 'ignored.ts' })).toEqual([]);
    // The workspace is the repository, and `new` is below it. A folder with a repository of its own has its own rules.
    put('.gitignore', 'kept.*\n');
    expect(await paths({ content: 'needle' })).toEqual([]);
    expect((await search({ path: '.', content: 'needle' })).files).toEqual([]);
    put('new/own/kept.ts', 'needle');
    put('new/own/.git/HEAD', '');
    expect(await paths({ content: 'needle', path: 'new/own' })).toEqual(['own/kept.ts']);
    rmSync(join(workspace.root, '.git'), { recursive: true });
    rmSync(join(workspace.root, 'new/own/.git'), { recursive: true });
    expect(await paths({ content: 'needle' })).toEqual([
      'build/x.ts',
      'ignored.ts',
      'kept.ts',
      'own/kept.ts',
    ]);
  });

  it('shows dot-files only when the pattern asks for them', async () => {
    put('new/.rc', 'needle');
    put('new/.hid.ts', 'needle');
    put('new/.d/in.ts', 'needle');
    put('new/.git/config', 'needle');
    put('new/plain.ts', 'needle');
    expect(await paths({ content: 'needle' })).toEqual(['plain.ts']);
    expect(await paths({ content: 'needle', pattern: '*.ts' })).toEqual(['plain.ts']);
    expect(await paths({ pattern: '.*' })).toEqual(['.hid.ts', '.rc']);
    expect(await paths({ content: 'needle', pattern: '.d/**' })).toEqual(['.d/in.ts']);
    expect(await paths({ content: 'needle', pattern: '.git/*' })).toEqual(['.git/config']);
    expect(await paths({ pattern: '**/.rc' })).toEqual(['.rc']);
  });

  it("[VA-2] leaves git's configuration out where a login stands in it", async () => {
    put('new/.git/config', '[remote "origin"]\n\turl = https://example.com/needle.git\n');
    put('new/sub/.git/config', '[remote "origin"]\n\turl = https://me:needle@example.com/x.git\n');
    expect(await paths({ content: 'needle', pattern: '**/.git/*' })).toEqual(['.git/config']);
    expect(await paths({ content: 'needle', path: 'new/sub/.git' })).toEqual([]);
  });

  it('[VA-2] leaves sensitive files out', async () => {
    for (const path of ['.env', 'prod.env', 'credentials.json', '.ssh/config', 'id_rsa', 'a\\b/.env', 'open'])
      put(`new/${path}`, 'needle');
    expect(await paths({ content: 'needle' })).toEqual(['open']);
    expect(await paths({ content: 'needle', pattern: '{.*,*}' })).toEqual(['open']);
    expect(await paths({ content: 'needle', pattern: '{.*,*}/{.*,*}' })).toEqual([]);
    expect(await paths({ pattern: '{.*,*}' })).toEqual(['open']);
    expect(await codeOf({ content: 'needle', path: 'new/.ssh' })).toBe('PATH_SENSITIVE');
  });

  it('[VA-1] shows no line of a file that has several names: it may be a file outside', async () => {
    writeFileSync(join(workspace.outside, 'secret.txt'), 'needle');
    put('new/open', 'needle');
    linkSync(join(workspace.outside, 'secret.txt'), join(workspace.root, 'new/notes.txt'));
    expect(await paths({ content: 'needle' })).toEqual(['open']);
    expect(await paths({ pattern: '*' })).toEqual(['notes.txt', 'open']);
  });

  it('treats a pattern as a pattern, and refuses an invalid one', async () => {
    put('new/-x', '--files -e --pre=sh ./ -- \n');
    expect(await matches({ content: '--pre=sh' })).toHaveLength(1);
    expect(await matches({ content: '-e' })).toHaveLength(1);
    expect(await paths({ pattern: '-x' })).toEqual(['-x']);
    expect(await paths({ pattern: '--hidden' })).toEqual([]);
    await expect(search({ content: 'a{2,1}' })).rejects.toMatchObject({
      code: 'PATTERN_INVALID',
      message: expect.stringContaining('invalid repetition count range'),
    });
    expect(await codeOf({ content: '(?=x)' })).toBe('PATTERN_INVALID');
    expect(await codeOf({ pattern: '{a,b}'.repeat(10) })).toBe('PATTERN_INVALID');
  });

  it('reads no configuration and runs no preprocessor', async () => {
    put('new/a', 'needle');
    put('config', `--pre=/bin/echo\n--files-without-match\n`);
    process.env.RIPGREP_CONFIG_PATH = join(workspace.root, 'config');
    try {
      expect(await matches({ content: 'needle' })).toEqual(['a:1:needle']);
    } finally {
      delete process.env.RIPGREP_CONFIG_PATH;
    }
  });

  it('reads text in its encodings, and skips binary files', async () => {
    put('new/bom', '\ufeffneedle ä\nneedle 2\n');
    put('new/latin1', Buffer.from('é needle\n', 'latin1'));
    put('new/utf16', encodeText('x\nneedle ä\n', { encoding: 'utf-16be', bom: true }) ?? '');
    put('new/last', 'a\nneedle');
    put(
      'new/binary',
      Buffer.concat([Buffer.from('needle\n'), Buffer.alloc(100_000, 'x\n'), Buffer.alloc(9)]),
    );
    put('new/end', 'needle\n');
    expect(await matches({ content: 'needle' })).toEqual([
      'binary:1:needle',
      'bom:1:needle ä',
      'bom:2:needle 2',
      'end:1:needle',
      'last:2:needle',
      'latin1:1:é needle',
      'utf16:2:needle ä',
    ]);
    put(
      'new/utf16',
      encodeText(`${'x\n'.repeat(3_000_000)}needle\n`, { encoding: 'utf-16le', bom: true }) ?? '',
    );
    expect(await paths({ content: 'needle', pattern: 'utf16' })).toEqual([]);
  });

  it('finds files whatever they are called', async () => {
    const folder = Buffer.from(join(workspace.root, 'new/'));
    mkdirSync(folder);
    const names = ['caf\xe9', 'new\nline', 'a: WARNING: stopped', '\x1b[31mred', '1:2:x'];
    for (const name of names) writeFileSync(Buffer.concat([folder, Buffer.from(name, 'latin1')]), 'needle');
    const expected = ['\x1b[31mred', '1:2:x', 'a: WARNING: stopped', 'caf\ufffd', 'new\nline'];
    expect(await paths({ content: 'needle' })).toEqual(expected);
    expect(await paths({ pattern: '*' })).toEqual(expected);
  });

  it('[TL-3] is bounded in files, matches, lines and text', async () => {
    put('new/many', 'needle\n'.repeat(101));
    put('new/exactly', 'needle\n'.repeat(100));
    put('new/long', `needle ${'ä'.repeat(1_000)}\n`);
    put('new/tall', `needle 😀${'\u0301'.repeat(10_000)}\n`);
    const many = await search({ content: 'needle', pattern: 'many' });
    expect([many.files[0]?.matches?.length, many.truncated]).toEqual([100, true]);
    const exactly = await search({ content: 'needle', pattern: 'exactly' });
    expect([exactly.files[0]?.matches?.length, exactly.truncated]).toEqual([100, false]);
    const [long = ''] = await matches({ content: 'needle', pattern: 'long' });
    expect(long).toMatch(/^long:1:needle ä+…$/);
    expect(long).toHaveLength('long:1:'.length + 500 + '…'.length);
    const [tall = ''] = await matches({ content: 'needle', pattern: 'tall' });
    expect(tall).toBe(`tall:1:needle 😀${'\u0301'.repeat(491)}…`);
    const { files, total_count, truncated } = await search({ content: 'needle' }, { entries: 2 });
    expect([files.length, total_count, truncated]).toEqual([2, 2, true]);
    const names = await search({ pattern: '*' }, { entries: 2 });
    expect([names.files.length, names.truncated]).toEqual([2, true]);
    expect((await search({ pattern: '*' }, { entries: 4 })).truncated).toBe(false);
    const little = await search({ content: 'needle', pattern: 'many' }, { outputStreamBytes: 60 });
    expect([little.files[0]?.matches?.length, little.truncated]).toEqual([10, true]);
    put('new/large', 'needle');
    truncateSync(join(workspace.root, 'new/large'), 1_000);
    put('new/large2', 'needle'.padEnd(1_001));
    expect(await matches({ content: 'needle', pattern: 'large*' }, { fileBytes: 1_000 })).toEqual([]);
  });

  it('ends when it is cancelled or the runner ends, and leaves no process or descriptor behind', async () => {
    // No file matches, so ripgrep has to read all of them.
    for (let i = 0; i < 8; i++) put(`new/${i}`, Buffer.alloc(12 * 1024 * 1024, 'abcdefgh\n'));
    const open = (): number => readdirSync('/proc/self/fd').length;
    const children = (): string => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
    const [before, childrenBefore] = [open(), children()];
    const files = fileTools(runnerWorkspace(workspace));
    const slow = { path: 'new', content: '(a.*b.*c.*d.*e.*f.*g.*h.*i|[x-z]{5,50}q){2}' };
    const cancel = new AbortController();
    const cancelled = searchWith(files, slow, cancel.signal);
    cancel.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
    const disposed = searchWith(files, slow);
    await Promise.all([
      files.dispose(),
      expect(disposed).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' }),
    ]);
    expect(children()).toBe(childrenBefore);
    expect(open()).toBe(before);
  });

  it('follows no link, and refuses what is no directory in the workspace', async () => {
    put('new/inside', 'needle');
    writeFileSync(join(workspace.outside, 'secret'), 'needle');
    symlinkSync(workspace.outside, join(workspace.root, 'new/out'));
    symlinkSync(join(workspace.outside, 'secret'), join(workspace.root, 'new/pointer'));
    expect(await paths({ content: 'needle' })).toEqual(['inside']);
    expect(await paths({ pattern: '*' })).toEqual(['inside']);
    const operands = ['new/out', '..', 'missing', 'new/inside'];
    expect(await Promise.all(operands.map((path) => codeOf({ path, content: 'x' })))).toEqual([
      'PATH_OUTSIDE_WORKSPACE',
      'PATH_OUTSIDE_WORKSPACE',
      'FILE_NOT_FOUND',
      'NOT_A_DIRECTORY',
    ]);
  });

  describe.each(
    securityCases('paths')
      .filter(({ input }) => input.race)
      .map((testCase) => [testCase.id, testCase] as const),
  )('[VA-1] %s: a link swapped in between never escapes', (_id, { input }) => {
    it.each([
      ['as the operand', { path: input.race?.path, content: 'CANARY|INSIDE' }],
      ['below it', { path: '.', content: 'CANARY|INSIDE' }],
      ['by name', { path: '.', pattern: '*.txt' }],
    ])('%s', async (_place, params) => {
      if (!input.race) throw new Error('a race case without a race');
      for (const name of readdirSync(workspace.root)) rmSync(join(workspace.root, name), { recursive: true });
      workspace.apply(input.setup ?? []);
      writeFileSync(join(workspace.outside, 'only-outside.txt'), 'CANARY');
      const files = fileTools(runnerWorkspace(workspace));
      const stopSwapping = await startSwapping(workspace, input.race);
      try {
        const seen = new Set<string>();
        for (let i = 0; i < tries; i++) {
          const answer = await searchWith(files, params).catch((error: CountersignError) => error.code);
          if (typeof answer === 'string') seen.add(answer);
          else
            for (const { path, size, matches } of answer.files)
              seen.add(`${path} ${size} ${matches?.map(({ text }) => text) ?? ''}`);
        }
        expect([...seen].filter((outcome) => /CANARY|only-outside|secret.txt (?!7 )/.test(outcome))).toEqual(
          [],
        );
        expect(seen.size).toBeGreaterThan(0);
      } finally {
        await stopSwapping();
      }
    });
  });
});

/** Few, because each try starts a process. The tests of ConfirmedFile try 10,000 claims of ripgrep. */
const tries = 100;
