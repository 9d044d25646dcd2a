import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { until } from '../../../lab/src/waiting.ts';
import { takePicture } from './pictures.ts';
import { recordDecisions } from './record-decisions.ts';
import type { WebHome } from './web-home.ts';
import { attentionMs } from './web-window.ts';

/** Everything that a person can do about one request, by keyboard, and its results. */
export function decisionStories(home: () => WebHome): void {
  const file = (name: string): string => join(home().ready.workspace, name);
  const written = (name: string, text: string) =>
    until(() => existsSync(file(name)) && readFileSync(file(name), 'utf8') === text, {
      otherwise: () => `${name} is not "${text}"`,
    });

  it('[RK-1] asks for a second, deliberate step before a HIGH call', async () => {
    writeFileSync(file('old.md'), 'to be deleted\n');
    const window = await home().windowOn({}); // its own browser context, because stopTime affects all windows of one
    await window.page.getByText('What should the agent do?').waitFor();
    await window.stopTime();
    await window.say('/delete_file path=old.md');
    const card = window.waiting;
    await window.look(card);
    await window.press('y');
    await card.getByText('This is a high-risk call. Look at it once more.').waitFor();
    await takePicture(window.page, 'card-high-confirm');
    await window.press('y'); // too quick: a key right after the first one is discarded
    await card.getByText(/^Too quick/).waitFor();
    await window.press('Escape');
    await card.getByRole('button', { name: 'Approve y' }).waitFor();
    expect(existsSync(file('old.md'))).toBe(true);

    await window.look(card);
    await window.press('y');
    await card.getByRole('button', { name: /^Yes, approve this high-risk call/ }).waitFor();
    await window.look(card);
    await window.press('y');
    await until(() => !existsSync(file('old.md')), { otherwise: () => 'It is still there' });
    await window.call('You approved this').waitFor();
    expect(window.problems).toEqual([]);
  });

  it('[AP-5] rejects with a message that reaches the agent, and stays in the transcript', async () => {
    mkdirSync(file('drafts'), { recursive: true });
    const window = await home().window();
    await window.say('/write_file path=drafts/plan.md content=hasty');
    await window.look(window.waiting);
    await window.press('n');
    await window.page.keyboard.type('Ask me again tomorrow <b>please</b>');
    await takePicture(window.page, 'card-reject');
    await window.press('Control+Enter');
    await window.call('You rejected this').getByText('Ask me again tomorrow <b>please</b>').waitFor();
    // The text that the agent received.
    const answer = window.page.locator('.message-assistant .plain-text').last();
    await answer.getByText(/Ask me again tomorrow <b>please<\/b>/).waitFor();
    expect(existsSync(file('drafts/plan.md'))).toBe(false);
  });

  it('[AP-6] edits the parameters before approving; the history keeps both', async () => {
    const window = await home().window();
    const { page } = window;
    await window.say('/write_file path=edited.md content="as the agent wanted"');
    await window.look(window.waiting);
    await window.press('e');
    await page.getByRole('textbox', { name: 'content' }).fill('as the person wants');
    await takePicture(page, 'card-edit');
    await window.wait(attentionMs);
    await page.getByRole('button', { name: 'Approve with these parameters' }).click();
    await written('edited.md', 'as the person wants');
    const call = page.locator('.call').filter({ hasText: 'edited.md' });
    await call.getByText(/^Done/).waitFor();
    await call.locator('button.call-toggle').click();
    await call.getByRole('link', { name: 'Open in the history' }).click();
    await page.getByText('You edited the parameters.').waitFor();
    expect(await page.locator('#content').textContent()).toMatch(/as the person wants.*as the agent wanted/s);
    await takePicture(page, 'history-call');
  });

  it('[RN-3] undoes a change from the history; overwrites later changes only after a confirmation', async () => {
    const window = await home().window();
    const { page } = window;
    await window.say('/write_file path=undone.md content=new');
    await window.look(window.waiting);
    await window.press('y');
    await written('undone.md', 'new');
    const call = page.locator('.call').filter({ hasText: 'undone.md' });
    await call.getByText(/^Done/).waitFor();
    await call.locator('button.call-toggle').click();
    await call.getByRole('link', { name: 'Open in the history' }).click();
    writeFileSync(file('undone.md'), 'mine');
    await page.getByRole('button', { name: 'Undo this change' }).click();
    await page.getByRole('alert').waitFor();
    await takePicture(page, 'history-undo-refused');
    expect(readFileSync(file('undone.md'), 'utf8')).toBe('mine');
    await page.getByRole('button', { name: 'Undo anyway, and lose the later changes' }).click();
    await page.getByText('Undone: the files are as they were before.').waitFor();
    expect(existsSync(file('undone.md'))).toBe(false);
  });

  it('[AP-4] approves a class of calls; the grant is listed, counted and revoked', async () => {
    mkdirSync(file('notes'), { recursive: true });
    const window = await home().window();
    const { page } = window;
    await window.say('/write_file path=notes/one.md content=1');
    await window.look(window.waiting);
    await window.press('a');
    const scopes = page.getByRole('form', { name: 'Approve more than this one' });
    await scopes.getByRole('radio', { name: /^Changes under notes\// }).check();
    await takePicture(page, 'card-scopes');
    await window.wait(attentionMs);
    await page.getByRole('button', { name: 'Approve and remember' }).click();
    await written('notes/one.md', '1');

    await window.say('/write_file path=notes/two.md content=2', { anew: false });
    await written('notes/two.md', '2'); // without approval
    const session = await page.evaluate(() => location.hash);

    await window.go('permissions');
    const grant = page.locator('.row').filter({ hasText: 'Changes to files' }).filter({ hasText: 'notes' });
    await grant.getByText('1 use', { exact: true }).waitFor(); // the second call; the first one was approved by hand
    await takePicture(page, 'permissions');
    await grant.getByRole('button', { name: /^Revoke/ }).click();
    await grant.getByText('Revoked', { exact: true }).waitFor();

    await window.go(session.slice(2));
    await window.say('/write_file path=notes/three.md content=3', { anew: false });
    await window.waiting.waitFor();
    expect(existsSync(file('notes/three.md'))).toBe(false);
    await window.look(window.waiting);
    await window.press('n');
    await window.press('Enter');
    await window.call('notes/three.md').getByText('You rejected this').waitFor();
  });

  it('[AP-4] approves the whole conversation with a warning, and HIGH only if chosen', async () => {
    const window = await home().window();
    const { page } = window;
    await window.say('/write_file path=s1.md content=1');
    await window.look(window.waiting);
    await window.press('a');
    await page.getByRole('radio', { name: /Whole conversation/ }).check();
    await page.getByText(/without asking you again\. High-risk calls still ask\./).waitFor();
    expect(await page.getByRole('checkbox', { name: /High-risk calls too/ }).isChecked()).toBe(false);
    await takePicture(page, 'card-session-scope');
    await window.wait(attentionMs);
    await page.getByRole('button', { name: 'Approve and remember' }).click();
    await written('s1.md', '1');

    await window.say('/run node --version\n/delete_file path=s1.md', { anew: false });
    const command = page.locator('.call').filter({ hasText: 'node --version' });
    await command.getByText(/^Done/).waitFor();
    await window.waiting.filter({ hasText: 'High risk' }).waitFor(); // HIGH still needs approval
    expect(existsSync(file('s1.md'))).toBe(true);
    await page.getByRole('button', { name: 'Stop' }).click();
    await window.call('Delete s1.md').getByText('Not started').waitFor();
  });

  it('[RK-5] shows the backtest before it saves "always"', async () => {
    const window = await home().window();
    const { page } = window;
    // One was rejected above, another is approved now: the history has both.
    await window.say('/write_file path=drafts/a.md content=a');
    await window.look(window.waiting);
    await window.press('y');
    await written('drafts/a.md', 'a');
    await window.say('/write_file path=drafts/b.md content=b', { anew: false });
    await window.look(window.waiting);
    await window.press('a');
    await page.getByRole('radio', { name: /^Always: changes under drafts\// }).check();
    const sentence = page.getByText(
      /^This rule would have decided \d+ earlier calls, \d+ of which you rejected\.$/,
    );
    await sentence.waitFor();
    const [decided = 0, rejected = 0] = ((await sentence.textContent())?.match(/\d+/g) ?? []).map(Number);
    expect([decided >= 2, rejected >= 1]).toEqual([true, true]);
    await takePicture(page, 'card-always-scope');
    await window.wait(attentionMs);
    await page.getByRole('button', { name: 'Approve and save the rule' }).click();
    await written('drafts/b.md', 'b');

    await window.say('/write_file path=drafts/c.md content=c'); // in another conversation
    await written('drafts/c.md', 'c');
    expect(await window.waiting.count()).toBe(0);
    await window.go('permissions');
    await page
      .locator('.row')
      .filter({ hasText: 'Allow' })
      .filter({ hasText: 'write_file' })
      .first()
      .waitFor();
  });

  it('[UI-6] a key or click decides only a card that was in sight and unmoved for half a second; type-ahead is discarded', async () => {
    const window = await home().windowOn({}); // its own browser context, because stopTime affects all windows of one
    const { page } = window;
    const decided = await recordDecisions(page);
    await page.getByText('What should the agent do?').waitFor();
    await window.stopTime();
    await window.say('/write_file path=slow.md content=slow');
    const card = window.waiting;
    const approve = card.getByRole('button', { name: 'Approve y' });
    await card.locator('.file-diff').waitFor();
    await window.wait(100); // the page looks where the card is

    await window.blur();
    await window.press('y', 'y', 'Enter', 'Space'); // typed ahead
    await card.getByText(/^Too quick/).waitFor();
    await window.press('j', 'y', 'y'); // in focus, but not in sight for long enough
    expect(await window.focused()).toBe('waiting card');
    await window.wait(300);
    await window.press('y');
    await approve.focus(); // a button, by keyboard
    await window.press('Enter', 'Space');
    await window.blur();
    await approve.click(); // and by mouse
    expect(await decided()).toEqual([]);

    await window.wait(attentionMs);
    await card.evaluate((element) => {
      element.style.marginBlockStart = '2rem'; // as if something above it grew
    });
    await window.press('y');
    await approve.click();
    expect(await decided()).toEqual([]);

    await window.wait(attentionMs);
    await window.blur();
    await window.press('y'); // it was read: no focus is needed
    expect(await decided()).toEqual([expect.stringMatching(/\/approve$/)]);
    await page.clock.resume();
    await written('slow.md', 'slow');
    await window.call('You approved this').waitFor();
  });

  it('[UI-6] a new card takes the focus neither from a text field nor from another card', async () => {
    const window = await home().window();
    const { page } = window;
    const person = await home().person();
    await window.go('approvals');
    await page.getByText('Nothing waits for you').waitFor();
    const ask = (path: string) =>
      person.client.executeTool({
        body: { tool_name: 'write_file', tool_params: { path, content: 'x', mode: 'write' } },
      });
    await ask('first.md');
    await window.look(window.card('first.md'));
    await ask('second.md');
    await window.card('second.md').locator('.file-diff').waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent?.includes('first.md'))).toBe(true);
    await takePicture(page, 'approvals');
    await window.press('n'); // now the message field has the focus
    await page.keyboard.type('because');
    await ask('third.md');
    await window.card('third.md').locator('.file-diff').waitFor();
    await page.keyboard.type(' yes'); // a y in a text field is typed
    expect(await page.getByRole('textbox', { name: /^Tell the agent/ }).inputValue()).toBe('because yes');
    await window.press('Control+Enter');
    await window.call('first.md').getByText('You rejected this').waitFor();
    await expect.poll(() => window.focused()).toBe('waiting card'); // the focus has moved to the next card

    await window.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await takePicture(page, 'shortcuts');
    await window.press('y', 'Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    for (const name of ['second.md', 'third.md']) {
      await window.look(window.card(name));
      await window.press('n', 'Enter');
      await window.call(name).getByText('You rejected this').waitFor();
    }
    expect(window.problems).toEqual([]);
  });
}
