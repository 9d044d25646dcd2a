import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenAiCompatibleServer, openAiCompatibleServer } from '@countersign/testing';
import type { Browser } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { expectAccessible } from './accessibility.ts';
import { useWebHome } from './fixtures.ts';
import { takePicture } from './pictures.ts';
import { phone } from './web-home.ts';

/** Writing while the agent works, stopping it, and the modes of a conversation. */
export function queueStories(browser: () => Browser): void {
  let model: OpenAiCompatibleServer;
  const home = useWebHome(browser, async () => {
    model = await openAiCompatibleServer();
    return {
      files: { 'a.md': 'alpha\n', 'endless.js': "console.log('begun'); setInterval(() => {}, 1000);\n" },
      env: { COUNTERSIGN_MODEL: 'openai-compatible:scripted', COUNTERSIGN_MODEL_URL: model.url },
    };
  });
  afterAll(() => model?.close());
  const file = (name: string): string => join(home().ready.workspace, name);
  /** What the person said in the latest request to the model. */
  const said = () =>
    model.requests
      .at(-1)
      ?.body.messages.filter(({ role }) => role === 'user')
      .map(({ content }) => JSON.stringify(content));

  it('[AG-5] a message is queued, edited and taken at the next step', async () => {
    const answer = Promise.withResolvers<void>();
    model.script([[{ wait: answer.promise }, { text: 'First answer.' }], [{ text: 'Second answer.' }]]);
    const window = await home().window();
    const { page } = window;
    await page.getByText('What should the agent do?').waitFor();
    await expect.poll(() => window.focused()).toBe('composer');
    await page.keyboard.type('Begin');
    await window.press('Enter');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.keyboard.type('and then tidy up');
    await takePicture(page, 'queue-writing');
    await window.press('Enter');
    const queued = page.getByRole('region', { name: 'Queued messages' });
    await queued.getByText('and then tidy up').waitFor();
    expect(await window.composer.inputValue()).toBe('');
    await page.keyboard.type('a second one');
    await window.press('Enter');
    await queued.getByText('a second one').waitFor();
    await takePicture(page, 'queue-two');
    await expectAccessible(page);

    await queued.getByRole('button', { name: 'Remove' }).last().click();
    await queued.getByText('a second one').waitFor({ state: 'detached' });
    await queued.getByRole('button', { name: 'Edit' }).click();
    await page.keyboard.type(' the tests');
    await takePicture(page, 'queue-edit');
    await window.press('Enter');
    await queued.getByText('and then tidy up the tests').waitFor();
    await page.reload();
    await queued.getByText('and then tidy up the tests').waitFor();

    answer.resolve();
    await window.transcript.getByText('Second answer.').waitFor();
    await window.transcript.getByText('and then tidy up the tests').waitFor();
    expect(await queued.count()).toBe(0);
    expect(said()).toEqual([
      expect.stringContaining('Begin'),
      expect.stringContaining('and then tidy up the tests'),
    ]);
    expect(window.problems).toEqual([]);
  });

  it('[AG-5] Stop keeps the queue and says where it stopped; the queue can be sent afterwards', async () => {
    const run = (id: string) => ({
      call: { name: 'execute_command', args: { command: 'node', args: ['-p', id] }, id },
    });
    model.script([[run('one'), run('two')], [{ text: 'Now this.' }]]);
    const window = await home().window();
    const { page } = window;
    await window.say('Run them');
    await window.waiting.first().waitFor();
    await expect.poll(() => window.composer.getAttribute('placeholder')).toContain('Ctrl+Enter approves');
    await window.composer.fill('do something else');
    await page.getByRole('button', { name: 'Queue', exact: true }).click();
    const queued = page.getByRole('region', { name: 'Queued messages' });
    await queued.getByText('do something else').waitFor();
    await takePicture(page, 'queue-with-card');
    await page.getByRole('button', { name: 'Stop' }).click();
    await window.transcript.locator('.message-system').getByText('You stopped this run.').waitFor();
    const states = window.transcript.locator('.call-facts');
    await expect.poll(() => states.allTextContents()).toEqual(['Not started', 'Not started']);
    expect(await window.transcript.getByText('You stopped this run.').count()).toBe(1);
    await queued.getByText('do something else').waitFor();
    await takePicture(page, 'queue-stopped');
    await page.reload();
    await expect.poll(() => states.allTextContents()).toEqual(['Not started', 'Not started']);
    expect(await window.transcript.getByText('You stopped this run.').count()).toBe(1);
    await queued.getByRole('button', { name: 'Send now' }).click();
    await window.transcript.getByText('Now this.').waitFor();
    expect(await queued.count()).toBe(0);
  });

  it('[EX-8] what a stopped command printed is there afterwards, and after a reload', async () => {
    model.script([
      [{ call: { name: 'execute_command', args: { command: 'node', args: ['endless.js'] }, id: 'endless' } }],
    ]);
    const window = await home().window();
    const { page } = window;
    await window.say('Run it');
    await window.look(window.waiting.first());
    await window.press('y');
    const row = window.call('node endless.js');
    await row.locator('.terminal').getByText('begun').waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    for (const when of ['live', 'after a reload']) {
      await window.transcript.getByText('You stopped this run.').waitFor();
      await row.locator('.call-state').getByText('Cancelled').waitFor();
      expect(await row.locator('.terminal').textContent(), when).toContain('begun');
      if (when === 'live') await page.reload();
      await row.locator('.terminal').getByText('begun').waitFor();
    }
    expect(window.problems).toEqual([]);
  });

  it('[AG-5] "send now" reaches the agent although a card waits', async () => {
    const write = { call: { name: 'write_file', args: { path: 'never.md', content: 'x' } } };
    model.script([[write], [{ text: 'I leave it.' }]]);
    const window = await home().window();
    await window.say('Write it');
    await window.waiting.waitFor();
    await window.composer.fill('no, leave it');
    await window.page.getByRole('button', { name: 'Send now', exact: true }).click();
    await window.transcript.getByText('I leave it.').waitFor();
    expect(await window.waiting.count()).toBe(0);
    expect(existsSync(file('never.md'))).toBe(false);
    expect(said()).toContainEqual(expect.stringContaining('no, leave it'));
  });

  it('[AP-11] accept edits: said, seen, recorded, and it ends with the conversation', async () => {
    const write = (path: string) => ({ call: { name: 'write_file', args: { path, content: 'new\n' } } });
    model.script([[write('edited.md')], [{ text: 'Written.' }], [write('edited.md')]]);
    const window = await home().window();
    const { page } = window;
    await page.getByText('What should the agent do?').waitFor();
    await expect.poll(() => window.focused()).toBe('composer');
    const mode = page.getByRole('combobox', { name: 'Mode' });
    await window.press('Shift+Tab', 'Shift+Tab');
    await window.press('Tab'); // the mode is next to the field for the keyboard
    await mode.selectOption('Accept edits');
    await page.getByText('In this conversation file tools change files of the project').waitFor();
    await takePicture(page, 'mode-accept-edits');
    await expectAccessible(page);
    await window.say('Write it', { anew: false });
    await window.transcript.getByText('Written.').waitFor();
    expect(readFileSync(file('edited.md'), 'utf8')).toBe('new\n');
    expect(await mode.inputValue()).toBe('accept_edits');
    expect(await page.locator('.mode-meaning').textContent()).toBe(''); // it went with the message
    await page.reload();
    await expect.poll(() => mode.inputValue()).toBe('accept_edits');
    await window.go('permissions');
    await takePicture(page, 'mode-in-permissions');

    await window.go('chat');
    await expect.poll(() => mode.inputValue()).toBe('ask');
    await window.say('Write it again', { anew: false });
    await window.waiting.waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
  });

  it('[AP-11] Alt+M goes round by keyboard; read only blocks what changes something', async () => {
    writeFileSync(file('kept.md'), 'as it was\n');
    const write = { call: { name: 'write_file', args: { path: 'kept.md', content: 'changed\n' } } };
    model.script([[{ text: 'Ready.' }], [write], [{ text: 'It is read only.' }]]);
    const window = await home().window();
    const { page } = window;
    await window.say('Hello');
    await window.transcript.getByText('Ready.').waitFor();
    const mode = page.getByRole('combobox', { name: 'Mode' });
    await window.press('Alt+m', 'Alt+m');
    expect(await mode.inputValue()).toBe('read_only');
    await page.getByText('In this conversation the agent only reads').waitFor();
    await takePicture(page, 'mode-read-only');
    await window.say('Change it', { anew: false });
    await window.transcript.getByText('It is read only.').waitFor();
    expect(readFileSync(file('kept.md'), 'utf8')).toBe('as it was\n');
  });

  it('[UI-1] a phone: the field does not take the focus, and queue and mode fit the screen', async () => {
    const answer = Promise.withResolvers<void>();
    model.script([[{ wait: answer.promise }, { text: 'Done.' }], [{ text: 'Done again.' }]]);
    const window = await home().windowOn({ ...phone, colorScheme: 'dark' });
    const { page } = window;
    await page.getByText('What should the agent do?').waitFor();
    expect(await window.focused()).not.toBe('composer');
    await window.say('Begin on the phone', { anew: false });
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await window.composer.fill('and something that takes more than one line on a phone of this size');
    await page.getByRole('button', { name: 'Queue', exact: true }).tap();
    await page.getByRole('region', { name: 'Queued messages' }).waitFor();
    await page.getByRole('combobox', { name: 'Mode' }).selectOption('Accept edits');
    await window.composer.fill('more');
    await takePicture(page, 'queue-phone-dark');
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(390);
    await expectAccessible(page);
    answer.resolve();
    await window.transcript.getByText('Done again.').waitFor();
  });

  it('[UI-1] Chat in the navigation opens the conversation that waits, else the latest; arrow-up recalls; a draft is kept', async () => {
    const write = { call: { name: 'write_file', args: { path: 'w.md', content: 'x' } } };
    model.script([[write], [{ text: 'Left.' }], [{ text: 'Newer.' }]]);
    const window = await home().window();
    const { page } = window;
    await window.say('One that waits');
    await window.waiting.waitFor();
    const waiting = page.url();
    await window.go('chat');
    const person = await home().person();
    const chat = page.getByRole('navigation').getByRole('link', { name: 'Chat' });
    await window.go('metrics');
    await chat.click();
    await expect.poll(() => page.url()).toBe(waiting);
    const [pending] = (await person.client.listApprovals()).approvals;
    const { approval_id, project_id } = pending as { approval_id: string; project_id: string };
    await person.client.reject({ params: { approval_id, project_id }, body: {} });
    await window.transcript.getByText('Left.').waitFor();
    await window.say('The latest');
    await window.transcript.getByText('Newer.').waitFor();
    const latest = page.url();
    await window.go('metrics');
    await chat.click();
    await expect.poll(() => page.url()).toBe(latest);
    await window.transcript.getByText('Newer.').waitFor();
    await expect.poll(() => window.focused()).toBe('composer');
    await window.press('ArrowUp');
    expect(await window.composer.inputValue()).toBe('The latest');
    await page.keyboard.type(', not sent yet');
    await window.go('metrics');
    await chat.click();
    await expect.poll(() => window.composer.inputValue()).toBe('The latest, not sent yet');
    await page.reload();
    await expect.poll(() => window.composer.inputValue()).toBe('The latest, not sent yet');
  });
}
