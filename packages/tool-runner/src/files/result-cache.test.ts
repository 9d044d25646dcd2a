import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  readingContext,
  runnerWorkspace,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileTools } from './file-tools.test-data.ts';
import { readFile } from './read-file.ts';
import { ResultCache } from './result-cache.ts';

let workspace: TemporaryWorkspace;
let file: string;
beforeEach(() => {
  workspace = temporaryWorkspace();
  file = join(workspace.root, 'file');
  writeFileSync(file, 'before');
});
afterEach(() => workspace.remove());

/** A clock that only the test moves. By default it is ahead, so that files written now count as old. */
class SetClock {
  ahead = 10_000;
  elapsed = 0;
  now = () => Date.now() + this.ahead;
  monotonic = () => this.elapsed;
}

class WatchedCache extends ResultCache {
  found = 0;

  override find(...about: Parameters<ResultCache['find']>) {
    const result = super.find(...about);
    if (result) this.found++;
    return result;
  }
}

const statsOf = (path: string) => lstatSync(path, { bigint: true });
const resultOf = (content: string) =>
  ({ success: true, content, encoding: 'utf-8', size: content.length, truncated: false }) as const;

/** Waits until the disk's clock has moved on, so that a file written now has another ctime than `path`. */
function letTimePass(path: string): void {
  const probe = join(workspace.outside, 'probe');
  do writeFileSync(probe, '');
  while (statsOf(probe).ctimeNs <= statsOf(path).ctimeNs);
}

