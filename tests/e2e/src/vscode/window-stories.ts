import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';
import { type EditorWindow, soon } from './editor-window.ts';

/** Runs a folder's call again: it must belong to that folder (UI-2; founding documents: implementation-plan). */
async function runAgain(window: EditorWindow, folder: string): Promise<void> {
  await window.openChat();
  await window.chat.getByLabel('Project').selectOption(folder);
  await window.say('/list_directory path=.');
  const listed = window.chat.locator('.call-completed').filter({ hasText: 'Listed the project root' });
  await listed.locator('button.call-toggle').click();
  await listed.getByRole('button', { name: 'Run again' }).click();
  await expect.poll(() => listed.count(), soon).toBe(2);
  await window.command('Countersign: Focus on History View');
  await expect
    .poll(() => window.row('History', new RegExp(`list_directory.*${folder} ·`)).count(), soon)
    .toBe(2);
}

/** Several windows, several folders, another server. The last story signs in to that server. */
export function windowStories(home: () => EditorHome): void {
  it('[RN-10] a second window of the same folder watches; several folders each have a runner; one command starts a server', async () => {
    const second = await home().otherWindow(home().workspace);
    await expect.poll(() => second.state(), soon).toContain('connected; tools run in VS Code on ');
    await second.openWorkspace(home().severalFolders('one', 'two'), 'one');
    await second.trust(); // while it is still connecting
    await expect
      .poll(() => second.state(), soon)
      .toMatch(/one: connected; approved tool calls run here.*two: connected; approved tool calls run here/s);
    await second.page.keyboard.press('Escape');
    await second.closeEditors(); // the trust page covers everything
    await runAgain(second, 'two');
    const letShellsGo = home().holdShells();
    await second.command('Countersign: Start Local Server');
    // The editor cannot read its terminal yet, so it asks for the link; once it can, it stops asking.
    const box = second.page.locator('.quick-input-widget').filter({ hasText: 'paste it here' });
    await box.waitFor();
    letShellsGo();
    await expect.poll(() => second.state()).toContain(`${home().localServer} ·`);
    await box.waitFor({ state: 'hidden' });
    await expect.poll(() => second.state(), soon).toMatch(/two: connected; approved tool calls run here/);
    await second.picture('local-server');
    // The same call in both folders can be told apart, in the list and in the diff.
    await second.openChat();
    for (const folder of ['one', 'two']) {
      await second.chat.getByLabel('Project').selectOption(folder);
      await second.say('/write_file path=same.md content=1');
      await second.row('Pending Approvals', new RegExp(`same\\.md${folder} ·`)).waitFor();
    }
    await second.command('Countersign: Focus on History View');
    for (const folder of ['one', 'two'])
      await second.row('History', new RegExp(`same\\.md${folder} ·`)).waitFor();
    await second.review('two/same.md', /same\.md\s*two ·/);
    await second.closeEditors();
    // The server goes away. The banner offers to connect at once and to start the server again.
    await second.command('Terminal: Kill All Terminals');
    await second.openChat();
    const retry = second.chat.getByRole('button', { name: 'Retry now' });
    await retry.waitFor();
    await second.picture('offline');
    await retry.click();
    await second.chat.getByRole('button', { name: 'Start Local Server' }).click();
    await retry.waitFor({ state: 'detached' });
    await expect
      .poll(() => second.state(), soon)
      .toMatch(/one: connected; approved tool calls run here.*two: connected; approved tool calls run here/s);
    await second.page.close();
  });
}
