import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';
import { soon } from './editor-window.ts';

/** Signing in, trust, and how quickly it is there. */
export function startStories(home: () => EditorHome): void {
  it('[UI-2] is active soon, by the own measure of the editor, its loading included; and signed out', async () => {
    const { window } = home();
    expect(await window.state()).toBe('Countersign: signed out');
    // 100 ms are promised. How many it takes depends on the machine: it is said here, and no test hangs on it.
    const ms = await window.activationMs();
    console.log(`activated in ${ms} ms`);
    expect(ms).toBeLessThan(5_000);
  });

  it('[UI-2] the walkthrough begins with no step ticked', async () => {
    expect(await home().window.walkthrough(0)).toEqual([]);
  });

  it('[UI-2] signs in with a pasted link; an untrusted workspace runs nothing', async () => {
    const { window } = home();
    await window.command('Countersign: Sign In');
    // What is wrong stands below the box; what was typed stays, and is mended there.
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
  });

  it('[UI-2] the walkthrough has ticked the server and the sign-in, and not the chat that was only seen', async () => {
    expect(await home().window.walkthrough(2)).toEqual(['server', 'signIn']);
  });

  it('[UI-2] trusted, it is the runner of the folder', async () => {
    const { window } = home();
    await window.trust();
    await expect.poll(() => window.state(), soon).toContain('approved tool calls run here');
    // Grants and extensions that were off until now: as a person starts the next day.
    await window.reload();
    await expect.poll(() => window.state(), soon).toContain('approved tool calls run here');
    const { runners } = await home().person.client.listRunners();
    expect(runners.filter(({ workspace }) => workspace === home().workspace)).toHaveLength(1);
    expect(await home().result('read_file', { path: 'notes.md' })).toMatchObject({
      content: '# Notes\n\none\ntwo\nthree\n',
    });
    await window.openChat();
    await window.picture('chat');
    // The next day again: what was done is there before anything new is.
    await window.command('Countersign: Focus on History View');
    await window.row('History', 'read_file notes.md').waitFor();
    await window.reload();
    await window.row('History', 'read_file notes.md').waitFor();
  });

  it('[UI-2] the walkthrough ticks the message when it was sent, and the decision when it was made on the card', async () => {
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
