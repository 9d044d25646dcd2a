/** The journal on a real disk that is full: a small file system in memory, which only one process sees. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const cannotMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status !== 0;

const program = `
import { rmSync, writeFileSync } from 'node:fs';
import { Journal } from ${JSON.stringify(new URL('./journal.ts', import.meta.url).href)};
const [folder] = process.argv.slice(1);
const filler = folder + '/filler';
const journal = Journal.open({ folder: folder + '/state', holder: { program: 'a test' } });
const said = [];
const start = (toolId) => {
  try {
    journal.start(toolId, 1, 'write_file');
    said.push('started ' + toolId);
  } catch ({ code, message }) {
    said.push({ code, message });
  }
};
start('before');
for (let bytes = 2 ** 23; bytes >= 1; bytes /= 2) {
  try {
    for (;;) writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' });
  } catch {}
}
// The log may have room left in the file that it has.
for (let place = 0; place < 1000 && said.length === place + 1 && typeof said[place] === 'string'; place += 1)
  start('small-' + place);
const failed = said.at(-1);
rmSync(filler);
start('after');
journal.close();
console.log(JSON.stringify({ failed, after: said.at(-1) }));
`;

it.skipIf(cannotMount)(
  '[RN-3] says that the disk is full and what to do, starts nothing, and goes on when there is room',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-full-journal-'));
    const mountAndRun = 'mount -t tmpfs -o size=8m none "$1" && shift && exec "$@"';
    const node = [process.execPath, '--no-warnings', '--input-type=module', '-e', program, folder];
    const { stdout, stderr } = spawnSync('unshare', ['-rm', 'sh', '-c', mountAndRun, 'sh', folder, ...node], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      failed: {
        code: 'JOURNAL_UNAVAILABLE',
        message: expect.stringMatching(/disk is full.*free space.*Nothing ran/s),
      },
      after: 'started after',
    });
    rmdirSync(folder);
  },
);
