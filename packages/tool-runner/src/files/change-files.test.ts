import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { findTool } from '@countersign/protocol';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OpenEditor } from '../open-editor.test-data.ts';
import { changingFiles, digestOfChanges } from './change-files.ts';
import { planDeletion } from './delete-file.ts';
import { callOf, codeOf, executeChange, recordingContext, workspaceAt } from './file-tools.test-data.ts';
import { ResultCache } from './result-cache.ts';
import { planWrite } from './write-file.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

type Tool = 'write_file' | 'edit_file' | 'copy_file' | 'delete_file' | 'create_directory';
const at = (path: string): string => join(workspace.root, path);
const put = (path: string, content: string | Uint8Array): void => writeFileSync(at(path), content);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const version = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

async function execute(tool: Tool, params: Record<string, unknown>, context = recordingContext()) {
  const result = await executeChange(callOf(tool, params), context, workspaceAt(workspace.root));
  expect(findTool(tool)?.result.parse(result)).toEqual(result);
  return result;
}

/** Everything below a folder, temporary files too. */
const everythingIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !path.startsWith('.git/'))
    .sort();

describe('[RN-3] changingFiles', () => {
  it('writes, edits, copies, deletes and creates, and says what changed', async () => {
    expect(await execute('write_file', { path: 'new/deep/a.md', content: 'one\n' })).toEqual({
      success: true,
      path: 'new/deep/a.md',
      size: 4,
      changed_files: [{ path: 'new/deep/a.md', operation: 'created' }],
    });
    expect(await execute('write_file', { path: 'new/deep/a.md', content: 'two\n', mode: 'append' })).toEqual({
      success: true,
      path: 'new/deep/a.md',
      size: 8,
      changed_files: [{ path: 'new/deep/a.md', operation: 'modified' }],
    });
    await execute('edit_file', { path: 'new/deep/a.md', old: 'two', new: 'zwei' });
    expect(await execute('copy_file', { source: 'new/deep/a.md', dest: 'other/b.md' })).toEqual({
      success: true,
      path: 'other/b.md',
      size: 9,
      changed_files: [{ path: 'other/b.md', operation: 'created' }],
    });
    expect([read('new/deep/a.md'), read('other/b.md')]).toEqual(['one\nzwei\n', 'one\nzwei\n']);
    expect(await execute('delete_file', { path: 'other/b.md' })).toEqual({
      success: true,
      path: 'other/b.md',
      changed_files: [{ path: 'other/b.md', operation: 'deleted' }],
    });
    expect(await execute('create_directory', { path: 'other/x/y/' })).toEqual({
      success: true,
      path: 'other/x/y',
      changed_files: [
        { path: 'other/x', operation: 'created' },
        { path: 'other/x/y', operation: 'created' },
      ],
    });
    expect(everythingIn(at('other'))).toEqual(['x', 'x/y']);
  });

  it('tells the journal what it is about to do, before it does it', async () => {
    put('a.md', 'before');
    chmodSync(at('a.md'), 0o604);
    const context = recordingContext({
      onBegin: () =>
        expect([read('a.md'), everythingIn(workspace.root).filter((name) => /tmp/.test(name))]).toEqual([
          'before',
          [],
        ]),
    });
    await execute('write_file', { path: 'a.md', content: 'after' }, context);
    await execute('delete_file', { path: 'a.md' }, recordingContext());
    expect(context.begun).toEqual([
      [
        {
          path: 'a.md',
          operation: 'modified',
          before: version('before'),
          after: version('after'),
          original: { bytes: Buffer.from('before'), mode: 0o604 },
          contentAfter: { bytes: Buffer.from('after'), mode: 0o604 },
        },
      ],
    ]);
    const created = recordingContext();
    await execute('write_file', { path: 'n/b.md', content: '' }, created);
    expect(created.begun).toEqual([
      [
        {
          path: 'n/b.md',
          operation: 'created',
          before: null,
          after: version(''),
          original: undefined,
          contentAfter: { bytes: Buffer.alloc(0), mode: undefined },
        },
      ],
    ]);
    const deleted = recordingContext();
    await execute('delete_file', { path: 'n/b.md' }, deleted);
    expect(deleted.begun).toEqual([
      [
        {
          path: 'n/b.md',
          operation: 'deleted',
          before: version(''),
          after: null,
          original: { bytes: Buffer.alloc(0), mode: 0o666 & ~process.umask() },
          contentAfter: null,
        },
      ],
    ]);
    const directory = recordingContext();
    await execute('create_directory', { path: 'docs/d/e' }, directory);
    await execute('create_directory', { path: 'docs/d' }, directory);
    const made = {
      operation: 'created',
      before: null,
      after: 'directory',
      original: undefined,
      contentAfter: null,
    };
    expect(directory.begun).toEqual([
      [
        { path: 'docs/d', ...made },
        { path: 'docs/d/e', ...made },
      ],
      [],
    ]);
  });

  it('does nothing when the journal cannot be written', async () => {
    const before = everythingIn(workspace.root);
    const onBegin = () => {
      throw new Error('journal');
    };
    for (const [tool, params] of [
      ['write_file', { path: 'x/new.md', content: 'x' }],
      ['delete_file', { path: 'README.md' }],
      ['create_directory', { path: 'y' }],
    ] as const)
      await expect(execute(tool, params, recordingContext({ onBegin }))).rejects.toThrow('journal');
    expect(everythingIn(workspace.root)).toEqual(before);
  });

  it.each([0o600, 0o644, 0o755, 0o777, 0o400 | 0o222])('keeps the mode %o', async (mode) => {
    put('a.sh', 'one');
    chmodSync(at('a.sh'), mode);
    await execute('edit_file', { path: 'a.sh', old: 'one', new: 'two' });
    expect(statSync(at('a.sh')).mode & 0o7777).toBe(mode);
    await execute('copy_file', { source: 'a.sh', dest: 'b.sh' });
    expect(statSync(at('b.sh')).mode & 0o7777).toBe(mode);
  });

  it('gives a new file what the system gives new files', async () => {
    await execute('write_file', { path: 'a.md', content: '' });
    expect(statSync(at('a.md')).mode & 0o7777).toBe(0o666 & ~process.umask());
  });

  it.skipIf(process.getuid?.() !== 0)('keeps the owner', async () => {
    put('a.md', 'one');
    chownSync(at('a.md'), 1234, 2345);
    chmodSync(at('a.md'), 0o640);
    await execute('edit_file', { path: 'a.md', old: 'one', new: 'two' });
    const { uid, gid, mode } = statSync(at('a.md'));
    expect([uid, gid, mode & 0o7777]).toEqual([1234, 2345, 0o640]);
  });

  it('writes through a link that stays inside, and leaves the link a link', async () => {
    symlinkSync('docs/guide.md', at('alias.md'));
    symlinkSync('docs/not-yet.md', at('later.md'));
    await execute('write_file', { path: 'alias.md', content: 'through' });
    await execute('write_file', { path: 'later.md', content: 'now' });
    expect([
      lstatSync(at('alias.md')).isSymbolicLink(),
      read('docs/guide.md'),
      read('docs/not-yet.md'),
    ]).toEqual([true, 'through', 'now']);
  });

  it('breaks a hard link: the other name keeps the old content', async () => {
    put('a.md', 'old');
    linkSync(at('a.md'), join(workspace.outside, 'other.md'));
    await execute('write_file', { path: 'a.md', content: 'new' });
    expect([read('a.md'), readFileSync(join(workspace.outside, 'other.md'), 'utf8')]).toEqual(['new', 'old']);
  });

  it('leaves an existing directory alone, and does not accept a file as one', async () => {
    expect(await execute('create_directory', { path: 'docs' })).toEqual({
      success: true,
      path: 'docs',
      changed_files: [],
    });
    symlinkSync(workspace.outside, at('out'));
    expect(await codeOf(() => execute('create_directory', { path: 'README.md' }))).toBe('FILE_EXISTS');
    expect(await codeOf(() => execute('create_directory', { path: 'README.md/x' }))).toBe('NOT_A_DIRECTORY');
    expect(await codeOf(() => execute('create_directory', { path: 'out/x' }))).toBe('PATH_OUTSIDE_WORKSPACE');
    expect(await codeOf(() => execute('create_directory', { path: 'x'.repeat(300) }))).toBe('PATH_INVALID');
  });

  const racedDuringJournal = (onBegin: () => void, tool: Tool, params: Record<string, unknown>) =>
    codeOf(() => execute(tool, params, recordingContext({ onBegin })));

  it.each([
    ['its content', () => put('a.md', 'other')],
    [
      'its content, with the old times',
      () => {
        const { atime, mtime } = statSync(at('a.md'));
        put('a.md', 'onf');
        utimesSync(at('a.md'), atime, mtime);
      },
    ],
    [
      'it by another file of the same content',
      () => {
        put('b.md', 'one');
        renameSync(at('b.md'), at('a.md'));
      },
    ],
    [
      'it by a link',
      () => {
        put('b.md', 'one');
        rmSync(at('a.md'));
        symlinkSync('b.md', at('a.md'));
      },
    ],
    ['its mode', () => chmodSync(at('a.md'), 0o755)],
    ['it by nothing', () => rmSync(at('a.md'))],
  ])('[AP-8] runs nothing when somebody has just replaced %s', async (_name, change) => {
    for (const [tool, params] of [
      ['write_file', { path: 'a.md', content: 'two' }],
      ['edit_file', { path: 'a.md', old: 'one', new: 'two' }],
      ['copy_file', { source: 'README.md', dest: 'a.md' }],
      ['delete_file', { path: 'a.md' }],
    ] as const) {
      rmSync(at('a.md'), { force: true });
      put('a.md', 'one');
      chmodSync(at('a.md'), 0o644);
      let changed: string[] = [];
      const code = await racedDuringJournal(
        () => {
          change();
          changed = everythingIn(workspace.root);
        },
        tool,
        params,
      );
      expect([code, everythingIn(workspace.root)]).toEqual(['APPROVAL_STALE', changed]);
    }
  });

  it('[AP-8] does not write over a file that appeared, nor into a directory that was swapped', async () => {
    const appeared = await racedDuringJournal(() => put('new.md', 'mine'), 'write_file', {
      path: 'new.md',
      content: 'x',
    });
    expect([appeared, read('new.md')]).toEqual(['APPROVAL_STALE', 'mine']);
    mkdirSync(at('d'));
    mkdirSync(at('e'));
    const swapped = await racedDuringJournal(
      () => {
        rmSync(at('d'), { recursive: true });
        symlinkSync('e', at('d'));
      },
      'write_file',
      { path: 'd/new.md', content: 'x' },
    );
    expect([swapped, readdirSync(at('e'))]).toEqual(['APPROVAL_STALE', []]);
    const gone = await racedDuringJournal(() => rmSync(at('docs'), { recursive: true }), 'delete_file', {
      path: 'docs/guide.md',
    });
    expect(gone).toBe('APPROVAL_STALE');
    rmSync(at('d'));
    mkdirSync(at('d'));
    const outside = await racedDuringJournal(
      () => {
        rmSync(at('d'), { recursive: true });
        symlinkSync(workspace.outside, at('d'));
      },
      'write_file',
      { path: 'd/new.md', content: 'x' },
    );
    expect([outside, readdirSync(workspace.outside)]).toEqual(['PATH_OUTSIDE_WORKSPACE', []]);
  });

  it('[AP-8] carries out only the plan whose digest was approved', async () => {
    put('a.md', 'one');
    const call = callOf('write_file', { path: 'a.md', content: 'two' });
    const place = workspaceAt(workspace.root);
    const digest = digestOfChanges(call, place, [await planWrite(call.params, place)]);
    put('a.md', 'other');
    const context = recordingContext({ digest });
    expect(await codeOf(() => execute('write_file', call.params, context))).toBe('APPROVAL_STALE');
    expect([context.begun, read('a.md')]).toEqual([[], 'other']);
    put('a.md', 'one');
    await execute('write_file', call.params, context);
    expect(read('a.md')).toBe('two');
    const directory = recordingContext({ digest });
    expect(await codeOf(() => execute('create_directory', { path: 'x' }, directory))).toBe('APPROVAL_STALE');
  });

  it('stops when it is cancelled, before the journal and before the rename', async () => {
    const before = everythingIn(workspace.root);
    const early = recordingContext({ signal: AbortSignal.abort() });
    expect(await codeOf(() => execute('write_file', { path: 'n/a.md', content: '' }, early))).toBe(
      'EXECUTION_CANCELLED',
    );
    expect(await codeOf(() => execute('create_directory', { path: 'n' }, early))).toBe('EXECUTION_CANCELLED');
    expect(early.begun).toEqual([]);
    const meanwhile = new AbortController();
    const planning = recordingContext({ signal: meanwhile.signal });
    const planned = codeOf(() => execute('write_file', { path: 'n/a.md', content: '' }, planning));
    meanwhile.abort();
    expect([await planned, planning.begun]).toEqual(['EXECUTION_CANCELLED', []]);
    const controller = new AbortController();
    const late = recordingContext({ signal: controller.signal, onBegin: () => controller.abort() });
    expect(await codeOf(() => execute('write_file', { path: 'n/a.md', content: '' }, late))).toBe(
      'EXECUTION_CANCELLED',
    );
    expect(everythingIn(workspace.root)).toEqual(before);
  });
});

