import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectAccessible } from './accessibility.ts';
import { useWebHome } from './fixtures.ts';
import { takePicture } from './pictures.ts';
import { WebWindow } from './web-window.ts';

/** Unusual states of the page: each has a screen that says what to do. */
export function unusualStateStories(browser: () => Browser): void {
  const home = useWebHome(browser, () => ({
    files: { 'a.md': 'a\n' },
    env: { COUNTERSIGN_MODEL: 'anthropic:claude-sonnet-4-5' }, // without a key
  }));

  const seen = async (window: WebWindow, name: string): Promise<void> => {
    await takePicture(window.page, `state-${name}`);
    await expectAccessible(window.page);
  };

  it('[UI-1] says how to sign in, and refuses a used link', async () => {
    const window = await WebWindow.open(await home().stranger(), home().ready.address);
    const { page } = window;
    await page.goto(home().ready.address);
    await page.getByRole('heading', { name: 'Sign in to Countersign' }).waitFor();
    await page.getByText('npx countersign up').waitFor();
    await seen(window, 'signed-out');
    const used = home().ready.sign_in_link;
    await (await home().window()).page.getByText('What should the agent do?').waitFor();
    await page.goto('about:blank');
    await page.goto(used);
    await page.getByText(/That link did not work/).waitFor();
    await seen(window, 'link-used');
  });

  it('[UI-1] empty lists say what they will contain', async () => {
    const window = await home().window();
    await window.page.getByText('What should the agent do?').waitFor();
    await seen(window, 'empty-chat');
    const words = {
      approvals: 'Nothing waits for you',
      history: 'No calls yet',
      metrics: 'No calls in this time',
      permissions: /No grants/,
    };
    for (const [screen, text] of Object.entries(words)) {
      await window.go(screen);
      await window.page.getByText(text).first().waitFor();
      await seen(window, `empty-${screen}`);
    }
  });

  it('[AG-1] says that there is no key, and still takes typed calls', async () => {
    const window = await home().window();
    const { page } = window;
    await page.getByText('What should the agent do?').waitFor();
    await page.getByRole('button', { name: /^Model/ }).click();
    await page.getByText(/The configured model cannot be used/).waitFor();
    await page.getByText('ANTHROPIC_API_KEY').first().waitFor();
    await seen(window, 'no-key');
    await window.press('Escape');
    await window.say('/read_file path=a.md', { anew: false });
    await page.locator('.call').getByText(/^Done/).waitFor();
  });

  it('[UI-2] a call in the transcript is run again, and asks again (founding documents: implementation-plan)', async () => {
    const window = await home().window();
    const { page } = window;
    const file = () => join(home().ready.workspace, 'again.md');
    await window.say('/write_file path=again.md content="once more"');
    await window.look(window.waiting);
    await window.press('y');
    await page.locator('.call-completed').waitFor();
    rmSync(file());

    await window.toggle('again.md').click();
    await page.getByRole('button', { name: 'Run again' }).click();
    await window.look(window.waiting);
    await seen(window, 'run-again');
    expect(existsSync(file())).toBe(false);
    await window.press('y');
    await expect.poll(() => existsSync(file())).toBe(true);
    expect(await page.locator('.call').count()).toBe(2);
  });

  it('[UI-1] says what is loading, and offers a retry for what cannot be loaded', async () => {
    const window = await home().window();
    const { page } = window;
    await page.getByText('What should the agent do?').waitFor();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/my/tools/history*', async (route) => {
      await held;
      await route.continue();
    });
    await window.go('history');
    await page.locator('#content').getByText('Loading…').waitFor();
    await seen(window, 'loading');
    release();
    await page.locator('#content').getByText('Loading…').waitFor({ state: 'detached' });
    await page.unroute('**/my/tools/history*');

    const nobody = '01900000-0000-7000-8000-000000000000';
    await window.go(`history/${nobody}`); // there is no such call
    await page.getByText('That could not be read.').waitFor();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await seen(window, 'error');
    await window.go(`chat/${nobody}`); // nor such a conversation
    await page.getByText('That could not be read.').waitFor();
    await seen(window, 'error-chat');
  });

  it('[EX-10] says which folder to connect, and how, when there is no runner', async () => {
    const window = await home().window();
    const { page } = window;
    const person = await home().person();
    await page.getByText('What should the agent do?').waitFor();
    await person.client.createProject({ body: { name: 'elsewhere', workspace: '/home/me/else where' } });
    await page.reload();
    await page.getByRole('combobox', { name: 'Project' }).selectOption('elsewhere');
    await page.getByText("npx countersign connect '/home/me/else where'").waitFor();
    await seen(window, 'no-runner');
    await window.go('runners');
    await page.getByText('Connected', { exact: true }).first().waitFor();
    expect(window.problems).toEqual([]);
  });
}
