import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';

/** What runs in the editor's own runner. */
export function executionStories(home: () => EditorHome): void {
  it('[RN-9] unsaved text is what tools read, change and save', async () => {
    const { window } = home();
    await window.openFile('draft.md');
    await window.page.locator('.editor-instance .view-lines').getByText('saved').click();
    await window.page.keyboard.press('Control+a');
    await window.page.keyboard.type('typed and not saved');
    // What was typed takes a moment to get from the window to the runner.
    await expect
      .poll(() => home().result('read_file', { path: 'draft.md' }), { timeout: 20_000 })
      .toMatchObject({ content: 'typed and not saved' });
    expect(home().read('draft.md')).toBe('saved\n');

    const toolId = await home().call('edit_file', { path: 'draft.md', old: 'not saved', new: 'edited' });
    await window.review('draft.md');
    const { approvals } = await home().person.client.listApprovals();
    expect(approvals[0]?.preview).toMatchObject({ files: [{ unsaved: true }] });
    await window.titleButton('Approve').click();
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    expect(home().read('draft.md')).toBe('typed and edited');
    await window.tab('draft.md').click();
    await expect.poll(() => window.text()).toContain('typed and edited');
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
    await window.titleButton('Approve').click();
    expect((await home().ended(toolId)).execution.status).toBe('completed');
    expect(home().read('spaces.md')).toBe('two   \nthree');
    await window.closeEditors();
  });

  it('a command that runs is cancelled', async () => {
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

  it('search uses the ripgrep of the editor', async () => {
    expect(await home().result('search_files', { content: 'Hello' })).toMatchObject({
      files: [{ path: 'src/greet.ts', matches: [{ line: 2 }] }],
    });
  });

  it('[RN-3] the history shows what happened, and undoes it', async () => {
    const { window } = home();
    const toolId = await home().call('write_file', { path: 'undone.md', content: 'x\n' });
    await window.review('undone.md');
    await window.titleButton('Approve').click();
    await home().ended(toolId);
    expect(home().read('undone.md')).toBe('x\n');
    await window.command('Countersign: Focus on History View');
    const row = window.row('History', 'undone.md');
    await row.waitFor();
    await row.hover();
    await window.picture('history');
    await row.getByRole('button', { name: /Undo/ }).click();
    await expect
      .poll(() => {
        try {
          return home().read('undone.md');
        } catch {
          return 'gone';
        }
      })
      .toBe('gone');
    await row
      .filter({ hasText: 'undone' })
      .filter({ hasText: /undone ·/ })
      .waitFor();
  });
}
