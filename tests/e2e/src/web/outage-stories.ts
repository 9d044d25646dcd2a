import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Browser } from 'playwright-core';
import { expect, it } from 'vitest';
import { until } from '../../../lab/src/waiting.ts';
import { isAlive } from '../up-process.ts';
import { expectAccessible } from './accessibility.ts';
import { useWebHome } from './fixtures.ts';
import { takePicture } from './pictures.ts';
import { attentionMs, type WebWindow } from './web-window.ts';

/** Nothing is lost when something dies during a decision. */
export function outageStories(browser: () => Browser): void {
  const home = useWebHome(browser, () => ({ files: { 'a.md': 'before\n', 'b.md': 'before\n' } }));

  const content = (name: string): string => readFileSync(join(home().ready.workspace, name), 'utf8');
  const written = (name: string, text: string) =>
    until(() => content(name) === text, { otherwise: () => `${name}: ${content(name)}` });
  /** Kills the server, and waits until its successor responds. */
  const serverDies = async (): Promise<void> => {
    const { server } = home().up;
    process.kill(server, 'SIGKILL');
    await until(() => !isAlive(server), { otherwise: () => 'The server still lives' });
    const responds = () =>
      fetch(`${home().ready.address}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(responds, { otherwise: () => 'No successor responds' });
  };

  it('[AP-10] nothing is lost when everything is killed and restarted during an approval', async () => {
    const window = await home().window();
    const { page } = window;
    await window.say('/write_file path=a.md content=after');
    const card = window.waiting;
    await window.look(card);
    await window.press('n');
    await page.keyboard.type('half a reas');
    await home().killEverything();
    await page.getByText(/The connection to the server is lost/).waitFor();
    expect(await card.getByRole('button', { name: /^Reject this call/ }).isDisabled()).toBe(true);
    await takePicture(page, 'state-offline');
    await expectAccessible(page);
    await window.press('Escape');
    await window.wait(attentionMs);
    await window.press('y'); // nothing can be decided, and the key is not kept for later
    expect(await card.getByRole('button', { name: 'Approve y' }).isDisabled()).toBe(true);

    await home().start();
    await page.getByText(/The connection to the server is lost/).waitFor({ state: 'detached' });
    await card.getByRole('button', { name: 'Approve y' }).and(page.locator(':enabled')).waitFor();
    expect(content('a.md')).toBe('before\n');
    await page.locator('.message-user').getByText('/write_file path=a.md').waitFor();
    await window.look(card);
    await window.press('y');
    await written('a.md', 'after');
    await window.call('a.md').getByText('You approved this').waitFor();
  });

  it('[AP-10] a killed server comes back while the card stays, with the typed text', async () => {
    const window = await home().window();
    const { page } = window;
    await window.say('/write_file path=b.md content=after');
    await window.look(window.waiting);
    await window.press('n');
    await page.keyboard.type('half a reas');
    await serverDies();
    await page.keyboard.type('on');
    await page
      .getByRole('button', { name: /^Reject this call/ })
      .and(page.locator(':enabled'))
      .click();
    await window.call('b.md').getByText('You rejected this').waitFor();
    await window.call('b.md').getByText('half a reason').waitFor();
    expect(content('b.md')).toBe('before\n');
  });

  it('[AP-3] a request that nobody decides expires, and its card says so', async () => {
    const window = await home().window();
    await window.say('/write_file path=b.md content=late');
    await window.look(window.waiting);
    // After a restart, the stored deadline counts.
    await home().killEverything();
    endTimeSoon(home().database);
    await home().start();
    await window.call('b.md').getByText('Nobody decided in time').first().waitFor();
    await takePicture(window.page, 'state-expired');
    await expectAccessible(window.page);
    await said(window, /Approval timeout/);
    expect([content('b.md'), await window.waiting.count()]).toEqual(['before\n', 0]);
  });
}

const said = (window: WebWindow, words: RegExp): Promise<void> =>
  window.page.locator('.message-assistant').getByText(words).first().waitFor();

/** Moves the stored deadline near, as if minutes had passed. */
function endTimeSoon(path: string): void {
  const database = new DatabaseSync(path, { timeout: 10_000 }); // a killed server may still hold it for a moment
  database.prepare(`update approvals set deadline_at = ? where status = 'pending'`).run(Date.now() + 6_000);
  database.close();
}
