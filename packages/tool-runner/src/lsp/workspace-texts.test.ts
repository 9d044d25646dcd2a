import { mkdirSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LspFixture } from './lsp-fixture.test-data.ts';
import { LocatedFiles, WorkspaceTexts } from './workspace-texts.ts';

let fixture: LspFixture;
let files: LocatedFiles;
beforeEach(() => {
  fixture = new LspFixture({ 'real/a.txt': 'first\n', '../outside/a.txt': 'CANARY\n' }, { isolated: false });
  files = new LocatedFiles(new WorkspaceTexts(fixture.workspace));
});
afterEach(() => fixture.dispose());

/** Returns the path and first line of a file, or why the file is not shown. */
function show(path: string): string {
  const file = files.lookUp()(pathToFileURL(join(fixture.workspace.root, path)).href);
  return typeof file === 'string' ? file : `${file.path}: ${file.lines.line(1)}`;
}
/** Waits until the file is so old that its times can be trusted. */
const untilTrusted = () => new Promise((resolve) => setTimeout(resolve, 120));

describe('LocatedFiles', () => {
  it('shows what the file has now, also when it was kept', async () => {
    await untilTrusted();
    expect([show('real/a.txt'), show('real/a.txt')]).toEqual(['real/a.txt: first', 'real/a.txt: first']);
    fixture.write('real/a.txt', 'other\n'); // the same length as before
    expect(show('real/a.txt')).toBe('real/a.txt: other');
    fixture.write('real/a.txt', 'third\n');
    expect(show('real/a.txt')).toBe('real/a.txt: third');
    rmSync(join(fixture.workspace.root, 'real/a.txt'));
    expect(show('real/a.txt')).toBe('refused');
  });

  it('[VA-1] does not show a kept file when its folder has become a link that leads outside', async () => {
    const { root } = fixture.workspace;
    symlinkSync('real', join(root, 'way'));
    const then = new Date(0);
    for (const path of ['real/a.txt', '../outside/a.txt']) utimesSync(join(root, path), then, then);
    await untilTrusted();
    expect(show('way/a.txt')).toBe('real/a.txt: first');
    rmSync(join(root, 'way'));
    symlinkSync('../outside', join(root, 'way'));
    expect(show('way/a.txt')).toBe('outside');
  });

  it('looks at a bounded amount of text for one answer', () => {
    mkdirSync(join(fixture.workspace.root, 'large'));
    for (let i = 0; i < 18; i += 1) fixture.write(`large/${i}.txt`, 'x'.repeat(4 * 1024 * 1024));
    const find = files.lookUp();
    const found = Array.from({ length: 18 }, (_, i) =>
      find(pathToFileURL(join(fixture.workspace.root, `large/${i}.txt`)).href),
    );
    expect(found.filter((file) => file === 'too much')).toHaveLength(1);
    expect(show('large/17.txt')).toContain('large/17.txt: x');
  });
});
