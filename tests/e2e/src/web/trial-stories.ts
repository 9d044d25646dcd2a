import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type OpenAiCompatibleServer, openAiCompatibleServer } from '@countersign/testing';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../../../lab/src/waiting.ts';
import { expectAccessible } from './accessibility.ts';
import { useWebHome } from './fixtures.ts';
import { takePicture } from './pictures.ts';
import { phone } from './web-home.ts';
import { attentionMs } from './web-window.ts';

const line = [
  'echo ran >> count.txt',
  'rm -r old',
  "sed -i 's/3000/8080/' src/port.ts",
  'echo new > made.md',
  'git add -A',
  'git commit -q -m "Move the port"',
  'echo done',
].join(' && ');

/** A command that is tried before it is decided (RN-13), in the page. */
export function trialStories(browser: () => Browser): void {
  let model: OpenAiCompatibleServer;
  const home = useWebHome(browser, async () => {
    model = await openAiCompatibleServer();
    return {
      files: { 'count.txt': '' },
      env: { COUNTERSIGN_MODEL: 'openai-compatible:scripted', COUNTERSIGN_MODEL_URL: model.url },
    };
  });
  const at = (name: string): string => join(home().ready.workspace, name);
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: home().ready.workspace, encoding: 'utf8' }).trim();
  const run = (command: string) => ({ call: { name: 'shell_exec', args: { command } } });
  beforeAll(() => {
    for (const folder of ['old', 'src']) mkdirSync(at(folder));
    for (const name of ['old/a.md', 'old/b.md']) writeFileSync(at(name), `${name}\n`);
    writeFileSync(at('src/port.ts'), '// The port of the server.\nexport const port = 3000;\n');
    symlinkSync('src', at('link'));
    git('init', '-q');
    git('config', 'user.name', 'Ada');
    git('config', 'user.email', 'ada@example.test');
    git('add', '.');
    git('commit', '-q', '-m', 'first');
  });
  afterAll(() => model?.close());

  /** Every entry below a folder with its type, mode, link or content. */
  const tree = (folder: string): Record<string, string> =>
    Object.fromEntries(
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .sort()
        .map((name) => {
          const path = join(folder, name);
          const stat = lstatSync(path);
          const held = stat.isSymbolicLink()
            ? readlinkSync(path)
            : stat.isFile()
              ? readFileSync(path, 'base64')
              : '';
          return [name, `${stat.mode.toString(8)} ${held}`];
        }),
    );

  it('[RN-13] tries by t, shows the diff, lands without running twice, and undoes all of it', async () => {
    const before = tree(home().ready.workspace);
    const head = git('rev-parse', 'HEAD');
    model.script([[run(line)], [{ text: 'Moved.' }]]);
    const window = await home().window();
    const { page } = window;
    await window.say('Move the port');
    const card = window.waiting.first();
    await card.getByRole('button', { name: 'Try it first' }).waitFor();
    await window.look(card);
    await takePicture(page, 'trial-offered');
    await window.press('t');
    await card.getByText('It was tried: nothing has changed yet.').waitFor();
    expect(tree(home().ready.workspace)).toEqual(before);

    // At a glance, then deletions first, each folded.
    await card.getByText(/2 deleted|3 deleted/).waitFor();
    const heads = await card.locator('.trial-effects .file-head').allTextContents();
    expect(heads[0]).toMatch(/^olddeleted/);
    expect(heads.join('\n')).toMatch(/src\/port\.tschanged\+1 −1/);
    expect(await card.locator('.trial-effects .diff').count()).toBe(0);
    await takePicture(page, 'trial-effects');
    await card.locator('.trial-effects').getByText('src/port.ts', { exact: true }).click();
    await expect
      .poll(() => card.locator('tr.diff-added .diff-text').allTextContents())
      .toEqual(['export const port = 8080;']);
    await takePicture(page, 'trial-diff');
    await expectAccessible(page);

    const row = window.call(/Ran /);
    await until(
      async () => {
        if ((await window.waiting.count()) === 0) return true;
        await card.focus({ timeout: 1_000 }).catch(() => {}); // it goes when it is approved
        await window.wait(attentionMs);
        await window.press('y'); // scrolls to what was not in sight yet, and confirms a HIGH call
        return false;
      },
      { otherwise: () => 'The card was not approved' },
    );
    await window.transcript.getByText('Moved.').waitFor();
    expect(readFileSync(at('count.txt'), 'utf8')).toBe('ran\n'); // once
    expect([existsSync(at('old')), readFileSync(at('made.md'), 'utf8')]).toEqual([false, 'new\n']);
    expect(git('log', '-1', '--format=%s')).toBe('Move the port');
    await row
      .getByText(/files? changed/)
      .first()
      .waitFor();
    await window.toggle(/Ran /).click();
    await takePicture(page, 'trial-landed');

    await row.getByRole('button', { name: 'Undo this change' }).click();
    await until(() => existsSync(at('old/b.md')) && git('rev-parse', 'HEAD') === head, {
      otherwise: () => `HEAD is ${git('rev-parse', 'HEAD')}`,
    });
    await row.getByText('Undone').first().waitFor();
    expect(tree(home().ready.workspace)).toEqual(before);
    await takePicture(page, 'trial-undone');
    expect(window.problems).toEqual([]);
  });

  it('[RN-13] fits on a phone, in the dark, and names what would be withheld', async () => {
    model.script([
      [run('mkdir -p .vscode && echo "{}" > .vscode/settings.json && echo x > note.md')],
      [{ text: 'Done.' }],
    ]);
    const window = await home().windowOn({ ...phone, colorScheme: 'dark' });
    const { page } = window;
    await window.say('Set it up');
    const card = window.waiting.first();
    await card.getByRole('button', { name: 'Try it first' }).waitFor();
    await window.look(card);
    await card.getByRole('button', { name: 'Try it first' }).click();
    await card.getByText('Withheld').waitFor();
    expect(await card.textContent()).toContain('.vscode/settings.json');
    await takePicture(page, 'trial-phone');
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });
}
