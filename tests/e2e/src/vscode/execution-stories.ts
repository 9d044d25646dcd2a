import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';
import { soon } from './editor-window.ts';

/** Calls that the editor's own runner executes. */
export function executionStories(home: () => EditorHome): void {
  it('[RN-9] tools read, change and save unsaved text', async () => {
    const { window } = home();
    await window.openFile('draft.md');
    await window.page.locator('.editor-instance .view-lines').getByText('saved').click();
    await window.page.keyboard.press('Control+a');
    await window.page.keyboard.type('typed and not saved');
    // Typed text takes a moment to reach the runner.
    await expect
      .poll(() => home().result('read_file', { path: 'draft.md' }), soon)
      .toMatchObject({ content: 'typed and not saved' });
    expect(home().read('draft.md')).toBe('saved\n');

    const toolId = await home().call('edit_file', { path: 'draft.md', old: 'not saved', new: 'edited' });
    await window.review('draft.md');
    const { approvals } = await home().person.client.listApprovals();
    expect(approvals[0]?.preview).toMatchObject({ files: [{ unsaved: true }] });
    await window.approve('draft.md');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    expect(home().read('draft.md')).toBe('typed and edited');
    await window.tab('draft.md').click();
    await expect.poll(() => window.text(), soon).toContain('typed and edited');
    await window.closeEditors();
  });

  it('[RN-9] formatters do not change what was approved', async () => {
    const { window } = home();
    home().write(
      '.vscode/settings.json',
      '{ "files.trimTrailingWhitespace": true, "files.insertFinalNewline": true }',
    );
    await window.openFile('spaces.md');
    const toolId = await home().call('write_file', { path: 'spaces.md', content: 'two   \nthree' });
    await window.review('spaces.md');
    await window.approve('spaces.md');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    expect(home().read('spaces.md')).toBe('two   \nthree');
    await window.closeEditors();
  });

  it('a running command is cancelled', async () => {
    const { window } = home();
    const toolId = await home().call('execute_command', { command: 'node', args: ['wait.js'], timeout: 200 });
    await window.row('Pending Approvals', 'wait.js').click();
    await window.dialog.filter({ hasText: 'node wait.js' }).waitFor();
    await window.picture('command');
    await window.answer('Approve');
    await home().person.next(
      'tool.progress',
      ({ output }) => output?.chunk.includes('waiting for ever') ?? false,
    );
    await window.command('Countersign: Cancel Running Tool Call');
    expect((await home().ended(toolId)).execution.status).toBe('cancelled');
  });

  it('[UI-2] command output is in the output channel', async () => {
    const { window } = home();
    home().write('print.js', "console.log('printed'.toUpperCase());\nconsole.error('and complained');\n");
    const toolId = await home().call('execute_command', { command: 'node', args: ['print.js'] });
    await window.row('Pending Approvals', 'print.js').click();
    await window.answer('Approve');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    await window.command('Countersign: Show Output of Commands');
    for (const line of ['execute_command node print.js', 'PRINTED', 'and complained', 'exit code 0'])
      await window.line(line).waitFor();
    await window.picture('output');
    await window.command('View: Hide Panel');
  });

  it('the open editor and the explorer show what a command changed', async () => {
    const { window } = home();
    await window.openFile('followed.md');
    home().write(
      'change.js',
      "const { writeFileSync } = require('node:fs');\nwriteFileSync('followed.md', 'after');\nwriteFileSync('made.md', '');\n",
    );
    const toolId = await home().call('execute_command', { command: 'node', args: ['change.js'] });
    await window.row('Pending Approvals', 'change.js').click();
    await window.answer('Approve');
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    await expect.poll(() => window.text(), soon).toBe('after');
    await window.command('View: Show Explorer');
    await window.page
      .locator('.explorer-folders-view .monaco-list-row')
      .filter({ hasText: 'made.md' })
      .waitFor();
    await window.openChat();
    await window.closeEditors();
  });

  it('the proposal is UTF-8 without a byte order mark, even if the editor uses another encoding', async () => {
    const { window } = home();
    const { client } = home().person;
    home().write('.vscode/settings.json', '{ "files.encoding": "windows1251" }');
    home().write('utf8.md', 'один\nдва\n');
    const first = await home().call('edit_file', { path: 'utf8.md', old: 'два', new: 'две' });
    await window.review('utf8.md');
    const right = window.page.locator('.editor-instance .modified .view-lines');
    const encoding = window.page.locator('[id="status.editor.encoding"]');
    await expect.poll(() => right.textContent(), soon).toBe('одиндве');
    expect(await encoding.textContent()).toBe('UTF-8');
    await window.picture('encoding');
    // Also when it is read again after the file changed.
    const second = await home().call('edit_file', { path: 'utf8.md', old: 'один', new: 'раз' });
    const { project_id, approval_id, digest } = await home().shown(second);
    await client.approve({ params: { project_id, approval_id }, body: { digest } });
    await expect.poll(() => right.textContent(), soon).toBe('раздве');
    expect(await encoding.textContent()).toBe('UTF-8');
    const again = await home().shown(first);
    await client.reject({
      params: { project_id: again.project_id, approval_id: again.approval_id },
      body: {},
    });
    await window.tab(/proposed change/).waitFor({ state: 'detached' });
    home().write('.vscode/settings.json', '{}');
  });

  it('[AP-8] a file that changes while its diff is open is shown anew, and asked about again', async () => {
    const { window } = home();
    const { client } = home().person;
    home().write('twice.md', 'one\ntwo\n');
    const first = await home().call('edit_file', { path: 'twice.md', old: 'two', new: 'zwei' });
    await window.review('twice.md');
    const left = window.page.locator('.editor-instance .original .view-lines');
    await expect.poll(() => left.textContent(), soon).toBe('onetwo');
    const second = await home().call('edit_file', { path: 'twice.md', old: 'one', new: 'eins' });
    const { project_id, approval_id, digest } = await home().shown(second);
    await client.approve({ params: { project_id, approval_id }, body: { digest } });
    expect((await home().ended(second)).execution.status).toBe('completed');
    await expect.poll(() => left.textContent(), soon).toBe('einstwo');

    await window.approve('twice.md');
    const again = await home().shown(first);
    expect(again.approval_id).not.toBe(approval_id);
    await window.review('twice.md');
    await window.approve('twice.md');
    expect((await home().ended(first)).execution.status).toBe('completed');
    expect(home().read('twice.md')).toBe('eins\nzwei\n');
  });

  it('search uses the ripgrep of the editor', async () => {
    expect(await home().result('search_files', { content: 'Hello' })).toMatchObject({
      files: [{ path: 'src/greet.ts', matches: [{ line: 2 }] }],
    });
  });

  it('[RN-3] the history lists calls and undoes them', async () => {
    const { window } = home();
    const toolId = await home().call('write_file', { path: 'undone.md', content: 'x\n' });
    await window.review('undone.md');
    await window.approve('undone.md');
    await home().ended(toolId);
    expect(home().read('undone.md')).toBe('x\n');
    await window.command('Countersign: Focus on History View');
    const row = window.row('History', 'undone.md');
    await row.waitFor();
    await row.locator('.codicon-check').first().waitFor();
    await row.hover();
    await window.picture('history');
    await row.getByRole('button', { name: /Undo/ }).click();
    await expect.poll(() => home().has('undone.md'), soon).toBe(false);
    await row
      .filter({ hasText: 'undone' })
      .filter({ hasText: /undone ·/ })
      .waitFor();
    await window.picture('history-undone');
    await row.locator('.custom-view-tree-node-item-icon.codicon-discard').waitFor();
    expect(await row.locator('.codicon-check').count()).toBe(0);
  });

  it('[RN-3] an undone call loses its tick in the chat', async () => {
    const { window } = home();
    await window.fold('History'); // open since the last story: it leaves the chat no room for a card
    await window.openChat();
    await window.say('/write_file path=taken-back.md content=x');
    await window.pressOnCard(window.card('taken-back.md'), 'Approve');
    const call = window.chat.locator('.call').filter({ hasText: 'taken-back.md' });
    await call.locator('.mark-completed').waitFor();
    await window.command('Countersign: Focus on History View');
    const row = window.row('History', 'taken-back.md');
    await row.hover();
    await row.getByRole('button', { name: /Undo/ }).click();
    await call.locator('.mark-undone').waitFor();
    await call.getByText('Undone', { exact: true }).waitFor();
    await window.picture('chat-undone');
    expect(home().has('taken-back.md')).toBe(false);
  });
}
