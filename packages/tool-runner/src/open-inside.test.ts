import {
  closeSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { CountersignError } from '@countersign/protocol';
import {
  securityCases,
  startSwapping,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openInside } from './open-inside.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

function read(path: string): string {
  const descriptor = openInside(workspace.root, path, constants.O_RDONLY);
  try {
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

const codeOf = (path: string): string | undefined => {
  try {
    return read(path);
  } catch (error) {
    return (error as CountersignError).code;
  }
};

describe('[VA-1] openInside', () => {
  it('opens files, also through links that stay inside', () => {
    const { root } = workspace;
    mkdirSync(join(root, 'way'));
    symlinkSync('../docs/guide.md', join(root, 'way/in.md'));
    symlinkSync(join(root, 'docs'), join(root, 'absolute'));
    mkdirSync(join(root, '..dots'));
    writeFileSync(join(root, '..dots/a.md'), 'two dots');
    symlinkSync(`/${root}/..dots/a.md`, join(root, 'odd'));
    symlinkSync('way', join(root, 'again'));
    const guide = readFileSync(join(root, 'docs/guide.md'), 'utf8');
    expect([
      read('docs/guide.md'),
      read('way/in.md'),
      read('absolute/guide.md'),
      read('again/in.md'),
      read('src/../docs/./guide.md'),
      read(join(root, 'src/../docs/guide.md')),
    ]).toEqual(Array(6).fill(guide));
    expect([read('odd'), read(join(root, '..dots/a.md'))]).toEqual(['two dots', 'two dots']);
  });

  it('refuses what leads outside, has no end, or is no file', () => {
    const { root, outside } = workspace;
    writeFileSync(join(outside, 'secret.txt'), 'CANARY');
    symlinkSync(outside, join(root, 'out'));
    symlinkSync(join(outside, 'secret.txt'), join(root, 'pointer'));
    symlinkSync('../outside/secret.txt', join(root, 'up'));
    symlinkSync('loop', join(root, 'loop'));
    workspace.apply([{ op: 'fifo', path: 'queue' }]);
    const ways = ['out/secret.txt', 'pointer', 'up', '../outside/secret.txt', '..', outside];
    expect(ways.map(codeOf)).toEqual(Array(6).fill('PATH_OUTSIDE_WORKSPACE'));
    expect(codeOf('loop')).toBe('PATH_INVALID');
    expect(codeOf('queue')).toBe('NOT_A_REGULAR_FILE');
    expect(codeOf('missing')).toBe('ENOENT');
    expect(codeOf('README.md/x')).toBe('ENOTDIR');
  });

  it('opens the directory that a path ends in, and leaves no descriptor behind', () => {
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();
    closeSync(openInside(workspace.root, 'src/..', constants.O_RDONLY));
    codeOf('..');
    codeOf('missing/x');
    expect(open()).toBe(before);
  });

  it.each(
    securityCases('paths')
      .filter(({ input }) => input.race)
      .map((testCase) => [testCase.id, testCase] as const),
  )('[VA-9] %s: a link swapped in between never escapes', async (_id, { input }) => {
    if (!input.race) throw new Error('a race case without a race');
    workspace.apply(input.setup ?? []);
    const stopSwapping = await startSwapping(workspace, input.race);
    try {
      const seen = new Map<string, number>();
      for (let i = 0; i < 10_000; i++) {
        const outcome = codeOf((input.args as { path: string }).path) ?? '';
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
      const possible = ['INSIDE\n', 'PATH_OUTSIDE_WORKSPACE', 'ENOENT', 'ENOTDIR', 'ELOOP'];
      expect([...seen.keys()].filter((outcome) => !possible.includes(outcome))).toEqual([]);
      expect(seen.size).toBeGreaterThan(1);
    } finally {
      await stopSwapping();
    }
  });
});
