import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type BuiltInToolCall,
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
import { describeEntry, type FileEntry } from './file-entry.ts';
import { fileTools } from './file-tools.test-data.ts';
import { listEntries } from './list-directory.ts';
import { VisibleEntries } from './visible-entries.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

const make = (...paths: readonly string[]) => {
  for (const path of paths) {
    const target = join(workspace.root, path);
    mkdirSync(join(target, '..'), { recursive: true });
    if (path.endsWith('/')) mkdirSync(target, { recursive: true });
    else writeFileSync(target, 'x');
  }
};

interface Answer {
  readonly files: readonly FileEntry[];
  readonly total_count: number;
  readonly truncated: boolean;
}

function callOf(params: object): BuiltInToolCall {
  const parsed = parseToolCall('list_directory', params);
  return parsed.ok ? parsed.call : expect.fail(parsed.error.message);
}

async function list(params: object, limits?: Partial<Limits>, signal?: AbortSignal): Promise<Answer> {
  const files = fileTools(runnerWorkspace(workspace, limits));
  const result = await files.execute(callOf(params), readingContext(signal));
  resultSchemaOf(findTool('list_directory') ?? expect.fail()).parse(result);
  return result as unknown as Answer;
}
const paths = async (params: object) => (await list(params)).files.map(({ path }) => path);
const codeOf = (params: object): Promise<string> =>
  list(params).then(
    () => 'listed',
    (error: CountersignError) => error.code,
  );

