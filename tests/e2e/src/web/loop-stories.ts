import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { until } from '../../../lab/src/waiting.ts';
import { takePicture } from './pictures.ts';
import type { WebHome } from './web-home.ts';
import type { WebWindow } from './web-window.ts';

const greeting = ({ ready }: WebHome): string => join(ready.workspace, 'src/greeting.js');

/** The whole product with its first message: read, change with an approval, run the tests. */
export function loopStories(home: () => WebHome): void {
  it('[UI-1] [UI-4] runs the whole loop by keyboard alone, from the sign-in link on', async () => {
    const webHome = home();
    const window = await webHome.window();
    const { page } = window;
    await page.getByText('What should the agent do?').waitFor();
    expect(page.url()).not.toContain('sign-in'); // RE-5: the code is removed from the URL
    await takePicture(page, 'chat-empty');

    await expect.poll(() => window.focused()).toBe('composer'); // on load
    await window.blur();
    await window.press('/');
    expect(await window.focused()).toBe('composer');
    const [first, ...others] = (webHome.ready.first_message ?? '').split('\n');
    await page.keyboard.type(first ?? '');
    for (const line of others) {
      await window.press('Shift+Enter');
      await page.keyboard.type(line);
    }
    await window.press('Enter');

    const change = window.card('Agent wants to change src/greeting.js');
    await change.getByText(/return `Hello, /).waitFor();
    expect(await window.focused()).toBe('composer'); // UI-6: a new card never takes the focus
    await expect.poll(() => page.title()).toBe('(1) Countersign');
    await takePicture(page, 'chat-approval');
    await tabTo(window, 'waiting card');
    await window.look(change);
    await window.press('y');
    await changedOnDisk(webHome);

    const command = window.card('node --test').and(window.waiting);
    await command.waitFor();
    await window.press('j');
    expect(await window.focused()).toBe('waiting card');
    await window.look(command);
    await window.press('y');
    await window.transcript
      .getByText(/pass 1/)
      .first()
      .waitFor();
    await expect.poll(() => page.title()).toBe('Countersign');
    await expect.poll(() => page.locator('.call-completed').count()).toBe(3);
    expect(window.problems).toEqual([]);
  });

  it('[UI-1] [UI-4] runs the whole loop by mouse', async () => {
    const webHome = home();
    writeFileSync(greeting(webHome), readFileSync(greeting(webHome), 'utf8').replace('Hello', 'Helo'));
    const window = await webHome.window();
    const { page } = window;
    await page.getByRole('button', { name: '/edit_file path=src/greeting.js' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();

    const change = window.card('Agent wants to change src/greeting.js');
    await window.pointAt(change);
    await change.getByRole('button', { name: 'Side by side' }).click();
    await takePicture(page, 'chat-approval-side-by-side');
    await window.pointAt(change); // the other layout has moved the buttons
    await change.getByRole('button', { name: 'Approve y' }).click();
    await changedOnDisk(webHome);
    await window.call('Edited src/greeting.js').getByText('You approved this').waitFor();

    const command = window.card('node --test').and(window.waiting);
    await window.pointAt(command);
    await command.getByRole('button', { name: 'Approve y' }).click();
    await window.call('node --test').getByText('You approved this').waitFor();
    const run = window.call('Ran node --test');
    await run.getByText(/^Done/).waitFor();
    await run.locator('button.call-toggle').click();
    await run
      .locator('.terminal')
      .getByText(/pass 1\b/)
      .waitFor();
    await takePicture(page, 'chat-output');
    expect(window.problems).toEqual([]);
  });

  it('[UI-1] a message of several lines is visible while it is typed', async () => {
    const { composer, page } = await home().window();
    await composer.fill('a sentence that goes on and on, '.repeat(12));
    const heights = await composer.evaluate((field) => [field.clientHeight, field.scrollHeight]);
    expect(heights[0]).toBe(heights[1]);
    await composer.fill(''.padEnd(8_000, 'word '));
    const { height = 0 } = (await composer.boundingBox()) ?? {};
    expect(height).toBeLessThan((page.viewportSize()?.height ?? 0) / 2);
    await composer.fill('');
  });
}

const changedOnDisk = (webHome: WebHome) =>
  until(() => readFileSync(greeting(webHome), 'utf8').includes('Hello, '), {
    otherwise: () => `It was not changed: ${readFileSync(greeting(webHome), 'utf8')}`,
  });

/** Tabs backwards, from the composer. */
async function tabTo(window: WebWindow, what: string): Promise<void> {
  for (let steps = 0; steps < 12; steps += 1) {
    await window.press('Shift+Tab');
    if ((await window.focused()) === what) return;
  }
  throw new Error(`The keyboard does not get to the ${what}`);
}
