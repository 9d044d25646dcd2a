import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ChangedFiles } from './changed-files.ts';
import { LspFixture } from './lsp-fixture.test-data.ts';

let fixture: LspFixture;
beforeEach(() => {
  fixture = new LspFixture({ 'a.x': '1', 'src/b.x': '1', 'src/picture.png': '1' }, { isolated: false });
});
afterEach(() => fixture.dispose());

const begin = () => ChangedFiles.begin(fixture.workspace.root, ['.x']);
/** Waits until the files are so old that their times can be trusted. */
const untilTrusted = () => new Promise((resolve) => setTimeout(resolve, 120));

describe('ChangedFiles', () => {
  it('finds files that were added, changed and removed since the last time', async () => {
    await untilTrusted();
    const files = await begin();
    expect(await files.find()).toEqual(new Map());
    fixture.write('a.x', '2');
    fixture.write('src/deep/c.X', '1');
    fixture.write('package.json', '{}');
    fixture.write('src/picture.png', '2');
    fixture.write('.hidden/d.x', '1');
    fixture.write('node_modules/p/e.x', '1');
    fixture.remove('src/b.x');
    expect(await files.find()).toEqual(
      new Map([
        ['a.x', 'changed'],
        ['src/deep/c.X', 'created'],
        ['package.json', 'created'],
        ['src/b.x', 'deleted'],
      ]),
    );
    await untilTrusted();
    await files.find();
    expect(await files.find()).toEqual(new Map());
  });

  it('looks again at a file that was changed just now, since its times may not tell', async () => {
    const files = await begin();
    expect((await files.find()).get('a.x')).toBe('changed');
  });

  it('sees all files of a large workspace', async () => {
    for (let i = 0; i < 2_500; i += 1) fixture.write(`many/${i % 50}/${i}.x`, '');
    const files = await ChangedFiles.begin(fixture.workspace.root, []);
    expect((await files.find()).size).toBe(0);
    const all = await begin();
    fixture.remove('many/7/2457.x');
    expect((await all.find()).get('many/7/2457.x')).toBe('deleted');
  });

  it('says nothing of a workspace that is gone', async () => {
    const files = await ChangedFiles.begin('/nowhere/at/all', ['.x']);
    expect(await files.find()).toEqual(new Map());
  });
});
