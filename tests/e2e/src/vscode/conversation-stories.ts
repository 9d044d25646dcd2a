import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';
import { soon } from './editor-window.ts';

/** The conversation from the editor: questions about code, mentions, the model, answers with code, grants. */
export function conversationStories(home: () => EditorHome): void {
  it('[UI-2] New Conversation begins one, also in a chat that was not loaded before', async () => {
    const { window } = home();
    await window.openChat();
    await window.say('/read_file path=notes.md');
    const done = window.chat.locator('.call-completed').filter({ hasText: 'notes.md' });
    await done.waitFor();
    await window.command('Countersign: New Conversation');
    await done.waitFor({ state: 'detached' });
    await window.say('/read_file path=notes.md');
    await done.waitFor();
    await window.command('View: Show Explorer');
    await window.reload();
    await expect.poll(() => window.state(), soon).toContain('approved tool calls run here');
    await window.command('Countersign: New Conversation');
    await window.chat.locator('.chat-start').waitFor();
    expect(await window.draft()).toBe('');
  });

  it('[UI-2] a question about the selection, from the menu of the editor and by its key', async () => {
    const { window } = home();
    await window.openChat();
    await window.newConversation();
    home().write('about.md', '# About\n\none\ntwo\nthree\n');
    await window.openFile('about.md');
    const line = (text: string) =>
      window.page.locator('.editor-instance .view-line').getByText(text, { exact: true });
    await line('one').click();
    await window.page.keyboard.press('Home');
    await window.page.keyboard.press('Shift+ArrowDown');
    await window.page.keyboard.press('Shift+ArrowDown');
    await line('two').click({ button: 'right' });
    await window.menuItem('Ask Countersign About This').waitFor();
    await window.picture('ask-menu');
    await window.chooseInMenu('Ask Countersign About This');
    await expect.poll(() => window.draft(), soon).toBe('@about.md#L3-4 ');
    await window.picture('asked');
    // The key does the same for another selection, and keeps the draft.
    await line('three').click();
    await window.page.keyboard.press('Home');
    await window.page.keyboard.press('Shift+End');
    await window.page.keyboard.press('Shift+Alt+Q');
    await expect.poll(() => window.draft(), soon).toBe('@about.md#L3-4 @about.md#L5 ');
    await window.closeEditors();
  });

  it('[UI-2] a question about a file, from the explorer', async () => {
    const { window } = home();
    await window.newConversation();
    await window.command('View: Show Explorer');
    const row = window.page
      .locator('.explorer-folders-view .monaco-list-row')
      .filter({ hasText: 'config.json' });
    await row.first().click({ button: 'right' });
    await window.chooseInMenu('Ask Countersign About This');
    await expect.poll(() => window.draft(), soon).toBe('@config.json ');
    await window.closeEditors();
  });

  it('[UI-2] a problem is fixed from its quick fix: the request is sent at once', async () => {
    const { window } = home();
    await window.openChat();
    await window.newConversation();
    await window.openFile('main.ts');
    const wrong = window.page
      .locator('.editor-instance .view-line')
      .getByText('wrong', { exact: true })
      .first();
    await window.page.locator('.editor-instance .squiggly-error').first().waitFor();
    const fix = window.page.locator('.action-widget').getByText('Fix with Countersign');
    // The list closes when the language server reports its problems again: then open it again, and wait longer, because
    // a busy editor may need more time than the last try had.
    for (let patience = 5_000; !(await fix.isVisible()); patience *= 2) {
      await wrong.click();
      await window.page.keyboard.press('Control+.');
      const last = patience > 120_000;
      await fix.waitFor({ timeout: patience }).catch((error: unknown) => {
        if (last) throw error;
      });
    }
    await window.picture('fix-menu');
    await fix.click();
    const sent = window.chat
      .locator('.message-user')
      .filter({ hasText: 'Fix this problem in @src/main.ts#L3:' });
    await sent
      .filter({ hasText: "L3: Type 'string' is not assignable to type 'number'. (ts 2322)" })
      .waitFor();
    await window.picture('fix-sent');
    await expect.poll(() => window.draft(), soon).toBe('');
    await window.closeEditors();
  });

  it('[UI-2] @ in the message field finds files and the selection', async () => {
    const { window } = home();
    await window.newConversation();
    home().write('about.md', '# About\n\none\ntwo\nthree\n');
    await window.openFile('about.md');
    await window.page.locator('.editor-instance .view-line').getByText('two', { exact: true }).click();
    await window.page.keyboard.press('Home');
    await window.page.keyboard.press('Shift+End');
    const field = window.chat.locator('[data-composer]');
    await field.click();
    await field.pressSequentially('look at @');
    await window.chat.getByRole('option', { name: '@about.md#L4 selection' }).waitFor();
    await window.picture('mentions');
    await field.pressSequentially('greet');
    await window.chat.getByRole('option', { name: '@src/greet.ts', exact: true }).waitFor();
    await window.page.keyboard.press('Enter');
    await expect.poll(() => window.draft(), soon).toBe('look at @src/greet.ts ');
    await window.closeEditors();
  });

  it('[AG-1] the model is chosen in the title of the view; code of its answer is copied and inserted', async () => {
    const { window, model } = home();
    const code = "export const chosen = 'by the model';\n";
    model.script([[{ text: `Here:\n\n\`\`\`ts\n${code}\`\`\`\n` }]]);
    await window.openChat();
    await window.newConversation();
    await window.viewButton('Choose Model…').click();
    await window.choose('Other model…');
    await window.type('gpt');
    await window.page.locator('.quick-input-widget').getByText('provider:model').first().waitFor();
    await window.type('openai-compatible:scripted');
    await window.chat.getByText('openai-compatible:scripted').waitFor();
    home().write('inserted.ts', '// here:\n');
    await window.openFile('inserted.ts');
    await window.page.locator('.editor-instance .view-line').getByText('here', { exact: false }).click();
    await window.page.keyboard.press('Control+End');
    await window.chat.locator('[data-composer]').fill('Some code, please');
    await window.page.waitForTimeout(100);
    await window.chat.getByRole('button', { name: 'Send' }).click();
    const block = window.chat.locator('.answer-code').filter({ hasText: 'by the model' });
    await block.hover();
    await window.picture('answer-code');
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Insert' }).click();
    await expect.poll(() => window.text(), soon).toContain("export const chosen = 'by the model';");
    await window.picture('inserted');
    expect(model.requests.at(-1)?.body.model).toBe('scripted');
    await window.page.keyboard.press('Control+s'); // the editor has the focus
    await expect.poll(() => home().read('inserted.ts'), soon).toBe(`// here:\n${code.trimEnd()}`);
    await window.closeEditors();
    // Back to the server's model, which takes typed calls.
    await window.command('Countersign: Choose Model');
    await window.choose("the server's model");
    await window.chat.getByText('manual', { exact: true }).waitFor();
  });

  it('[UI-2] the mode of a conversation is chosen in the title of the view, before its first message or later', async () => {
    const { window } = home();
    await window.openChat();
    await window.newConversation();
    await window.viewButton('Choose Mode…').click();
    await window.page
      .locator('.quick-input-list')
      .getByText('whatever could change something is blocked')
      .waitFor();
    await window.picture('modes');
    await window.choose(/Read only/);
    await window.viewTitle(/Read only/).waitFor();
    const field = window.chat.locator('[data-composer]');
    await field.fill('/write_file path=mode.md content=x');
    await window.chat.getByRole('button', { name: 'Send' }).click();
    await window.chat.getByText('There is no tool "write_file" that you can use here').waitFor();
    await window.picture('read-only');
    expect(home().has('mode.md')).toBe(false);
    await window.viewButton('Choose Mode…').click();
    await window.choose(/Accept edits/);
    await window.viewTitle(/Accept edits/).waitFor();
    await field.fill('/write_file path=mode.md content=x');
    await window.chat.getByRole('button', { name: 'Send' }).click();
    await expect.poll(() => home().has('mode.md'), soon).toBe(true);
    // The next conversation asks again.
    await window.say('/write_file path=mode-again.md content=x');
    await window.viewTitle(/Ask/).waitFor();
    await window.card('mode-again.md').waitFor();
    expect(home().has('mode-again.md')).toBe(false);
  });

  it('[UI-2] the card opens the diff; next and previous go through what waits; after a decision the next opens', async () => {
    const { window } = home();
    await window.openChat();
    await window.fold('History');
    const change = async (name: string) =>
      home().shown(await home().call('write_file', { path: `${name}.md`, content: `${name}\n` }));
    for (const name of ['first', 'second']) await change(name);
    // It has no diff, and no dialog opens by itself while the person decides in diffs.
    await home().shown(await home().call('execute_command', { command: 'npm', args: ['test'] }));
    for (const name of ['third', 'fourth']) await change(name);
    await window.say('/write_file path=fifth.md content=fifth');
    const card = window.card('fifth.md');
    await card.getByRole('button', { name: 'Open diff' }).click();
    await window.tab(/fifth\.md: proposed change/).waitFor();
    await window.picture('open-diff');
    // After the last one comes the first.
    await window.titleButton('Next Pending Approval').click();
    await window.tab(/first\.md: proposed change/).waitFor();
    await window.page.keyboard.press('Shift+Alt+J');
    await window.tab(/second\.md: proposed change/).waitFor();
    await window.titleButton('Previous Pending Approval').click();
    await expect.poll(() => window.activeTab(), soon).toContain('first.md');
    await window.picture('next-previous');
    // Decided in the diff, by its key: the next one opens.
    await expect
      .poll(async () => {
        await window.attend(); // again if the editor noticed late that its diff is shown
        if (!(await window.activeTab()).includes('first.md')) return home().has('first.md');
        await window.page.keyboard.press('Shift+Alt+Y');
        return home().has('first.md');
      }, soon)
      .toBe(true);
    await expect.poll(() => window.activeTab(), soon).toContain('second.md');
    await window.page.keyboard.press('Shift+Alt+N');
    await window.type('Not this one');
    await window.tab(/third\.md: proposed change/).waitFor();
    expect(home().has('second.md')).toBe(false);
    // Decided on the card: the diff of the next one replaces its own.
    await card.getByRole('button', { name: 'Open diff' }).click();
    await expect.poll(() => window.activeTab(), soon).toContain('fifth.md');
    await window.tab(/third\.md: proposed change/).waitFor();
    await window.pressOnCard(card, 'Approve');
    await expect.poll(() => home().has('fifth.md'), soon).toBe(true);
    await window.tab(/fifth\.md: proposed change/).waitFor({ state: 'detached' });
    await expect.poll(() => window.activeTab(), soon).toContain('third.md');
    await window.picture('next-after-card');
    await window.closeEditors();
  });

  it('[UI-2] a decision in the diff reads "You approved this" in the chat, and is recorded as made in VS Code', async () => {
    const { window } = home();
    await window.openChat();
    await window.say('/write_file path=named.md content=x');
    await window.review('named.md');
    await window.approve('named.md');
    const row = window.chat.locator('.call', { hasText: 'named.md' });
    await row.getByText('You approved this', { exact: true }).waitFor();
    const [latest] = (await home().person.client.history({ query: { limit: 1 } })).executions;
    expect(latest?.decision).toMatchObject({ status: 'approved', device: 'VS Code' });
    await window.picture('approved-in-vs-code');
  });

  it('[UI-2] the keys of the page decide on the card', async () => {
    const { window } = home();
    await window.say('/write_file path=keys.md content=x');
    await window.card('keys.md').waitFor();
    await window.chat.locator('.chat-bar').click(); // outside the message field
    await window.page.keyboard.press('j');
    await expect
      .poll(async () => {
        await window.attend(); // again if the card had moved: then y is too quick
        if (!home().has('keys.md')) await window.page.keyboard.press('y');
        return home().has('keys.md');
      }, soon)
      .toBe(true);
  });

  it('[AP-4] grants are listed and revoked', async () => {
    const { window } = home();
    const { client } = home().person;
    const live = async () =>
      (await client.listGrants()).grants.filter(({ revoked_at }) => revoked_at === null);
    // A mode may have made a grant.
    for (const { grant_id } of await live()) await client.revokeGrant({ params: { grant_id } });
    for (const path of ['src/grant-one.md', 'src/grant-two.md']) {
      const toolId = await home().call('write_file', { path, content: 'x' });
      const { project_id, approval_id, digest } = await home().shown(toolId);
      await client.approve({ params: { project_id, approval_id }, body: { digest, scope: 'session' } });
    }
    expect(await live()).toHaveLength(2);
    await window.command('Countersign: Show Grants');
    const rows = window.page.locator('.quick-input-list .monaco-list-row');
    await rows.nth(1).waitFor();
    await rows.first().hover();
    await window.picture('grants');
    await rows.first().locator('.codicon-trash').click();
    await expect.poll(live, soon).toHaveLength(1);
    await expect.poll(() => rows.count(), soon).toBe(1);
    await window.choose(/one conversation/);
    await window.answer('Revoke');
    await expect.poll(live, soon).toEqual([]);
  });
}
