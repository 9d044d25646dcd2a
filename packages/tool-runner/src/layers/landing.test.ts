import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CountersignError, defaultLimits } from '@countersign/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Journal } from '../journal/journal.ts';
import { recoverJournal } from '../journal/recovery.ts';
import { FileUndo } from '../undo/file-undo.ts';
import { landedChanges, runChanges } from '../undo/run-changes.ts';
import type { Workspace } from '../workspace.ts';
import { type Landed, landingIn } from './landing.ts';
import { effectsBetween, layerLike, looksOf, treeOf } from './tree.test-data.ts';

const silent = { debug() {}, info() {}, error() {} };
const disks = [
  ['one disk', tmpdir(), tmpdir()],
  ['the state folder on tmpfs', tmpdir(), '/dev/shm'],
  ['the workspace on tmpfs', '/dev/shm', tmpdir()],
] as const;

describe.each(disks)('[RN-12] %s', (_name, workspaceDisk, stateDisk) => {
  let root: string;
  let state: string;
  let upper: string;
  let journal: Journal;
  let undo: FileUndo;
  let workspace: Workspace;
  let calls = 0;

  beforeEach(() => {
    root = mkdtempSync(join(workspaceDisk, 'countersign-landing-'));
    state = mkdtempSync(join(stateDisk, 'countersign-state-'));
    open();
  });
  afterEach(() => {
    journal.close();
    for (const folder of [root, state]) rmSync(folder, { recursive: true, force: true });
  });

  function open(undoBytes?: number): void {
    journal = Journal.open({
      folder: state,
      holder: { program: 'a test' },
      ...(undoBytes !== undefined && { undoBytes }),
    });
    workspace = {
      root,
      stateFolder: state,
      limits: defaultLimits,
      home: state,
      addedEnvironment: [],
    };
    undo = new FileUndo(journal, workspace);
  }

  const at = (path: string) => join(root, path);
  const write = (path: string, text: string | Buffer = path) => {
    mkdirSync(join(at(path), '..'), { recursive: true });
    writeFileSync(at(path), text);
  };

  /** Lands what `command` does to a copy of the workspace; `meanwhile` is done to the workspace after that. */
  async function run(
    command: (cwd: string) => void,
    meanwhile = () => {},
  ): Promise<Landed & { toolId: string }> {
    const toolId = `call-${++calls}`;
    upper = join(state, 'layers', toolId, 'upper');
    layerLike(root, upper);
    command(upper);
    const effects = effectsBetween(root, upper);
    meanwhile();
    journal.start(toolId, 1, 'shell_exec');
    const request = { toolId, attempt: 1, runId: 'run', upper, layerId: toolId, result: { success: true } };
    const landed = await landingIn(journal, { root })({ ...request, effects });
    journal.end(toolId, 1, { status: 'completed', attempt: 1, result: { success: true } });
    return { ...landed, toolId };
  }
  const sh = (script: string) => (cwd: string) => {
    execFileSync('/bin/bash', ['-ec', script], { cwd });
  };
  const undone = async (...toolIds: string[]) =>
    (await undo.undo(`undo-${++calls}`, toolIds, { force: false })).status;

  it.each([
    ['contents', 'echo new > a.txt; echo made > made.txt; rm deep/b.txt'],
    [
      'modes',
      'chmod 755 a.txt; chmod 700 deep; chmod 6750 deep/b.txt; echo x > deep/b.txt; chmod 6750 deep/b.txt',
    ],
    ['links', 'ln -s a.txt l1; ln -sfn /nowhere link; ln -sfn deep a.txt; rm -r deep; ln -s x deep'],
    ['folders', 'mkdir -p e/m/p/t/y; mkdir -m 1777 shared; rm -r deep; mkdir deep; chmod 500 e/m'],
    ['a file that becomes a folder', 'rm a.txt; mkdir a.txt; echo in > a.txt/in'],
    ['a folder that becomes a file', 'rm -r deep; echo file > deep'],
    [
      'a link that becomes a file and a file that becomes a link',
      'rm link a.txt; echo f > link; ln -s z a.txt',
    ],
    [
      'a folder that becomes a link, and a link that becomes a folder',
      'rm -r deep link; ln -s a.txt deep; mkdir -m 750 link; echo y > link/y',
    ],
    ['names that only differ in case', 'mv a.txt A.txt; mv deep Deep; mv A.txt a.Txt'],
    [
      'names with control characters',
      "echo 1 > $'new\\nline'; echo 2 > $'\\e[31m'; mkdir $'tab\\t'; echo 3 > $'tab\\t/x'",
    ],
    [
      'names that are not UTF-8',
      "echo 1 > $'\\xff\\xfe'; mkdir $'d\\x80'; echo 2 > $'d\\x80/\\xc3'; ln -s $'\\xe9' $'l\\xe9'; rm $'old\\xff'",
    ],
    ['moved folders', 'mv deep moved; mkdir deep; mv moved deep/inner'],
    [
      'protected folders',
      'mkdir p; echo x > p/x; mkdir p/q; echo y > p/q/y; chmod 555 p/q p; chmod 555 deep',
    ],
    ['many', 'mkdir -p m/{0..6}; for i in {1..600}; do echo $i > m/$((i%7))/$i; done; rm -r many'],
    ['nothing', 'true'],
  ])('lands %s, and undo brings back what was there', async (_what, script) => {
    write('a.txt');
    write('deep/b.txt');
    write('deep/c/d.txt');
    symlinkSync('a.txt', at('link'));
    writeFileSync(Buffer.concat([Buffer.from(`${root}/old`), Buffer.of(0xff)]), 'old');
    for (let i = 0; i < 40; i++) write(`many/${i}`);
    const old = new Date('2020-02-02T02:02:02Z');
    utimesSync(at('deep/c/d.txt'), old, old);
    const before = treeOf(root);
    const { landed, conflicts, notUndoable, toolId } = await run(sh(script), () => copyLayer());
    expect([conflicts, notUndoable]).toEqual([[], undefined]);
    const after = treeOf(root);
    expect(looksOf(after)).toEqual(looksOf(treeOf(copy)));
    for (const { path, after: entry } of landed)
      if (entry && entry.type !== 'directory') expectSameTime(after.get(path), timeOf(entry.identity), path);
    const landedPaths = new Set(landed.map(({ path }) => path));
    for (const [path, { identity, type }] of before)
      if (!landedPaths.has(path) && type === 'file') expect(after.get(path)?.identity, path).toBe(identity);

    expect(await undone(toolId)).toBe(script === 'true' ? 'failed' : 'completed');
    const restored = treeOf(root);
    expect(looksOf(restored)).toEqual(looksOf(before));
    for (const [path, { mtimeNs, type }] of before)
      if (type !== 'directory') expectSameTime(restored.get(path), mtimeNs, path);
  });

  it('hard links that the command made stay hard links, and are undone', async () => {
    write('a.txt');
    const { toolId } = await run(
      sh('echo x > one; ln one two; mkdir d; ln one d/three; ln a.txt b.txt; echo y > a.txt'),
    );
    const inodes = ['one', 'two', 'd/three'].map((path) => statSync(at(path)).ino);
    expect(new Set(inodes).size).toBe(1);
    expect([
      statSync(at('a.txt')).ino === statSync(at('b.txt')).ino,
      readFileSync(at('b.txt'), 'utf8'),
    ]).toEqual([true, 'y\n']);
    expect(await undone(toolId)).toBe('completed');
    expect(readdirSync(root)).toEqual(['a.txt']);
  });

  it('a file with several names in the workspace keeps its content under the others', async () => {
    write('a.txt', 'old');
    linkSync(at('a.txt'), at('b.txt'));
    linkSync(at('a.txt'), at('c.txt'));
    const { toolId, conflicts } = await run(sh('rm a.txt; echo new > a.txt; rm b.txt; echo other > b.txt'));
    expect(conflicts).toEqual([]);
    expect(['a.txt', 'b.txt', 'c.txt'].map((path) => readFileSync(at(path), 'utf8'))).toEqual([
      'new\n',
      'other\n',
      'old',
    ]);
    // An undo copy is never another name of a file that stays in the workspace.
    appendFileSync(at('c.txt'), ' and later');
    expect(await undone(toolId)).toBe('completed');
    expect(['a.txt', 'b.txt', 'c.txt'].map((path) => readFileSync(at(path), 'utf8'))).toEqual([
      'old',
      'old',
      'old and later',
    ]);
  });

  it.runIf(stateDisk === '/dev/shm')(
    'a file of 1 GiB with holes lands with its holes, and is not read into memory',
    async () => {
      write('a.txt', 'small');
      const { toolId } = await run(sh('truncate -s 1G a.txt; echo end >> a.txt'));
      const { size, blocks } = statSync(at('a.txt'));
      expect([size, blocks * 512 < 1024 * 1024]).toEqual([1024 ** 3 + 4, true]);
      expect(await undone(toolId)).toBe('completed');
      // It was hashed and copied in pieces.
      expect(process.resourceUsage().maxRSS).toBeLessThan(700 * 1024);
      expect(readFileSync(at('a.txt'), 'utf8')).toBe('small');
    },
  );

  it('what was changed meanwhile is a conflict, stays, and the rest lands', async () => {
    for (const name of ['edited', 'deleted', 'replaced', 'retyped', 'fine', 'full/a', 'gone/a', 'moded'])
      write(name);
    const { landed, conflicts, toolId } = await run(
      sh(
        'for f in edited deleted replaced retyped fine gone/a; do echo new > $f; done; rm -r full; echo x > made; mkdir dir; chmod 600 moded; echo y > gone/new',
      ),
      () => {
        write('edited', 'mine');
        rmSync(at('deleted'));
        rmSync(at('replaced'));
        write('replaced', 'mine');
        rmSync(at('retyped'));
        mkdirSync(at('retyped'));
        write('full/mine');
        write('made', 'mine');
        write('dir', 'a file of mine');
        chmodSync(at('moded'), 0o640);
        rmSync(at('gone'), { recursive: true });
      },
    );
    expect(conflicts.map(({ path }) => path).sort()).toEqual([
      'deleted',
      'dir',
      'edited',
      'full',
      'gone/a',
      'gone/new',
      'made',
      'moded',
      'replaced',
      'retyped',
    ]);
    expect(landed.map(({ path }) => path)).toEqual(['fine', 'full/a']);
    for (const name of ['edited', 'replaced', 'made']) expect(readFileSync(at(name), 'utf8')).toBe('mine');
    expect([readFileSync(at('dir'), 'utf8'), existsSync(at('gone')), readdirSync(at('full'))]).toEqual([
      'a file of mine',
      false,
      ['mine'],
    ]);
    // The layer still has the command's version of a conflict.
    expect(readFileSync(join(upper, 'edited'), 'utf8')).toBe('new\n');
    expect(await undone(toolId)).toBe('completed');
    expect([readFileSync(at('fine'), 'utf8'), readFileSync(at('edited'), 'utf8')]).toEqual(['fine', 'mine']);
    expect(leftovers()).toEqual([]);
  });

  it('a landing that was stopped after it was journalled is completed by the next runner, with its result', async () => {
    for (const name of ['a', 'b', '.env']) write(name);
    const { changesOf } = journal.landings;
    journal.landings.changesOf = async () => {
      throw new Error('stopped');
    };
    await expect(
      run(sh('echo new > a; echo new > b; echo new > .env; mkdir d; chmod 700 d')),
    ).rejects.toThrow('stopped');
    expect(readFileSync(at('a'), 'utf8')).toBe('a');
    journal.landings.changesOf = changesOf;
    write('b', 'mine');
    const resumed: string[] = [];
    await recoverJournal(journal, workspace, silent, ({ layer }, { conflicts }) => {
      resumed.push(layer?.upper ?? '', ...conflicts.map(({ path }) => path));
    });
    expect(resumed).toEqual([upper, 'b']);
    expect(journal.unacknowledged().map(({ report }) => report)).toEqual([
      {
        attempt: 1,
        status: 'completed',
        result: {
          success: true,
          changed_files: [{ path: 'a', operation: 'modified' }],
          undoable: true,
          conflicts: [{ path: 'b' }],
        },
      },
    ]);
    expect([
      readFileSync(at('a'), 'utf8'),
      readFileSync(at('b'), 'utf8'),
      statSync(at('d')).mode & 0o777,
    ]).toEqual(['new\n', 'mine', 0o700]);
  });

  it('nothing lands, and no copy stays, where it cannot be journalled', async () => {
    write('a');
    journal.landings.begin = async () => {
      throw new CountersignError('JOURNAL_UNAVAILABLE', { problem: 'the disk is full' });
    };
    await expect(run(sh('echo new > a'))).rejects.toThrow('the disk is full');
    expect([readFileSync(at('a'), 'utf8'), readdirSync(journal.copies.folder)]).toEqual(['a', []]);
  });

  it('an undo copy that somebody wrote into is not used', async () => {
    write('log', 'old\n');
    const open = openSync(at('log'), 'a');
    const { toolId } = await run(sh('rm log'));
    writeSync(open, 'a program that still had it open\n');
    closeSync(open);
    // Where the copy is a hard link, it is not what was there before.
    const isLinked = stateDisk === workspaceDisk;
    expect(await undone(toolId)).toBe(isLinked ? 'failed' : 'completed');
    expect(existsSync(at('log'))).toBe(!isLinked);
  });

  it('tells the difference of a run, without secrets and folders', async () => {
    write('a.txt', 'one\ntwo\n');
    write('.env', 'SECRET=1');
    write('photo', Buffer.from([0, 1, 2, 0]));
    await run(sh('echo three >> a.txt; mkdir d'));
    const { toolId } = await run(
      sh('sed -i s/one/ONE/ a.txt; echo SECRET=2 > .env; echo x > d/new; chmod 755 photo; ln -s a.txt l'),
    );
    const made = await landedChanges(journal, root, toolId, 1);
    expect(await runChanges(journal, 'run', made)).toMatchObject([
      {
        path: 'a.txt',
        operation: 'modified',
        diff: expect.stringContaining('-one\n+ONE\n two\n+three\n'),
        added: 2,
        removed: 1,
      },
      { path: 'd/new', operation: 'created', added: 1 },
      { path: 'l', operation: 'created', diff: '' },
      { path: 'photo', operation: 'modified', diff: '' },
    ]);
  });

  it('a file that was only touched meanwhile is no conflict', async () => {
    write('a.txt');
    const { conflicts } = await run(sh('echo new > a.txt'), () => utimesSync(at('a.txt'), 1, 1));
    expect([conflicts, readFileSync(at('a.txt'), 'utf8')]).toEqual([[], 'new\n']);
  });

  it('[VA-1] a folder that was swapped for a link leads nowhere', async () => {
    const outside = mkdtempSync(join(workspaceDisk, 'countersign-outside-'));
    writeFileSync(join(outside, 'a'), 'outside');
    write('deep/a');
    write('deep/b');
    const { landed, conflicts } = await run(
      sh('echo new > deep/a; rm deep/b; echo c > deep/c; mkdir deep/d; chmod 700 deep'),
      () => {
        renameSync(at('deep'), at('moved'));
        symlinkSync(outside, at('deep'));
      },
    );
    expect([landed, conflicts.length]).toEqual([[], 5]);
    expect([readdirSync(outside), readFileSync(join(outside, 'a'), 'utf8')]).toEqual([['a'], 'outside']);
    expect(readdirSync(at('moved'))).toEqual(['a', 'b']);
    rmSync(outside, { recursive: true });
  });

  it('refuses to undo what was changed since, unless forced, and the undo can be undone', async () => {
    write('a.txt', 'old');
    write('deep/b.txt', 'old');
    chmodSync(at('deep/b.txt'), 0o640);
    const { toolId } = await run(
      sh('echo new > a.txt; rm -r deep; echo made > made; mkdir empty; chmod 700 .'),
    );
    write('a.txt', 'mine');
    chmodSync(at('made'), 0o600);
    const refused = await undo.undo('refused', [toolId], { force: false });
    expect(refused.error).toMatchObject({
      code: 'UNDO_CONFLICT',
      message: expect.stringContaining('"made", "a.txt"'),
    });
    expect((await undo.undo('forced', [toolId], { force: true })).status).toBe('completed');
    expect([readFileSync(at('a.txt'), 'utf8'), readFileSync(at('deep/b.txt'), 'utf8')]).toEqual([
      'old',
      'old',
    ]);
    expect([statSync(at('deep/b.txt')).mode & 0o777, readdirSync(root)]).toEqual([0o640, ['a.txt', 'deep']]);
    expect(await undone('forced')).toBe('completed');
    expect([readFileSync(at('a.txt'), 'utf8'), readdirSync(root)]).toEqual([
      'mine',
      ['a.txt', 'empty', 'made'],
    ]);
    expect((await undo.undo('again', [toolId], { force: true })).status).toBe('completed');
    expect([readFileSync(at('a.txt'), 'utf8'), readdirSync(root)]).toEqual(['old', ['a.txt', 'deep']]);
  });

  it('a created folder stays when something else is in it', async () => {
    const { toolId } = await run(sh('mkdir made; echo x > made/x'));
    write('made/mine');
    expect(await undone(toolId)).toBe('failed');
    rmSync(at('made/mine'));
    expect(await undone(toolId)).toBe('completed');
    expect(readdirSync(root)).toEqual([]);
  });

  it('several calls of a run are undone as one, with those of file tools', async () => {
    write('a.txt', '0');
    const first = await run(sh('echo 1 > a.txt; echo 1 > b.txt'));
    const second = await run(sh('chmod 755 a.txt; mv b.txt c.txt'));
    const third = await run(sh('echo 3 > a.txt; ln -s a.txt b.txt'));
    expect(await undone(first.toolId)).toBe('failed');
    expect(await undone(third.toolId, second.toolId, first.toolId)).toBe('completed');
    expect([
      readdirSync(root),
      readFileSync(at('a.txt'), 'utf8'),
      statSync(at('a.txt')).mode & 0o777,
    ]).toEqual([['a.txt'], '0', 0o644]);
  });

  it('keeps undo copies up to a limit, the newest calls first, and says what cannot be undone', async () => {
    journal.close();
    open(2 * 1024 * 1024);
    const part = Buffer.alloc(700 * 1024, 'x');
    for (const name of ['a', 'b', 'c']) write(name, part);
    write('large', Buffer.alloc(3 * 1024 * 1024, 'y'));
    const calls = [await run(sh('rm a')), await run(sh('rm b'))];
    const large = await run(sh('echo lost > large; echo made > made'));
    expect(large).toMatchObject({ notUndoable: expect.stringContaining('too large'), landed: { length: 2 } });
    calls.push(await run(sh('rm c')));
    const kept = readdirSync(join(state, 'undo')).reduce(
      (sum, name) => sum + statSync(join(state, 'undo', name)).size,
      0,
    );
    expect(kept).toBe(2 * part.length);
    expect(calls.map(({ notUndoable }) => notUndoable)).toEqual([undefined, undefined, undefined]);
    const results = [];
    for (const { toolId } of [...calls, large].reverse()) results.push(await undone(toolId));
    expect(results).toEqual(['failed', 'completed', 'completed', 'failed']);
    expect(readdirSync(root).sort()).toEqual(['b', 'c', 'large', 'made']);
  });

  it.skipIf(stateDisk === '/dev/shm')('thousands of small files land while other work goes on', async () => {
    const make = sh(
      'for d in $(seq 20); do mkdir -p n/$d; for f in $(seq 150); do echo $d $f > n/$d/$f; done; done',
    );
    let turns = 0;
    let isLanding = true;
    const { landed, toolId } = await run(make, () => {
      const count = () => {
        turns += 1;
        if (isLanding) setImmediate(count);
      };
      count();
    });
    isLanding = false;
    expect(landed.length).toBe(3_021);
    // A few long turns would mean that everything else waits.
    expect(turns).toBeGreaterThan(10);
    expect(await undone(toolId)).toBe('completed');
    expect(readdirSync(root)).toEqual([]);
  });

  let copy: string;
  /** Keeps what the layer looked like before its files are renamed from it. */
  function copyLayer(): void {
    copy = `${upper}-copy`;
    execFileSync('cp', ['-a', upper, copy]);
  }

  const leftovers = () => [...treeOf(root).keys()].filter((path) => path.includes('.countersign-'));
});

