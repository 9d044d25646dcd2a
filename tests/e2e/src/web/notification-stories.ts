import { expect, it } from 'vitest';
import type { WebHome } from './web-home.ts';
import type { WebWindow } from './web-window.ts';

/** Real browser notifications. Records what the system would show, and how each notification ends. */
export function notificationStories(home: () => WebHome): void {
  const ask = async (path: string): Promise<string> => {
    const { client } = await home().person();
    const tool_params = { path, content: 'the password is hunter2', mode: 'write' };
    const { approval_id } = await client.executeTool({ body: { tool_name: 'write_file', tool_params } });
    return approval_id as string;
  };

  it('[UI-1] notifies of a new approval while the window is not in front; a click opens its card', async () => {
    const window = await home().windowOn({});
    const { page } = window;
    const notified = await recordNotifications(window);
    await switchOn(window);

    await ask('while-here.md');
    await expect.poll(() => page.title()).toBe('(1) Countersign');
    expect(await notified()).toEqual([]); // the window is in front

    const comeBack = await lookAway(window);
    await ask('while-away.md');
    const shown = {
      title: 'An approval waits for you',
      body: 'Medium risk: write_file while-away.md',
      state: 'shown',
    };
    await expect.poll(notified).toEqual([shown]);
    expect(JSON.stringify(await notified())).not.toContain('hunter2');

    await page.evaluate(() => {
      (globalThis as unknown as Notified).notifications[0]?.notification.dispatchEvent(new Event('click'));
    });
    await expect.poll(notified).toEqual([{ ...shown, state: 'closed' }]);
    await comeBack();
    const card = window.card('while-away.md');
    await expect.poll(() => card.evaluate((element) => element === document.activeElement)).toBe(true);
    for (const name of ['while-here.md', 'while-away.md']) {
      await window.look(window.card(name));
      await window.press('n', 'Enter');
      await window.call(name).getByText('You rejected this').waitFor();
    }
    expect(window.problems).toEqual([]);
  });

  it('[UI-1] [AP-2] a notification closes when the approval is decided elsewhere', async () => {
    const window = await home().windowOn({});
    const notified = await recordNotifications(window);
    await switchOn(window);
    await lookAway(window);
    const approval_id = await ask('elsewhere.md');
    const states = async () => (await notified()).map(({ state }) => state);
    await expect.poll(states).toEqual(['shown']);
    const { client } = await home().person();
    await client.reject({ params: { approval_id, project_id: home().ready.project_id }, body: {} });
    await expect.poll(states).toEqual(['closed']);
  });
}

interface Notified {
  readonly notifications: { readonly notification: Notification; state: string }[];
}

/** Reloads the page and records each notification, with its state. */
async function recordNotifications({ page }: WebWindow) {
  const { origin } = new URL(page.url());
  await page.context().grantPermissions(['notifications'], { origin });
  await page.addInitScript(() => {
    const notifications: { notification: Notification; state: string }[] = [];
    Object.assign(globalThis, { notifications });
    globalThis.Notification = class extends Notification {
      constructor(title: string, options?: NotificationOptions) {
        super(title, options);
        const noted = { notification: this as Notification, state: 'new' };
        notifications.push(noted);
        for (const [event, state] of [
          ['show', 'shown'],
          ['close', 'closed'],
          ['error', 'failed'],
        ] as const)
          this.addEventListener(event, () => {
            noted.state = state;
          });
      }
    };
  });
  await page.reload();
  await page.getByText('What should the agent do?').waitFor();
  return () =>
    page.evaluate(() =>
      (globalThis as unknown as Notified).notifications.map(({ notification: { title, body }, state }) => ({
        title,
        body,
        state,
      })),
    );
}

async function switchOn({ page }: WebWindow): Promise<void> {
  await page.getByRole('button', { name: 'Settings' }).click();
  const notify = page.getByRole('checkbox', { name: 'Notify me on this device' });
  await notify.click(); // the browser asks for permission first
  await expect.poll(() => notify.isChecked()).toBe(true);
  await page.keyboard.press('Escape');
}

/** Puts another window in front: stops the driver's focus emulation. Returns a function that comes back. */
async function lookAway({ page }: WebWindow): Promise<() => Promise<void>> {
  const driver = await page.context().newCDPSession(page);
  const pretend = (enabled: boolean) => driver.send('Emulation.setFocusEmulationEnabled', { enabled });
  const hasFocus = () => page.evaluate(() => document.hasFocus());
  await pretend(false);
  await (await page.context().newPage()).bringToFront();
  await expect.poll(hasFocus).toBe(false);
  return async () => {
    await page.bringToFront(); // as the system does when a notification is clicked
    await pretend(true);
    await expect.poll(hasFocus).toBe(true);
  };
}
