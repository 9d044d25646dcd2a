import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';
import { soon } from './editor-window.ts';

/** Decisions with the editor's own means. */
export function approvalStories(home: () => EditorHome): void {
  it('[UI-2] a message in the chat, the edit approved in the diff: file and open buffer change, and undo works', async () => {
    const { window } = home();
    await window.openFile('config.json');
    await window.say('/edit_file path=config.json old="http://old.example" new="http://new.example"');
    await window.chat.locator('.transcript [data-approval]').waitFor();
    await window.review('config.json');
    await window.picture('approval');
    await expect.poll(() => window.state(), soon).toContain('1 approval waits for you');
    await window.approve('config.json');

    await expect.poll(() => home().read('config.json'), soon).toBe('{\n  "api": "http://new.example"\n}\n');
    await window.tab(/proposed change/).waitFor({ state: 'detached' });
    await window.tab('config.json').click();
    await expect.poll(() => window.text(), soon).toContain('http://new.example');
    await window.chat.getByText('You approved this').first().waitFor();
    await window.picture('approved');
    await window.page.keyboard.press('Control+z');
    await expect.poll(() => window.text(), soon).toContain('http://old.example');
    await window.page.keyboard.press('Control+Shift+z');
    await window.command('File: Save');
    await window.closeEditors();
  });

  it('[UI-2] decided on the card of the chat, which is the row of the call', async () => {
    const { window } = home();
    await window.say('/write_file path=card.md content="by the card"');
    const card = window.card('card.md');
    await window.picture('card');
    await window.pressOnCard(card, 'Approve');
    await window.chat.getByText('You approved this').first().waitFor();
    await expect.poll(() => home().has('card.md'), soon).toBe(true);
  });

  it('[UI-2] a call in the transcript is run again by EXECUTE_TOOL, and asks again (founding documents: implementation-plan)', async () => {
    const { window } = home();
    await window.say('/write_file path=again.md content="once more"');
    await window.pressOnCard(window.card('again.md'), 'Approve');
    await expect.poll(() => home().has('again.md'), soon).toBe(true);
    home().remove('again.md');
    const done = window.chat.locator('.call-completed').filter({ hasText: 'again.md' });
    await done.locator('button.call-toggle').click();
    await done.getByRole('button', { name: 'Run again' }).click();
    const card = window.card('again.md');
    await card.waitFor();
    await window.picture('run-again');
    expect(home().has('again.md')).toBe(false);
    await window.pressOnCard(card, 'Approve');
    await expect.poll(() => home().has('again.md'), soon).toBe(true);
  });

  it("[RN-2] a risk level in this machine's ceiling file is decided in the runner's own dialog, not on the card", async () => {
    const { window } = home();
    home().write('ceiling.md', 'drawn by the runner\n');
    const takeBack = home().decideHere('HIGH');
    try {
      await window.say('/delete_file path=ceiling.md');
      const card = window.card('ceiling.md');
      await window.pressOnCard(card, 'Approve');
      await window.pressOnCard(card, 'Yes, approve this high-risk call');
      await window.dialog.filter({ hasText: 'drawn by the runner' }).waitFor();
      await card.getByText('Not approved yet').waitFor();
      await window.picture('ceiling');
      expect(home().has('ceiling.md')).toBe(true);
      await window.answer('Approve');
      await window.dialog.filter({ hasText: 'HIGH RISK' }).waitFor();
      await window.answer('Approve, it is deliberate');
      await expect.poll(() => home().has('ceiling.md'), soon).toBe(false);
    } finally {
      takeBack();
    }
  });

  it('[AP-6] the proposed side is edited before it is approved, and that is what runs', async () => {
    const { window } = home();
    const toolId = await home().call('edit_file', { path: 'notes.md', old: 'two', new: 'zwei' });
    await window.review('notes.md');
    await window.page.locator('.editor-instance .modified .view-lines').getByText('zwei').click();
    await window.page.keyboard.press('End');
    await window.page.keyboard.type(' or deux');
    await window.picture('edited-proposal');
    await window.approve('notes.md');
    const { execution } = await home().ended(toolId);
    expect([execution.status, home().read('notes.md')]).toEqual([
      'completed',
      '# Notes\n\none\nzwei or deux\nthree\n',
    ]);
    await window.tab(/./).waitFor({ state: 'detached' });
  });

  it('[AP-6] the card keeps the edits made in the diff', async () => {
    const { window } = home();
    await window.say('/write_file path=both.md content=agent');
    const card = window.card('both.md');
    await card.waitFor();
    await window.review('both.md');
    await window.page.locator('.modified-in-monaco-diff-editor .view-line').first().click();
    await window.page.keyboard.press('Control+End');
    await window.page.keyboard.type(' and person');
    const approve = card.getByRole('button', { name: 'Approve', exact: true });
    const refused = card.getByText('you have edited this change in the diff');
    // The first click may come before the half second is over.
    await expect
      .poll(async () => {
        await approve.click({ timeout: 2_000 }).catch(() => {});
        return refused.isVisible();
      }, soon)
      .toBe(true);
    expect(home().has('both.md')).toBe(false);
    await window.review('both.md');
    await window.approve('both.md');
    await expect.poll(() => home().has('both.md') && home().read('both.md'), soon).toBe('agent and person');
  });

  it('[RK-5] before "always" is saved, the backtest of the rule is shown', async () => {
    const { window } = home();
    const rules = async () => (await home().person.client.getPolicy()).policy.rules;
    const before = await rules();
    await window.say('/write_file path=always.md content=1');
    await window.review('always.md');
    await window.titleButton('Approve More Than This…').click();
    await window.choose(/^Always: /);
    await window.dialog.filter({ hasText: 'On your history this rule would have decided' }).waitFor();
    await window.answer('Cancel');
    expect([await rules(), home().has('always.md')]).toEqual([before, false]);
    await window.titleButton('Approve More Than This…').click();
    await window.choose(/^Always: /);
    await window.answer('Approve and Save the Rule');
    await expect.poll(() => home().has('always.md'), soon).toBe(true);
    const { policy } = await home().person.client.getPolicy();
    expect(policy.rules).toHaveLength(before.length + 1);
    await home().person.client.putPolicy({ body: { ...policy, rules: before } });
  });

  it('[AP-5] a rejection message reaches the agent', async () => {
    const { window } = home();
    const toolId = await home().call('write_file', { path: 'unwanted.md', content: 'x' });
    await window.review('unwanted.md');
    await window.titleButton('Reject…').click();
    await window.type('Use notes.md instead');
    const { execution, decision } = await home().ended(toolId);
    expect([execution.status, decision]).toMatchObject(['rejected', { message: 'Use notes.md instead' }]);
    await window.tab(/proposed change/).waitFor({ state: 'detached' });
    expect(home().has('unwanted.md')).toBe(false);
  });

  it('[RK-1] HIGH is a modal dialog with a second, deliberate step', async () => {
    const { window } = home();
    home().write('old.md', 'to be deleted\n');
    const toolId = await home().call('delete_file', { path: 'old.md' });
    await window.row('Pending Approvals', 'old.md').click();
    await window.dialog.filter({ hasText: 'to be deleted' }).waitFor();
    await window.picture('high');
    await window.answer('Approve');
    expect(home().has('old.md')).toBe(true);
    await window.dialog.filter({ hasText: 'HIGH RISK' }).waitFor();
    await window.answer('Approve, it is deliberate');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    expect(home().has('old.md')).toBe(false);
  });

  it('[UI-6] in a HIGH dialog the safe answer has the focus: Enter, a pause and Enter do not approve', async () => {
    const { window } = home();
    home().write('kept.md', 'not to be deleted\n');
    const toolId = await home().call('delete_file', { path: 'kept.md' });
    const status = async () =>
      (await home().person.client.getExecution({ params: { tool_id: toolId } })).execution.status;
    // In the second step, Enter goes back to the first one, which asks again.
    await window.row('Pending Approvals', 'kept.md').click();
    await window.answer('Approve');
    await window.dialog.filter({ hasText: 'HIGH RISK ·' }).waitFor();
    await window.picture('high-second-step');
    expect(await window.focusedButton()).toBe('Look Again');
    await window.pressEnterInDialog();
    await window.dialog.filter({ hasNotText: 'HIGH RISK ·' }).waitFor();
    expect(await status()).toBe('awaiting_approval');
    // In the first step, Enter starts to reject, and the next Enter rejects.
    expect(await window.focusedButton()).toBe('Reject…');
    await window.pressEnterInDialog();
    await window.input.waitFor();
    expect(await status()).toBe('awaiting_approval');
    await window.page.keyboard.press('Enter');
    expect((await home().ended(toolId)).execution.status).toBe('rejected');
    expect(home().has('kept.md')).toBe(true);
  });

  it('[UI-6] a HIGH change approved in its diff: the safe answer has the focus there too', async () => {
    const { window } = home();
    const toolId = await home().call('write_file', { path: 'Makefile', content: 'all:\n\ttrue\n' });
    await window.review('Makefile');
    await window.titleButton('Approve').click();
    await window.dialog.filter({ hasText: 'HIGH RISK ·' }).waitFor();
    expect(await window.focusedButton()).toBe('Look Again');
    await window.pressEnterInDialog();
    await window.dialog.waitFor({ state: 'detached' });
    expect(home().has('Makefile')).toBe(false);
    await window.titleButton('Approve').click();
    await window.answer('Approve, it is deliberate');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    expect(home().has('Makefile')).toBe(true);
    await window.tab(/proposed change/).waitFor({ state: 'detached' });
  });

  it('[AP-7] a text too long for a dialog must be shown completely before it can be approved', async () => {
    const { window } = home();
    const lines = Array.from({ length: 60 }, (_, index) => `echo line-${index}`);
    const toolId = await home().call('shell_exec', {
      command: [...lines, 'echo the-end > long.sh'].join('\n'),
    });
    await window.row('Pending Approvals', 'line-0').click();
    const dialog = window.dialog.filter({ hasText: 'line-0' });
    await dialog.waitFor();
    await window.picture('long');
    expect(await dialog.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    await window.answer('Show Everything');
    await window.notifications.getByRole('button', { name: 'Decide' }).waitFor();
    await window.page.keyboard.press('Control+End');
    await window.page
      .locator('.editor-instance .view-line')
      .filter({ hasText: 'Why you are asked' })
      .waitFor();
    await window.picture('long-whole');
    await window.notifications.getByRole('button', { name: 'Decide' }).click();
    await window.answer('Approve');
    await window.dialog.filter({ hasText: 'HIGH RISK' }).waitFor();
    await window.answer('Approve, it is deliberate');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    expect(home().read('long.sh')).toBe('the-end\n');
    await window.closeEditors();
  });

  it('[AP-4] approves a class of calls for this conversation', async () => {
    const { window } = home();
    const toolId = await home().call('write_file', { path: 'src/one.md', content: 'one' });
    await window.review('one.md');
    await window.titleButton('Approve More Than This…').click();
    await window.input.waitFor();
    await window.picture('scopes');
    await window.choose('in this conversation');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    const { grants } = await home().person.client.listGrants();
    expect(grants).toHaveLength(1);
    const [grant] = grants as [(typeof grants)[number]];
    await home().person.client.revokeGrant({ params: { grant_id: grant.grant_id } });
  });

  it('[AP-4] [UI-6] allowing HIGH calls without asking takes a second step, with the focus on the safe answer', async () => {
    const { window } = home();
    const live = async () =>
      (await home().person.client.listGrants()).grants.filter(({ revoked_at }) => revoked_at === null);
    const toolId = await home().call('write_file', { path: 'wide.md', content: 'wide' });
    await window.review('wide.md');
    await window.titleButton('Approve More Than This…').click();
    await window.choose('Also HIGH calls, without asking');
    await window.dialog.filter({ hasText: 'Also HIGH calls' }).waitFor();
    await window.picture('include-high');
    expect(await window.focusedButton()).toBe('Look Again');
    await window.pressEnterInDialog();
    await window.dialog.waitFor({ state: 'detached' });
    expect(await live()).toEqual([]);
    await window.titleButton('Approve More Than This…').click();
    await window.choose('Also HIGH calls, without asking');
    await window.answer('Approve, it is deliberate');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    const [grant, ...others] = await live();
    expect([grant, others]).toMatchObject([{ max_risk: 'HIGH' }, []]);
    await home().person.client.revokeGrant({ params: { grant_id: String(grant?.grant_id) } });
  });

  it('[UI-2] with a hidden chat, a notification with buttons appears and takes no focus', async () => {
    const { window } = home();
    await window.command('View: Toggle Primary Side Bar Visibility');
    await window.page.locator('.part.sidebar').waitFor({ state: 'hidden' });
    const toolId = await home().call('write_file', { path: 'told.md', content: 'x' });
    const toast = window.notifications.filter({ hasText: 'told.md' });
    await toast.waitFor();
    await window.picture('notification');
    await toast.getByRole('button', { name: 'Reject…' }).click();
    await window.type('');
    expect((await home().ended(toolId)).execution.status).toBe('rejected');
    await window.openChat();
  });

  it('[AP-10] a pending approval is shown again after a reload', async () => {
    const { window } = home();
    const toolId = await home().call('write_file', { path: 'again.md', content: 'again\n' });
    await window.review('again.md');
    await window.reload();
    await expect.poll(() => window.state(), soon).toContain('1 approval waits for you');
    await window.openChat();
    await window.row('Pending Approvals', 'again.md').waitFor();
    expect((await home().person.client.getExecution({ params: { tool_id: toolId } })).execution.status).toBe(
      'awaiting_approval',
    );
    await window.review('again.md');
    await window.approve('again.md');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    expect(home().read('again.md')).toBe('again\n');
  });

  it('[AP-2] an approval decided in the web page is withdrawn in the editor', async () => {
    const { window } = home();
    const toolId = await home().call('write_file', { path: 'web.md', content: 'web\n' });
    await window.review('web.md');
    const page = await home().webPage();
    await page.go('approvals');
    const card = page.card('web.md');
    await page.look(card);
    await page.press('y');
    await page.call('web.md').getByText('You approved this').waitFor();
    await window.tab(/proposed change/).waitFor({ state: 'detached' });
    await window.row('Pending Approvals', 'web.md').waitFor({ state: 'detached' });
    await expect.poll(() => window.state(), soon).toContain('nothing waits for you');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    expect(home().read('web.md')).toBe('web\n');
    await page.page.close();
  });
}
