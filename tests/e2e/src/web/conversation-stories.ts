import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenAiCompatibleServer, openAiCompatibleServer } from '@countersign/testing';
import type { Browser } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { expectAccessible } from './accessibility.ts';
import { useWebHome } from './fixtures.ts';
import { takePicture } from './pictures.ts';
import { attentionMs, type WebWindow } from './web-window.ts';

/** A test that fails, with colours and more lines than are shown at first. */
const failingTest = `
for (let i = 0; i < 30; i += 1) console.log('  \\u001b[32m✓\\u001b[0m case ' + i);
console.log('  \\u001b[31m✗ adds numbers\\u001b[0m');
console.log('    AssertionError: expected 3, got 4');
process.exit(1);
`;

const printing = "for (let i = 1; i <= 3; i += 1) console.log('line ' + i);\n";

const call = (id: string, name: string, args: object) => ({ call: { name, args, id } });
const write = (path: string) => call(path, 'write_file', { path, content: `${path}\n` });

/** How a conversation is displayed, and how many keys a decision needs. */
export function conversationStories(browser: () => Browser): void {
  let model: OpenAiCompatibleServer;
  const home = useWebHome(browser, async () => {
    model = await openAiCompatibleServer();
    return {
      files: { 'test.js': failingTest, 'print.js': printing, 'app.ts': 'export const port = 8000;\n' },
      env: { COUNTERSIGN_MODEL: 'openai-compatible:scripted', COUNTERSIGN_MODEL_URL: model.url },
    };
  });
  afterAll(() => model?.close());
  const isWritten = (path: string) => () => existsSync(join(home().ready.workspace, path));

  it('[UI-6] keys: one approves a card, from the message field and from outside of it', async () => {
    model.script([[write('one.md')], [write('two.md')], [{ text: 'Both are written.' }]]);
    const window = await home().window();
    await window.say('Write two files');
    const keys = countKeys(window);
    await seenFor(window, 1);
    expect(await window.focused()).toBe('composer');
    await keys.press('Control+Enter');
    await expect.poll(isWritten('one.md')).toBe(true);
    expect(keys.count()).toBe(1);

    await window.waiting.filter({ hasText: 'two.md' }).waitFor();
    await seenFor(window, 1);
    await window.blur();
    await keys.press('y');
    await expect.poll(isWritten('two.md')).toBe(true);
    expect(keys.count()).toBe(2);
    await window.transcript.getByText('Both are written.').waitFor();
    expect(window.problems).toEqual([]);
  });

  it('[UI-6] keys: five calls of one step are approved with six, one by one', async () => {
    const paths = [1, 2, 3, 4, 5].map((n) => `single-${n}.md`);
    model.script([paths.map(write), [{ text: 'Five are written.' }]]);
    const window = await home().window();
    await window.say('Write five files');
    await seenFor(window, 5);
    const keys = countKeys(window);
    await keys.press('Escape'); // to the first card
    for (const [index, path] of paths.entries()) {
      await expect.poll(() => window.waiting.count()).toBe(paths.length - index);
      await window.wait(attentionMs);
      await keys.press('y');
      await expect.poll(isWritten(path)).toBe(true);
    }
    expect(keys.count()).toBe(6);
    await window.transcript.getByText('Five are written.').waitFor();
  });

  it('[UI-6] keys: five calls of one step are approved by one key once each was in sight; HIGH keeps its own step', async () => {
    const paths = [1, 2, 3, 4, 5].map((n) => `group-${n}.md`);
    model.script([[...paths, 'Makefile'].map(write), [{ text: 'Done.' }]]);
    const window = await home().window();
    const { page } = window;
    await window.say('Write five files and a Makefile');
    await seenFor(window, 6);
    const all = page.getByRole('button', { name: /^Approve all 5 shown/ });
    await all.waitFor();
    await page.getByText('1 other is decided on its own card.').waitFor();
    const keys = countKeys(window);
    await keys.press('Escape'); // to the first card
    await keys.press('Shift+Y'); // before each was in sight, nothing happens
    expect(await window.waiting.count()).toBe(6);
    for (let cards = 0; cards < 5; cards += 1) {
      await window.press('j'); // a person could also scroll
      await window.wait(attentionMs);
    }
    await expect.poll(() => all.isEnabled()).toBe(true);
    await takePicture(page, 'step-group');
    await expectAccessible(page);
    await window.wait(attentionMs);
    await keys.press('Shift+Y');
    for (const path of paths) await expect.poll(isWritten(path)).toBe(true);
    expect(keys.count()).toBe(3);
    await expect.poll(() => window.waiting.count()).toBe(1);
    expect(isWritten('Makefile')()).toBe(false);
    await window.look(window.waiting.filter({ hasText: 'High risk' }));
    await window.press('n', 'Enter');
    await window.transcript.getByText('Done.').waitFor();
    expect(window.problems).toEqual([]);
  });

  it('keys: a rejection with a message is one key, the message and Ctrl+Enter; it is there after a reload', async () => {
    model.script([[write('unwanted.md')], [{ text: 'Then not.' }]]);
    const window = await home().window();
    await window.say('Write it');
    await seenFor(window, 1);
    await window.blur();
    const keys = countKeys(window);
    await keys.press('n');
    await window.page.keyboard.type('Put it into notes.md');
    await keys.press('Control+Enter');
    await window.transcript.getByText('Then not.').waitFor();
    expect(keys.count()).toBe(2);
    const row = window.call('Write unwanted.md');
    await row.getByText('You rejected this').waitFor();
    await row.getByText('Put it into notes.md').waitFor();
    await window.page.reload();
    await row.getByText('You rejected this').waitFor();
    expect(isWritten('unwanted.md')()).toBe(false);
  });

  it('keys: the output of a failed test is read without any, live, afterwards and after a reload', async () => {
    model.script([
      [call('test', 'execute_command', { command: 'node', args: ['test.js'] })],
      [{ text: 'One test fails.' }],
    ]);
    const window = await home().window();
    const { page } = window;
    await window.say('Run the tests');
    await seenFor(window, 1);
    await window.blur();
    await window.press('y');
    const row = window.call('Ran node test.js');
    const output = row.locator('.terminal');
    for (const when of ['afterwards', 'after a reload']) {
      await window.transcript.getByText('One test fails.').waitFor();
      await output.getByText('AssertionError: expected 3, got 4').waitFor();
      expect(await output.locator('.ansi-red').first().textContent(), when).toContain('✗ adds numbers');
      await row.getByText('exit 1', { exact: true }).waitFor();
      await row.getByText('You approved this').waitFor();
      await takePicture(page, `failed-test-${when.replaceAll(' ', '-')}`);
      if (when === 'afterwards') await page.reload();
    }
    expect(await output.textContent()).not.toContain('case 0');
    await output.getByRole('button', { name: 'Show all 32 lines' }).click();
    await output.getByText('case 0').waitFor();
    await expectAccessible(page);
    expect(window.asked.filter((url) => /\/my\/tools\/[0-9a-f-]{36}$/.test(url))).toEqual([]); // no further request
    expect(window.problems).toEqual([]);
  });

  it('every row reads the same after a reload: what it printed, who allowed it, and how far that goes', async () => {
    model.script([
      [call('first', 'write_file', { path: 'notes/first.md', content: 'x\n' })],
      [call('second', 'write_file', { path: 'notes/second.md', content: 'x\n' })],
      [call('print', 'execute_command', { command: 'node', args: ['print.js'] })],
      [{ text: 'All is written.' }],
    ]);
    const window = await home().window();
    const { page } = window;
    await window.say('Write notes');
    await seenFor(window, 1);
    await window.blur();
    await window.press('a');
    await page.getByRole('radio', { name: /^Changes under notes\// }).check();
    await window.wait(attentionMs);
    await page.getByRole('button', { name: 'Approve and remember' }).click();
    await window.waiting.filter({ hasText: 'print.js' }).waitFor();
    await seenFor(window, 1);
    await window.blur();
    await window.press('y');
    const rows: string[][] = [];
    for (const when of ['live', 'after a reload']) {
      await window.transcript.getByText('All is written.').waitFor();
      await window.call('Ran node print.js').locator('.terminal').getByText('line 3').waitFor();
      rows.push(await page.locator('.call').allTextContents());
      if (when === 'live') await page.reload();
    }
    expect(rows[1]).toEqual(rows[0]);
    expect(rows[0]).toEqual([
      expect.stringContaining('You approved this and what is like it, in this conversation'),
      expect.stringContaining('Allowed in this conversation'),
      expect.stringContaining('You approved this'),
    ]);
    expect(window.problems).toEqual([]);
  });

  it('an edit unfolds to its diff in the colours of its language', async () => {
    const edit = { path: 'app.ts', old: '8000', new: '8080' };
    model.script([[call('edit', 'edit_file', edit)], [{ text: 'The port is 8080.' }]]);
    const window = await home().window();
    await window.say('Change the port');
    await seenFor(window, 1);
    await window.blur();
    await window.press('y');
    await window.transcript.getByText('The port is 8080.').waitFor();
    expect(readFileSync(join(home().ready.workspace, 'app.ts'), 'utf8')).toContain('8080');
    await window.page.reload();
    await window.toggle('Edited app.ts').click();
    const diff = window.call('Edited app.ts').locator('.file-diff');
    await diff.locator('.hljs-keyword').getByText('export').first().waitFor();
    expect(await diff.locator('.diff-changed').allTextContents()).toEqual(['0', '8']);
    await takePicture(window.page, 'row-unfolded');
    await expectAccessible(window.page);
  });
}

/** Waits until this many cards are complete, and the first of them was in sight long enough. */
async function seenFor(window: WebWindow, cards: number): Promise<void> {
  await expect.poll(() => window.waiting.locator('.what').count()).toBe(cards);
  await window.waiting.locator('.waiting-line').first().waitFor({ state: 'detached' });
  await window.wait(attentionMs);
}

/** Presses keys and counts them. */
function countKeys(window: WebWindow) {
  let count = 0;
  return {
    count: () => count,
    press: async (key: string) => {
      count += 1;
      await window.press(key);
    },
  };
}