describe('[TL-2] list_directory', () => {
  it('lists names, types, sizes and times, sorted by path', async () => {
    make('new/b.txt', 'new/a/inner', 'new/Z');
    symlinkSync('b.txt', join(workspace.root, 'new/link'));
    symlinkSync('nowhere', join(workspace.root, 'new/dangling'));
    execFileSync('mkfifo', [join(workspace.root, 'new/pipe')]);
    utimesSync(join(workspace.root, 'new/b.txt'), 0, Date.parse('2026-02-03T04:05:06.789Z') / 1000);
    const { files, total_count, truncated } = await list({ path: 'new' });
    expect(files.map(({ name, path, type }) => [name, path, type])).toEqual([
      ['Z', 'new/Z', 'file'],
      ['a', 'new/a', 'directory'],
      ['b.txt', 'new/b.txt', 'file'],
      ['dangling', 'new/dangling', 'link'],
      ['link', 'new/link', 'link'],
      ['pipe', 'new/pipe', 'other'],
    ]);
    expect(files[2]).toMatchObject({ size: 1, modified: '2026-02-03T04:05:06.789Z' });
    expect([total_count, truncated]).toEqual([6, false]);
  });

  it('lists below directories, but follows no link', async () => {
    make('new/a/b/c', 'new/x');
    writeFileSync(join(workspace.outside, 'secret'), '');
    symlinkSync(workspace.outside, join(workspace.root, 'new/out'));
    symlinkSync('..', join(workspace.root, 'new/a/up'));
    expect(await paths({ path: 'new', recursive: true })).toEqual([
      'new/a',
      'new/a/b',
      'new/a/b/c',
      'new/a/up',
      'new/out',
      'new/x',
    ]);
    symlinkSync('new/a', join(workspace.root, 'way'));
    // Through a link that stays inside, entries have their real paths.
    expect(await paths({ path: 'way' })).toEqual(['new/a/b', 'new/a/up']);
    expect(await paths({ path: join(workspace.root, 'new/a') })).toEqual(['new/a/b', 'new/a/up']);
  });

  it('shows dot-files only when the pattern asks for them', async () => {
    make('new/.rc', 'new/.d/.inner', 'new/.d/plain', 'new/e/.rc', 'new/e/plain.ts', 'new/e/.hid.ts');
    const list = (pattern?: string) => paths({ path: 'new', recursive: true, pattern });
    expect(await list()).toEqual(['new/e', 'new/e/plain.ts']);
    expect(await list('*.ts')).toEqual(['new/e/plain.ts']);
    expect(await list('.*')).toEqual(['new/.d', 'new/.rc', 'new/e/.hid.ts', 'new/e/.rc']);
    expect(await list('{.rc,plain.ts}')).toEqual(['new/.rc', 'new/e/.rc', 'new/e/plain.ts']);
    expect(await list('.d/**')).toEqual(['new/.d', 'new/.d/.inner', 'new/.d/plain']);
    expect(await list('./*')).toEqual(['new/e']);
    expect(await list('e/*')).toEqual(['new/e/plain.ts']);
    expect(await paths({ path: 'new/.d' })).toEqual(['new/.d/plain']);
    expect(await codeOf({ path: 'new', pattern: '{a,b}'.repeat(10) })).toBe('PATTERN_INVALID');
  });

  it('[VA-2] leaves sensitive files out, and what stands in sensitive directories', async () => {
    make(
      'new/.env',
      'new/.env.example',
      'new/prod.env',
      'new/credentials.json',
      'new/.ssh/config',
      'new/id_rsa',
    );
    make('new/back\\slash/.env', 'new/plain');
    expect(await paths({ path: 'new', recursive: true, pattern: '{.*,*}' })).toEqual([
      'new/.env.example',
      'new/back\\slash',
      'new/plain',
    ]);
    expect(await paths({ path: 'new', recursive: true, pattern: '.ssh/**' })).toEqual([]);
    symlinkSync('new/.ssh', join(workspace.root, 'way'));
    expect(await codeOf({ path: 'way' })).toBe('PATH_SENSITIVE');
    expect(await codeOf({ path: 'new/.ssh' })).toBe('PATH_SENSITIVE');
  });

  it('lists names that are not UTF-8, and times outside the range of dates', async () => {
    make('new/');
    const folder = Buffer.from(join(workspace.root, 'new/'));
    const names = [
      Buffer.from('caf\xe9', 'latin1'),
      Buffer.from('new\nline'),
      Buffer.from('\x1b[31mred'),
      Buffer.from('größe'),
    ];
    for (const name of names) {
      mkdirSync(Buffer.concat([folder, name]));
      writeFileSync(Buffer.concat([folder, name, Buffer.from('/in')]), '');
    }
    expect(await paths({ path: 'new', recursive: true })).toEqual([
      'new/\x1b[31mred',
      'new/\x1b[31mred/in',
      'new/caf\ufffd',
      'new/caf\ufffd/in',
      'new/größe',
      'new/größe/in',
      'new/new\nline',
      'new/new\nline/in',
    ]);
    const stats = lstatSync(workspace.root);
    const modified = [-1e15, 0, 1e18].map(
      (mtimeMs) => describeEntry('x', Object.assign(stats, { mtimeMs })).modified,
    );
    expect(modified).toEqual([
      '0001-01-01T00:00:00.000Z',
      '1970-01-01T00:00:00.000Z',
      '9999-12-31T23:59:59.000Z',
    ]);
  });

  it('[TL-3] stops at its bound, and says so only when there is more', async () => {
    make(...Array.from({ length: 30 }, (_, i) => `new/${i}`));
    const bounded = async (entries: number) => {
      const { files, total_count, truncated } = await list({ path: 'new' }, { entries });
      return [files.length, total_count, truncated];
    };
    expect([await bounded(29), await bounded(30)]).toEqual([
      [29, 29, true],
      [30, 30, false],
    ]);
  });

  it('reads no more of a large tree than it needs', async () => {
    for (let folder = 0; folder < 30; folder++)
      make(...Array.from({ length: 100 }, (_, i) => `new/${folder}/${i}`));
    const { root } = workspace;
    const { files, truncated, visited } = await listEntries({
      directory: { path: 'new', fsPath: join(root, 'new') },
      root,
      recursive: true,
      visible: new VisibleEntries('*'),
      limit: 150,
      signal: new AbortController().signal,
    });
    expect([files.length, truncated, visited]).toEqual([150, true, 151]);
  });

  it('ends when it is cancelled, and leaves no descriptor behind', async () => {
    for (let folder = 0; folder < 3; folder++)
      make(...Array.from({ length: 100 }, (_, i) => `new/${folder}/${i}`));
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();
    const cancel = new AbortController();
    const listing = listEntries({
      directory: { path: 'new', fsPath: join(workspace.root, 'new') },
      root: workspace.root,
      recursive: true,
      visible: new VisibleEntries('no-such-name'),
      limit: 1_000,
      signal: cancel.signal,
      turnMs: 0, // yield after every entry, so that the cancellation is seen
    });
    cancel.abort();
    await expect(listing).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
    expect(open()).toBe(before);
  });

  it('refuses what is no directory in the workspace', async () => {
    symlinkSync(workspace.outside, join(workspace.root, 'out'));
    const operands = ['README.md', 'missing', 'out', '..', '/etc'];
    expect(await Promise.all(operands.map((path) => codeOf({ path })))).toEqual([
      'NOT_A_DIRECTORY',
      'FILE_NOT_FOUND',
      'PATH_OUTSIDE_WORKSPACE',
      'PATH_OUTSIDE_WORKSPACE',
      'PATH_OUTSIDE_WORKSPACE',
    ]);
  });

  describe.each(
    securityCases('paths')
      .filter(({ input }) => input.race)
      .map((testCase) => [testCase.id, testCase] as const),
  )('[VA-1] %s: a link swapped in between never escapes', (_id, { input }) => {
    it.each([
      ['as the operand', { path: input.race?.path }],
      ['below it', { path: '.', recursive: true, pattern: '*.txt' }],
    ])('%s', async (_place, params) => {
      if (!input.race) throw new Error('a race case without a race');
      for (const name of readdirSync(workspace.root)) rmSync(join(workspace.root, name), { recursive: true });
      workspace.apply(input.setup ?? []);
      // The outside folder has a file of another size, and a name that the inside folder does not have.
      writeFileSync(join(workspace.outside, 'only-outside.txt'), '');
      const files = fileTools(runnerWorkspace(workspace));
      const call = callOf(params);
      const stopSwapping = await startSwapping(workspace, input.race);
      try {
        const seen = new Set<string>();
        for (let i = 0; i < 10_000; i++) {
          try {
            const answer = (await files.execute(call, readingContext())) as unknown as Answer;
            for (const { name, size } of answer.files) seen.add(`${name} ${size}`);
          } catch (error) {
            seen.add((error as CountersignError).code);
          }
        }
        const possible = ['secret.txt 7', 'PATH_OUTSIDE_WORKSPACE', 'FILE_NOT_FOUND', 'NOT_A_DIRECTORY'];
        expect([...seen].filter((outcome) => !possible.includes(outcome))).toEqual([]);
        expect(seen).toContain('secret.txt 7');
      } finally {
        await stopSwapping();
      }
    });
  });
});
