import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  securityCases,
  startSwapping,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfirmedFile, statExactly } from './confirmed-file.ts';
import { openExactly } from './exact-path.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

const claim = (path: string, text: string, { line = 1, offset = 0, isCut = false } = {}) => ({
  ...{ path, line, offset, isCut },
  text: Buffer.from(text),
});

function confirm(found: ReturnType<typeof claim>): string | undefined {
  const file = ConfirmedFile.open(workspace.root, found.path);
  try {
    return file?.confirm(found);
  } finally {
    file?.close();
  }
}

describe('ConfirmedFile', () => {
  it('confirms whole lines at the given offset, and nothing else', () => {
    writeFileSync(join(workspace.root, 'a'), 'one\ntwo\nthree');
    expect(confirm(claim('a', 'one'))).toBe('one');
    expect(confirm(claim('a', 'two', { line: 2, offset: 4 }))).toBe('two');
    expect(confirm(claim('a', 'three', { line: 3, offset: 8 }))).toBe('three');
    expect(confirm(claim('a', 'thr', { line: 3, offset: 8, isCut: true }))).toBe('thr');
    expect(confirm(claim('a', 'thr', { line: 3, offset: 8 }))).toBeUndefined();
    expect(confirm(claim('a', 'hree', { line: 3, offset: 9 }))).toBeUndefined();
    expect(confirm(claim('a', 'two'))).toBeUndefined();
    expect(confirm(claim('a', 'three!', { line: 3, offset: 8 }))).toBeUndefined();
    expect(confirm(claim('missing', 'one'))).toBeUndefined();
  });

  it.each<NodeJS.Platform>(['linux', 'darwin'])(
    '[VA-1] opens nothing through a link (as on %s)',
    (platform) => {
      const { root, outside } = workspace;
      mkdirSync(join(root, 'in'));
      for (const folder of [join(root, 'in'), outside]) writeFileSync(join(folder, 'a'), '');
      symlinkSync(outside, join(root, 'out'));
      symlinkSync('in', join(root, 'way'));
      symlinkSync('a', join(root, 'in/link'));
      const isOpened = (path: string) => openExactly(root, path, 0, platform) !== undefined;
      expect(['in/a', '', 'out/a', 'way/a', 'in/link', 'in/missing', '../outside/a'].map(isOpened)).toEqual([
        true,
        true,
        false,
        false,
        false,
        false,
        false,
      ]);
    },
  );

  it.each(
    securityCases('paths')
      .filter(({ input }) => input.race)
      .map((testCase) => [testCase.id, testCase] as const),
  )('[VA-1] %s: never confirms what ripgrep saw through a swapped link', async (_id, { input }) => {
    if (!input.race) throw new Error('a race case without a race');
    workspace.apply(input.setup ?? []);
    const { path } = input.args as { path: string };
    writeFileSync(join(workspace.outside, 'only-outside'), '');
    const stopSwapping = await startSwapping(workspace, input.race);
    try {
      const seen = new Set<string | undefined>();
      for (let i = 0; i < 10_000; i++) {
        seen.add(confirm(claim(path, 'CANARY-OUTSIDE')));
        seen.add(confirm(claim(path, 'INSIDE')));
        seen.add(statExactly(workspace.root, path)?.size.toString());
        seen.add(statExactly(workspace.root, `${input.race.path}/only-outside`)?.size.toString());
      }
      expect(seen).toEqual(new Set([undefined, 'INSIDE', '7']));
    } finally {
      await stopSwapping();
    }
  });
});