it('[RN-12] lands and undoes for an ordinary user too, in folders that the command has protected', ({
  skip,
}) => {
  if (process.getuid?.() !== 0) skip('this already is an ordinary user: the other tests show it');
  const script = `
    import { execFileSync, spawnSync } from 'node:child_process';
    import { mkdirSync, mkdtempSync } from 'node:fs';
    import { Journal } from ${JSON.stringify(import.meta.resolve('../journal/journal.ts'))};
    import { FileUndo } from ${JSON.stringify(import.meta.resolve('../undo/file-undo.ts'))};
    import { landingIn } from ${JSON.stringify(import.meta.resolve('./landing.ts'))};
    import { effectsBetween, layerLike, looksOf, treeOf } from ${JSON.stringify(import.meta.resolve('./tree.test-data.ts'))};
    const base = mkdtempSync('/tmp/countersign-ordinary-');
    const [root, state] = [base + '/ws', base + '/state'];
    mkdirSync(root);
    const sh = (cwd, line) => execFileSync('/bin/bash', ['-ec', line], { cwd });
    sh(root, 'mkdir -p a/b closed; echo 1 > a/b/1; echo 2 > a/2; echo 3 > closed/3; chmod 444 a/2; chmod 555 a/b closed');
    const journal = Journal.open({ folder: state, holder: { program: 'a test' } });
    const undo = new FileUndo(journal, { root, stateFolder: state, limits: { entries: 100 } });
    const before = looksOf(treeOf(root));
    const upper = base + '/state/layers/1/upper';
    layerLike(root, upper);
    sh(upper, 'chmod 755 closed a/b; echo new > closed/new; rm closed/3 a/2; echo 4 > a/b/4; chmod 555 closed a/b; mkdir p; echo 5 > p/5; chmod 500 p');
    const effects = effectsBetween(root, upper);
    const after = looksOf(treeOf(upper));
    journal.start('call', 1, 'shell_exec');
    const landed = await landingIn(journal, { root })({ toolId: 'call', attempt: 1, upper, layerId: '1', effects, result: { success: true } });
    const isLanded = JSON.stringify(looksOf(treeOf(root))) === JSON.stringify(after);
    const report = await undo.undo('undo', ['call'], { force: false });
    const isUndone = JSON.stringify(looksOf(treeOf(root))) === JSON.stringify(before);
    journal.close();
    sh('/', 'chmod -R u+w ' + base + '; rm -r ' + base);
    console.log(JSON.stringify({ user: process.getuid(), conflicts: landed.conflicts, isLanded, status: report.status, isUndone }));
  `;
  const user = ['--reuid=65534', '--regid=65534', '--clear-groups'];
  const { stdout, stderr } = spawnSync(
    '/usr/bin/setpriv',
    [...user, process.execPath, '--input-type=module', '-e', script],
    {
      encoding: 'utf8',
    },
  );
  expect(stdout, stderr).not.toBe('');
  expect(JSON.parse(stdout)).toEqual({
    user: 65_534,
    conflicts: [],
    isLanded: true,
    status: 'completed',
    isUndone: true,
  });
});

const timeOf = (identity: string) => BigInt(identity.split(':').at(-1) as string);

/** Times of copies are exact to a microsecond. */
function expectSameTime(
  entry: { readonly mtimeNs: bigint } | undefined,
  expected: bigint,
  path: string,
): void {
  const difference = (entry?.mtimeNs ?? 0n) - expected;
  expect(difference < 2000n && difference > -2000n, `${path}: ${entry?.mtimeNs} and not ${expected}`).toBe(
    true,
  );
}