describe('[RN-3] a plan of several files', () => {
  /** Gives one file a new text and deletes another. */
  const both = changingFiles<'copy_file'>(async ({ source, dest }, place) => [
    await planWrite({ path: dest, content: 'new', mode: 'write' }, place),
    await planDeletion(source, place),
  ]);
  const run = (dest: string, context = recordingContext(), documents?: OpenEditor) =>
    codeOf(() =>
      both.execute(callOf('copy_file', { source: 'b.md', dest }), context, {
        workspace: { ...workspaceAt(workspace.root), ...(documents && { documents }) },
        cache: new ResultCache(),
      }),
    );
  const changeMeanwhile = () => recordingContext({ onBegin: () => put('b.md', 'changed meanwhile') });

  beforeEach(() => {
    put('a.md', 'old');
    chmodSync(at('a.md'), 0o640);
    put('b.md', 'gone');
  });

  it('changes all, and its result names the first', async () => {
    const context = recordingContext();
    expect(await run('a.md', context)).toEqual({
      success: true,
      path: 'a.md',
      size: 3,
      changed_files: [
        { path: 'a.md', operation: 'modified' },
        { path: 'b.md', operation: 'deleted' },
      ],
    });
    expect(context.begun.flat().map(({ path }) => path)).toEqual(['a.md', 'b.md']);
    expect([read('a.md'), existsSync(at('b.md'))]).toEqual(['new', false]);
  });

  it('puts back the first where the second fails: content, mode, and directories that were made', async () => {
    const before = everythingIn(workspace.root);
    expect(await run('a.md', changeMeanwhile())).toBe('APPROVAL_STALE');
    expect([read('a.md'), statSync(at('a.md')).mode & 0o777]).toEqual(['old', 0o640]);
    put('b.md', 'gone');
    expect(await run('made/deep/c.md', changeMeanwhile())).toBe('APPROVAL_STALE');
    expect([everythingIn(workspace.root), read('b.md')]).toEqual([before, 'changed meanwhile']);
  });

  it('puts back the first when it is cancelled in between, also in an editor', async () => {
    const editor = new OpenEditor();
    const controller = new AbortController();
    editor.open(at('a.md'));
    editor.format = (text) => {
      controller.abort();
      return text;
    };
    const context = recordingContext({ signal: controller.signal });
    expect(await run('a.md', context, editor)).toBe('EXECUTION_CANCELLED');
    expect([read('a.md'), editor.textOf(at('a.md')), read('b.md')]).toEqual(['old', 'old', 'gone']);
  });

  it('reports if the first change cannot be undone', async () => {
    const editor = new OpenEditor();
    editor.open(at('a.md'));
    editor.format = (text) => {
      put('b.md', 'changed meanwhile');
      setImmediate(() => editor.open(at('a.md'), 'typed by the person'));
      return text;
    };
    expect(await run('a.md', recordingContext(), editor)).toBe('EXECUTION_FAILED');
    expect([read('a.md'), editor.textOf(at('a.md'))]).toEqual(['new', 'typed by the person']);
  });
});

