import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { limitFileSizes, mountSmallDisk } from './small-disk.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-small-disk-'));
const disk = mountSmallDisk(folder, 4);

it.skipIf(disk === undefined)('can be filled and freed', () => {
  const write = () => writeFileSync(join(folder, 'file'), 'x'.repeat(8192));
  disk?.fill();
  expect(write).toThrow('ENOSPC');
  disk?.free();
  expect(write).not.toThrow();
  disk?.close();
  rmSync(folder, { recursive: true, force: true });
});

it('limits the file size of a process where nothing can be mounted', () => {
  const limited = limitFileSizes(() => [process.pid]);
  const limit = () => execFileSync('prlimit', [`--pid=${process.pid}`, '--fsize', '--raw', '--noheadings']);
  limited.fill();
  const limitedTo = limit().toString();
  limited.free();
  expect(limitedTo).toMatch(/ 0 unlimited/);
  expect(limit().toString()).toMatch(/ unlimited unlimited/);
  limited.close();
});
