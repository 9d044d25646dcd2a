import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runRipgrep } from './ripgrep.ts';

let workspace: TemporaryWorkspace;
beforeEach(() => {
  workspace = temporaryWorkspace();
});
afterEach(() => workspace.remove());

const query = {
  content: 'x',
  names: [],
  hidden: false,
  ignoredFromAbove: false,
  gitFolder: false,
  maxFileBytes: 1e9,
  maxMatchesPerFile: 1e9,
  maxLineCharacters: 100,
};
const never = new AbortController().signal;
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

describe('runRipgrep', () => {
  it('says so when it cannot start, or was stopped by somebody else', async () => {
    await expect(runRipgrep(join(workspace.root, 'missing'), query, never, () => true)).rejects.toMatchObject(
      {
        code: 'SPAWN_FAILED',
      },
    );
    const impossible = { ...query, content: 'a\0b' };
    await expect(runRipgrep(workspace.root, impossible, never, () => true)).rejects.toMatchObject({
      code: 'SPAWN_FAILED',
    });
    writeFileSync(join(workspace.root, 'many'), 'x\n'.repeat(5_000_000));
    const before = childrenOf(process.pid);
    const stopped = runRipgrep(workspace.root, query, never, () => {
      for (const child of childrenOf(process.pid))
        if (!before.includes(child)) process.kill(child, 'SIGKILL');
      return true;
    });
    await expect(stopped).rejects.toMatchObject({ code: 'READ_FAILED' });
  });

  it('does not start for a call that was cancelled, and ends when its output cannot be used', async () => {
    await expect(runRipgrep(workspace.root, query, AbortSignal.abort(), () => true)).rejects.toMatchObject({
      code: 'EXECUTION_CANCELLED',
    });
    const broken = new Error('cannot be used');
    const failing = runRipgrep(workspace.root, { ...query, content: '' }, never, () => {
      throw broken;
    });
    await expect(failing).rejects.toBe(broken);
  });
});
