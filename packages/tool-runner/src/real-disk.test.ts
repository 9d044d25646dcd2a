import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { realDisk } from './real-disk.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-disk-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('reads the head of a file, and of nothing else: neither a link nor a pipe, which would hang for ever', () => {
  writeFileSync(join(folder, 'file'), 'a long text');
  symlinkSync('file', join(folder, 'link'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  const head = (name: string) => {
    const bytes = realDisk.readHead(join(folder, name), 6);
    return bytes && Buffer.from(bytes).toString();
  };
  expect(['file', 'link', 'pipe', '.', 'nowhere'].map(head)).toEqual([
    'a long',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

it('does not hang on a file that is exchanged with a pipe all the time', () => {
  writeFileSync(join(folder, 'file'), 'text');
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  // Reads in a separate process, because a process that hangs in open() cannot even be told to stop.
  const reader = `
    import { Worker } from 'node:worker_threads';
    import { realDisk } from ${JSON.stringify(join(import.meta.dirname, 'real-disk.ts'))};
    process.chdir(${JSON.stringify(folder)});
    const exchange = \`
      import { linkSync, renameSync } from 'node:fs';
      for (let i = 0; ; i++) { linkSync(i % 2 ? 'file' : 'pipe', 'new'); renameSync('new', 'exchanged'); }\`;
    const worker = new Worker(exchange, { eval: true });
    let [files, others] = [0, 0];
    const until = performance.now() + 120_000;
    while ((files < 200 || others < 200) && performance.now() < until)
      realDisk.readHead('exchanged', 4) === undefined ? others++ : files++;
    await worker.terminate();
    console.log(files >= 200 && others >= 200);`;
  const options = { timeout: 180_000, encoding: 'utf8' } as const;
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', reader], options)).toBe('true\n');
});
