import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';
import { soon } from './editor-window.ts';

/** Activation time, signing in and workspace trust. */
export function startStories(home: () => EditorHome): void {
  it("[UI-2] activates quickly by the editor's own measure, and starts signed out", async () => {
    const { window } = home();
    expect(await window.state()).toBe('Countersign: signed out');
    // We promise 100 ms. The time depends on the machine, so it is printed and not asserted.
    const ms = await window.activationMs();
    console.log(`activated in ${ms} ms`);
    expect(ms).toBeLessThan(5_000);
  });

  it('[UI-2] the walkthrough begins with no step ticked', async () => {
    expect(await home().window.walkthrough(0)).toEqual([]);
  });

  it('[UI-2] signs in with a pasted link; nothing runs in an untrusted workspace', async () => {
    const { window } = home();
    await window.command('Countersign: Sign In');
    // The error is shown below the box; the typed text stays and can be corrected.
    const box = window.page.locator('.quick-input-widget');
    await window.type('http://127.0.0.1:1/nothing');
    await box.getByText('That is no sign-in link').waitFor();
    expect(await window.input.inputValue()).toBe('http://127.0.0.1:1/nothing');
    const link = await home().signInLink();
    const unknown = link.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'));
    await window.type(unknown);
    await box.getByText('Signing in did not work').waitFor();
    expect(await window.input.inputValue()).toBe(unknown);
    await window.picture('sign-in');
    await window.type(link);
    await box.waitFor({ state: 'hidden' });
    await expect
      .poll(() => window.state(), soon)
      .toContain('nothing runs here until you trust this workspace');
    const { runners } = await home().person.client.listRunners();
    expect(runners.filter(({ workspace }) => workspace === home().workspace)).toEqual([]);
    await window.openChat();
    await window.chat.getByText('Nothing runs here until you trust this workspace.').waitFor();
    await window.chat.getByRole('button', { name: 'Manage Workspace Trust' }).waitFor();
    // Nothing is pending and nothing has run: these views take no room.
    const views = window.page.locator('.part.sidebar .pane-header:visible');
    for (const name of ['Pending Approvals', 'History'])
      expect(await views.filter({ hasText: name }).count()).toBe(0);
    await window.picture('empty-views');
  });

  it('[UI-2] the walkthrough has ticked the server and the sign-in, but not a chat that was only opened', async () => {
    expect(await home().window.walkthrough(2)).toEqual(['server', 'signIn']);
  });

  it('[UI-2] once trusted, it is the runner of the folder', async () => {
    const { window } = home();
    await window.trust();
    await expect.poll(() => window.state(), soon).toContain('approved tool calls run here');
    // Reload, because trust enables extensions that were off until now.
    await window.reload();
    await expect.poll(() => window.state(), soon).toContain('approved tool calls run here');
    const { runners } = await home().person.client.listRunners();
    expect(runners.filter(({ workspace }) => workspace === home().workspace)).toHaveLength(1);
    expect(await home().result('read_file', { path: 'notes.md' })).toMatchObject({
      content: '# Notes\n\none\ntwo\nthree\n',
    });
    await window.openChat();
    await window.picture('chat');
    // After another reload, the history still has the call before anything new happens.
    await window.command('Countersign: Focus on History View');
    await window.row('History', 'read_file notes.md').waitFor();
    await window.reload();
    await window.row('History', 'read_file notes.md').waitFor();
    await window.fold('History'); // back to the initial state
  });

  it('[UI-2] the walkthrough ticks a sent message, and a decision on the card', async () => {
    const { window } = home();
    expect(await window.walkthrough(2)).toEqual(['server', 'signIn']);
    await window.openChat();
    await window.say('/write_file path=walked.md content="a step"');
    const card = window.card('walked.md');
    await card.waitFor();
    expect(await window.walkthrough(3)).toEqual(['server', 'signIn', 'chat']);
    await window.pressOnCard(card, 'Approve');
    await expect.poll(() => home().has('walked.md'), soon).toBe(true);
    expect(await window.walkthrough(4)).toEqual(['server', 'signIn', 'chat', 'approve']);
  });
}
