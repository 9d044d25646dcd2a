import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenAiCompatibleServer, openAiCompatibleServer } from '@countersign/testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { until } from '../../../lab/src/waiting.ts';
import { expectAccessible } from './accessibility.ts';
import { useWebHome } from './fixtures.ts';
import { takePicture } from './pictures.ts';
import { phone } from './web-home.ts';
import type { WebWindow } from './web-window.ts';

/** Taking back what was done and said, and the list of conversations. */
export function takeBackStories(browser: () => Browser): void {
  let model: OpenAiCompatibleServer;
  const home = useWebHome(browser, async () => {
    model = await openAiCompatibleServer();
    return {
      files: { 'a.md': 'alpha\n', 'b.md': 'beta\n' },
      env: { COUNTERSIGN_MODEL: 'openai-compatible:scripted', COUNTERSIGN_MODEL_URL: model.url },
    };
  });
  afterAll(() => model?.close());
  const file = (name: string): string => join(home().ready.workspace, name);
  const content = (name: string): string | null =>
    existsSync(file(name)) ? readFileSync(file(name), 'utf8') : null;
  const holds = (name: string, text: string | null) =>
    until(() => content(name) === text, { otherwise: () => `${name} is ${JSON.stringify(content(name))}` });
  const write = (path: string, text: string) => ({
    call: { name: 'write_file', args: { path, content: text } },
  });

  /** A new conversation in which edits run unasked, and its first message. */
  async function begin(window: WebWindow, text: string): Promise<void> {
    await window.go('chat');
    await window.page.getByText('What should the agent do?').waitFor();
    await window.page.getByRole('combobox', { name: 'Mode' }).selectOption('Accept edits');
    await window.say(text, { anew: false });
  }
  const choose = async (page: Page, text: string, name: string) => {
    const message = page.locator('.message-user').filter({ hasText: text }).last();
    await message.hover();
    await message.getByRole('button', { name: 'Actions for this message' }).click();
    await page.getByRole('menuitem', { name }).click();
  };

  it('[AG-6] shows what a run changed, and undoes it with two clicks; one file alone', async () => {
    writeFileSync(file('a.md'), 'alpha\n');
    writeFileSync(file('b.md'), 'beta\n');
    model.script([
      [write('a.md', 'alpha\none\n'), write('b.md', 'BETA\n'), write('new.md', 'new\n')],
      [write('a.md', 'alpha\none\ntwo\n')],
      [{ text: 'All written.' }],
    ]);
    const window = await home().window();
    const { page } = window;
    await begin(window, 'Change three files');
    const summary = page.locator('.run-summary');
    await summary.getByText('3 files changed').waitFor();
    expect(content('a.md')).toBe('alpha\none\ntwo\n');
    await takePicture(page, 'run-summary');
    await summary.getByRole('button', { name: /^3 files changed/ }).click();
    await summary.getByRole('button', { name: /^a\.md/ }).click();
    // One diff over both calls.
    expect(
      await summary.locator('.diff-added .diff-text, td.diff-text.diff-added').allTextContents(),
    ).toEqual(['one', 'two']);
    await takePicture(page, 'run-summary-open');
    await expectAccessible(page);

    await summary
      .locator('.run-file')
      .filter({ hasText: 'b.md' })
      .getByRole('button', { name: 'Undo' })
      .click();
    await summary.getByRole('button', { name: 'Put it back' }).click();
    await holds('b.md', 'beta\n');
    await summary.getByText('Undone', { exact: true }).waitFor();
    expect(content('new.md')).toBe('new\n');

    await summary.getByRole('button', { name: 'Undo all' }).click(); // first click
    await takePicture(page, 'run-summary-confirm');
    await summary.getByRole('button', { name: /^Put \d files? back/ }).click(); // second click
    await summary.getByText('Undone: the files are as they were before this run.').waitFor();
    expect([content('a.md'), content('b.md'), content('new.md')]).toEqual(['alpha\n', 'beta\n', null]);
    await page.reload();
    await summary.getByText('Undone: the files are as they were before this run.').waitFor();
    expect(window.problems).toEqual([]);
  });

  it('[AG-6] undoes the last run with two keys; [RN-3] a later change is lost only after a second yes', async () => {
    writeFileSync(file('a.md'), 'alpha\n');
    model.script([[write('a.md', 'changed\n')], [{ text: 'Done.' }]]);
    const window = await home().window();
    const { page } = window;
    await begin(window, 'Change it');
    await page.locator('.run-summary').getByRole('button', { name: 'Undo all' }).waitFor();
    writeFileSync(file('a.md'), 'mine\n');
    await window.blur();
    await window.press('u', 'Enter');
    await page.getByRole('alert').waitFor();
    await takePicture(page, 'run-summary-conflict');
    expect(content('a.md')).toBe('mine\n');
    await page.getByRole('button', { name: 'Undo anyway, and lose the later changes' }).click();
    await holds('a.md', 'alpha\n');
  });

  it('[AG-6] rewinds to before a message, with the list of files first', async () => {
    writeFileSync(file('a.md'), 'alpha\n');
    model.script([
      [{ text: 'First answer.' }],
      [write('a.md', 'second\n'), write('made.md', 'made\n')],
      [{ text: 'Second answer.' }],
      [{ text: 'Third answer.' }],
    ]);
    const window = await home().window();
    const { page } = window;
    await begin(window, 'First question');
    await window.transcript.getByText('First answer.').waitFor();
    await window.say('Second question', { anew: false });
    await window.transcript.getByText('Second answer.').waitFor();
    const message = page.locator('.message-user').filter({ hasText: 'Second question' });
    await message.hover();
    await message.getByRole('button', { name: 'Actions for this message' }).click();
    await takePicture(page, 'message-menu');
    await expectAccessible(page);
    await page.getByRole('menuitem', { name: 'Rewind to before this…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('a.md').waitFor();
    await dialog.getByText('made.md').waitFor();
    await takePicture(page, 'rewind-dialog');
    await expectAccessible(page);
    expect(content('a.md')).toBe('second\n');
    await dialog.getByRole('button', { name: 'Rewind and put files back' }).click();
    await holds('a.md', 'alpha\n');
    await holds('made.md', null);
    await window.transcript.getByText(/messages were rewound/).waitFor();
    expect(await window.transcript.getByText('Second answer.').count()).toBe(0);
    await expect.poll(() => window.composer.inputValue()).toBe('Second question');
    await takePicture(page, 'rewound');
    await window.composer.fill('Another question');
    await window.press('Enter');
    await window.transcript.getByText('Third answer.').waitFor();
    const read = JSON.stringify(model.requests.at(-1)?.body.messages);
    expect(read).toContain('First question');
    expect(read).not.toContain('Second question');
    await page.reload();
    await window.transcript.getByText(/messages were rewound/).waitFor();
    await page.getByRole('button', { name: 'Show them' }).click();
    await window.transcript.getByText('Second answer.').waitFor();
  });

  it('[AG-6] retries, edits and resends, and branches', async () => {
    model.script([
      [{ text: 'Bad answer.' }],
      [{ text: 'Better answer.' }],
      [{ text: 'Best answer.' }],
      [{ text: 'Answer in the branch.' }],
    ]);
    const window = await home().window();
    const { page } = window;
    await window.say('Tell me about it');
    await window.transcript.getByText('Bad answer.').waitFor();
    await choose(page, 'Tell me about it', 'Retry');
    await window.transcript.getByText('Better answer.').waitFor();
    expect(await window.transcript.getByText('Bad answer.').count()).toBe(0);
    await choose(page, 'Tell me about it', 'Edit and resend');
    await page.keyboard.type(' briefly');
    await takePicture(page, 'edit-and-resend');
    await window.press('Enter');
    await window.transcript.getByText('Best answer.').waitFor();
    const first = page.url();
    await choose(page, 'Tell me about it briefly', 'Branch from here');
    await expect.poll(() => page.url()).not.toBe(first);
    await expect.poll(() => window.composer.inputValue()).toBe('Tell me about it briefly');
    await window.press('Enter');
    await window.transcript.getByText('Answer in the branch.').waitFor();
  });

  it('[UI-1] conversations are renamed, searched, exported and deleted', async () => {
    model.script([[{ text: 'The word is xylophone.' }]]);
    const window = await home().window();
    const { page } = window;
    await window.say('Say a rare word');
    await window.transcript.getByText('xylophone').waitFor();
    const row = page.locator('.sidebar .session').filter({ hasText: 'Say a rare word' });
    await row.hover();
    await row.getByRole('button', { name: 'More about “Say a rare word”' }).click();
    await takePicture(page, 'session-menu');
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.keyboard.type('Rare words');
    await window.press('Enter');
    const renamed = page.locator('.sidebar .session').filter({ hasText: 'Rare words' });
    await renamed.waitFor();

    await page.locator('.sidebar').getByRole('searchbox').fill('xylophone');
    await expect.poll(() => page.locator('.sidebar .session').count()).toBe(1);
    await takePicture(page, 'session-search');
    const menu = async (name: string) => {
      await renamed.hover();
      await renamed.getByRole('button', { name: 'More about “Rare words”' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    const [saved] = await Promise.all([page.waitForEvent('download'), menu('Export as Markdown')]);
    expect(saved.suggestedFilename()).toBe('Rare-words.md');
    expect(readFileSync(await saved.path(), 'utf8')).toBe(
      '# Rare words\n\n## You\n\nSay a rare word\n\n## Agent (openai-compatible:scripted)\n\nThe word is xylophone.\n',
    );
    await menu('Delete…');
    await takePicture(page, 'session-delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the conversation' }).click();
    await page.locator('.sidebar').getByRole('searchbox').fill('');
    await renamed.waitFor({ state: 'detached' });
    await page.getByText('What should the agent do?').waitFor();
    expect(window.problems).toEqual([]);
  });

  it('[UI-1] the history is searched', async () => {
    const window = await home().window();
    const { page } = window;
    const { client } = await home().person();
    for (const path of ['a.md', 'b.md']) {
      await client.executeTool({ body: { tool_name: 'read_file', tool_params: { path } } });
    }
    await window.go('history');
    await page.getByRole('searchbox', { name: 'Search', exact: true }).fill('read_file b.md');
    await expect.poll(() => page.locator('.history-table tbody tr').count()).toBe(1);
    await takePicture(page, 'history-search');
  });

  it('[UI-1] a phone: the menu of a message, the changes of a run and the question fit the screen', async () => {
    writeFileSync(file('a.md'), 'alpha\n');
    model.script([[write('a.md', 'on the phone\n')], [{ text: 'Done.' }]]);
    const window = await home().windowOn({ ...phone, colorScheme: 'dark' });
    const { page } = window;
    await begin(window, 'Change it from here, please, with a message of two lines');
    await page.locator('.run-summary').getByText('1 file changed').tap();
    await page.locator('.run-file-name').tap();
    await takePicture(page, 'run-summary-phone-dark');
    await page.locator('.message-user').getByRole('button', { name: 'Actions for this message' }).tap();
    await takePicture(page, 'message-menu-phone-dark');
    await page.getByRole('menuitem', { name: 'Rewind to before this…' }).tap();
    await page.getByRole('dialog').getByText('a.md').waitFor();
    await takePicture(page, 'rewind-phone-dark');
    await expectAccessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await page.getByRole('button', { name: 'Cancel' }).tap();
    await page.getByRole('button', { name: 'Conversations' }).tap();
    await takePicture(page, 'sessions-phone-dark');
  });
}