describe('[EX-9] the cache of read_file', () => {
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], {
      cwd: workspace.root,
      stdio: 'pipe',
    });

  const changes: Readonly<Record<string, () => void>> = {
    'an edit of the same size': () => writeFileSync(file, 'after!'),
    'an edit in place, with its time put back': () => {
      const { mtimeMs } = lstatSync(file);
      const descriptor = openSync(file, 'r+');
      writeSync(descriptor, 'after!');
      closeSync(descriptor);
      utimesSync(file, mtimeMs / 1000, mtimeMs / 1000);
    },
    'more at its end': () => appendFileSync(file, ' and after'),
    'a truncation, and as much again': () => {
      const descriptor = openSync(file, 'r+');
      ftruncateSync(descriptor, 2);
      writeSync(descriptor, 'after!', 0);
      closeSync(descriptor);
    },
    'a replacement by rename': () => {
      writeFileSync(`${file}.new`, 'after!');
      renameSync(`${file}.new`, file);
    },
    'a replacement of the same times': () => {
      copyFileSync(file, `${file}.new`);
      writeFileSync(`${file}.new`, 'after!');
      const { atime, mtime } = lstatSync(file);
      utimesSync(`${file}.new`, atime, mtime);
      renameSync(`${file}.new`, file);
    },
    'deletion and another file in its place, with its inode if the disk likes': () => {
      rmSync(file);
      writeFileSync(file, 'after!');
    },
    'a rename of another file over it': () => {
      renameSync(join(workspace.root, 'README.md'), file);
    },
    'a change through another name': () => {
      linkSync(file, `${file}.other`);
      writeFileSync(`${file}.other`, 'after!');
    },
    'a link in its place': () => {
      rmSync(file);
      symlinkSync('README.md', file);
    },
    'git checkout': () => {
      git('checkout', '--quiet', 'other');
    },
    'touch alone': () => {
      execFileSync('touch', [file]);
    },
    chmod: () => {
      execFileSync('chmod', ['600', file]);
    },
  };

  it.each(Object.entries(changes))('is not stale after %s', async (_name, change) => {
    git('add', 'file');
    git('commit', '--quiet', '-m', 'before');
    git('checkout', '--quiet', '-b', 'other');
    writeFileSync(file, 'branch');
    git('commit', '--quiet', '-am', 'branch');
    git('checkout', '--quiet', '-');
    const cache = new WatchedCache({ clock: new SetClock() });
    const read = (from: ResultCache) =>
      readFile.execute({ tool: 'read_file', params: { path: 'file' } }, readingContext(), {
        workspace: runnerWorkspace(workspace),
        cache: from,
      });
    expect(await read(cache)).toMatchObject({ content: 'before' });
    expect(await read(cache)).toMatchObject({ content: 'before' });
    expect(cache.found).toBe(1);
    letTimePass(file);
    change();
    expect(await read(cache)).toEqual(await read(new ResultCache({ enableCaching: false })));
    expect(cache.found).toBe(1);
  });

  it('keeps ranges, parts and encodings apart', async () => {
    writeFileSync(file, 'one\ntwo\n');
    const files = fileTools(runnerWorkspace(workspace), { clock: new SetClock() });
    const read = async (params: object) =>
      (await files.execute({ tool: 'read_file', params: { path: 'file', ...params } }, readingContext()))
        .content;
    for (let twice = 0; twice < 2; twice++) {
      expect(await read({})).toBe('one\ntwo\n');
      expect(await read({ start_line: 2 })).toBe('two\n');
      expect(await read({ end_line: 1 })).toBe('one\n');
      expect(await read({ offset: 2 })).toBe('e\ntwo\n');
      expect(await read({ length: 2 })).toBe('on');
      expect(await read({ offset: 2, length: 2 })).toBe('e\n');
      expect(await read({ encoding: 'utf-16be' })).toBe('潮攊瑷漊');
    }
  });

  it('does not keep a file that was changed within the last 2 s, or in the future', () => {
    const clock = new SetClock();
    const cache = new ResultCache({ clock });
    const found = (ahead: number) => {
      const stats = statsOf(file);
      clock.now = () => Number(stats.ctimeNs / 1_000_000n) + ahead;
      cache.clear();
      cache.store(stats, '', resultOf('before'));
      return cache.find(stats, '') !== undefined;
    };
    expect([found(-5_000), found(0), found(1_999), found(2_000)]).toEqual([false, false, false, true]);
  });

  it('keeps a result for 60 s, or for as long as it is told to, or not at all', () => {
    const clock = new SetClock();
    const found = (options: object, after: number) => {
      const cache = new ResultCache({ clock, ...options });
      cache.store(statsOf(file), '', resultOf('before'));
      clock.elapsed += after;
      return cache.find(statsOf(file), '') !== undefined;
    };
    expect([found({}, 59_999), found({}, 60_000)]).toEqual([true, false]);
    expect([found({ cacheTtlMs: 5 }, 4), found({ cacheTtlMs: 5 }, 5)]).toEqual([true, false]);
    expect([found({ enableCaching: false }, 0), found({ cacheTtlMs: 0 }, 0)]).toEqual([false, false]);
  });

  it('has a size limit, and drops the oldest results', () => {
    const cache = new ResultCache({ clock: new SetClock(), maxBytes: 10_000 });
    const store = (question: string, characters: number) =>
      cache.store(statsOf(file), question, resultOf(question.padEnd(characters, 'é')));
    const there = (...questions: string[]) =>
      questions.filter((question) => cache.find(statsOf(file), question)?.content.startsWith(question));
    // Each takes 1,000 bytes more than its text.
    store('a', 1_000);
    store('b', 1_000);
    store('c', 1_000);
    expect(there('a', 'b', 'c')).toEqual(['a', 'b', 'c']);
    store('d', 1_000);
    expect(there('a', 'b', 'c', 'd')).toEqual(['b', 'c', 'd']);
    store('too large', 5_000);
    expect(there('b', 'c', 'd', 'too large')).toEqual(['b', 'c', 'd']);
    const many = Array.from({ length: 1_000 }, (_, i) => `${i}`);
    for (const question of many) store(question, 0);
    expect(there(...many)).toEqual(many.slice(-9));
    cache.clear();
    expect(there(...many)).toEqual([]);
    store('a', 10);
    expect(there('a')).toEqual(['a']);
  });

  it('never gives one text for another, however they are stored', () => {
    const step = fc.record({
      key: fc.integer({ min: 0, max: 9 }),
      text: fc.string({ unit: 'grapheme', maxLength: 900 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cache = new ResultCache({ clock: new SetClock(), maxBytes: 5_000 });
        const stats = statsOf(file);
        const last = new Map<number, string>();
        for (const { key, text } of steps) {
          cache.store(stats, `${key}`, resultOf(text));
          last.set(key, text);
          expect(cache.find(stats, `${key}`)?.content).toBe(text);
          for (const [other, expected] of last)
            expect([undefined, expected]).toContain(cache.find(stats, `${other}`)?.content);
        }
      }),
    );
  });
});
