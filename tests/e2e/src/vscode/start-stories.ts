import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';

/** Signing in, trust, and how quickly it is there. */
export function startStories(home: () => EditorHome): void {
  it('[UI-2] is active within 100 ms, and signed out', async () => {
    const { window } = home();
    const said = () => window.console.find((line) => line.includes('Countersign: activated in'));
    await expect.poll(said, { timeout: 20_000 }).toBeDefined();
    const ms = Number(/activated in ([\d.]+) ms/.exec(said() ?? '')?.[1]);
    expect(ms).toBeLessThan(100);
    expect(await window.state()).toBe('Countersign: signed out');
  });

  it('[UI-2] signs in with a pasted link; an untrusted workspace runs nothing', async () => {
    const { window } = home();
    await window.command('Countersign: Sign In');
    await window.type('http://127.0.0.1:1/nothing');
    await window.notifications.filter({ hasText: 'That is no sign-in link' }).waitFor();
    await window.signIn(await home().signInLink());
    await expect
      .poll(() => window.state(), { timeout: 20_000 })
      .toContain('nothing runs here until you trust this workspace');
    const { runners } = await home().person.client.listRunners();
    expect(runners.filter(({ workspace }) => workspace === home().workspace)).toEqual([]);
  });

  it('[UI-2] trusted, it is the runner of the folder', async () => {
    const { window } = home();
    await window.trust();
    await expect.poll(() => window.state(), { timeout: 20_000 }).toContain('approved tool calls run here');
    // Grants and extensions that were off until now: as a person starts the next day.
    await window.reload();
    await expect.poll(() => window.state(), { timeout: 20_000 }).toContain('approved tool calls run here');
    const { runners } = await home().person.client.listRunners();
    expect(runners.filter(({ workspace }) => workspace === home().workspace)).toHaveLength(1);
    expect(await home().result('read_file', { path: 'notes.md' })).toMatchObject({
      content: '# Notes\n\none\ntwo\nthree\n',
    });
    await window.openChat();
    await window.picture('chat');
  });
}