describe('[EX-5] failures of the system', () => {
  const here = (file: string): string => new URL(file, import.meta.url).href;
  /** Calls in a process of their own, which may be started by another program or as another user. */
  const program = `
    const data = await import(${JSON.stringify(here('./file-tools.test-data.ts'))});
    const [root, calls] = JSON.parse(process.argv[1]);
    const outcomes = [];
    for (const [tool, params] of calls) {
      const outcome = await data.codeOf(() =>
        data.executeChange(data.callOf(tool, params), data.recordingContext(), data.workspaceAt(root)));
      outcomes.push(outcome.success ?? outcome);
    }
    console.log(JSON.stringify(outcomes));`;
  type Calls = readonly (readonly [Tool, Record<string, unknown>])[];
  const commandFor = (calls: Calls): string[] => [
    process.execPath,
    '--input-type=module',
    '-e',
    program,
    JSON.stringify([workspace.root, calls]),
  ];
  const run = (calls: Calls): unknown => {
    const [file = '', ...args] = commandFor(calls);
    const { stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', ...asSomebody });
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  };
  // Root may do everything, so as root the test makes the call as another user.
  const asSomebody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  const giveAway = (...paths: string[]): void => {
    if (asSomebody.uid !== undefined)
      for (const path of paths) chownSync(path, asSomebody.uid, asSomebody.gid);
    chmodSync(join(workspace.root, '..'), 0o755);
  };

  it('says when something is not permitted, and leaves all as it was', () => {
    put('protected.md', 'old');
    mkdirSync(at('closed'));
    put('closed/a.md', 'old');
    giveAway(workspace.root, at('protected.md'), at('closed'), at('closed/a.md'));
    chmodSync(at('protected.md'), 0o444);
    chmodSync(at('closed'), 0o555);
    const before = everythingIn(workspace.root);
    expect(
      run([
        ['write_file', { path: 'protected.md', content: 'new' }],
        ['write_file', { path: 'closed/a.md', content: 'new' }],
        ['write_file', { path: 'closed/n/b.md', content: 'new' }],
        ['delete_file', { path: 'closed/a.md' }],
        ['create_directory', { path: 'closed/d' }],
        ['write_file', { path: 'new.md', content: 'new' }],
      ]),
    ).toEqual([...Array(5).fill('PERMISSION_DENIED'), true]);
    expect(everythingIn(workspace.root)).toEqual([...before, 'new.md'].sort());
    expect([read('protected.md'), read('closed/a.md')]).toEqual(['old', 'old']);
  });

  it.skipIf(asSomebody.uid === undefined)('does not take a file over from its owner', () => {
    put('theirs.md', 'old');
    chmodSync(at('theirs.md'), 0o666);
    giveAway(workspace.root);
    expect(run([['write_file', { path: 'theirs.md', content: 'new' }]])).toEqual(['PERMISSION_DENIED']);
    expect([read('theirs.md'), readdirSync(workspace.root).filter((name) => name.endsWith('.tmp'))]).toEqual([
      'old',
      [],
    ]);
  });

  const canMount = spawnSync('unshare', ['-rm', 'true']).status === 0;
  it.skipIf(!canMount)('says when the disk is full or read-only, and leaves no temporary file', () => {
    // A small disk of its own at the workspace's root, prepared by a shell line, for this one call only.
    const call = (prepare: string, params: Record<string, unknown>): [unknown, string] => {
      const [file, ...args] = [
        'unshare',
        '-rm',
        'sh',
        '-c',
        'mount -t tmpfs -o size=256k none "$0" && cd "$0" && eval "$1" && shift && "$@"; ls -A; cat a.md',
        workspace.root,
        prepare,
        ...commandFor([['write_file', params]]),
      ] as [string, ...string[]];
      const { stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' });
      expect(stderr).toBe('');
      const end = stdout.indexOf('\n');
      return [JSON.parse(stdout.slice(0, end))[0], stdout.slice(end + 1)];
    };
    const large = 'x'.repeat(60 * 1024);
    expect(
      call('printf old > a.md; head -c 220000 /dev/zero > fill', { path: 'a.md', content: large }),
    ).toEqual(['DISK_FULL', 'a.md\nfill\nold']);
    expect(
      call('printf old > a.md; head -c 220000 /dev/zero > fill', { path: 'd/e/a.md', content: large }),
    ).toEqual(['DISK_FULL', 'a.md\nfill\nold']);
    expect(call('printf old > a.md; mount -o remount,ro "$PWD"', { path: 'a.md', content: 'new' })).toEqual([
      'PERMISSION_DENIED',
      'a.md\nold',
    ]);
    expect(existsSync(at('a.md'))).toBe(false);
  });
});
