import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { recordDecisions } from './record-decisions.ts';
import type { WebHome } from './web-home.ts';
import { attentionMs } from './web-window.ts';

const isInView = (element: Element): boolean => {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= window.innerHeight;
};

/** Whether the end of an element is above the buttons of its card. */
const isShown = (element: Element): boolean => {
  const buttons = element.closest('[data-approval]')?.querySelector('.decision')?.getBoundingClientRect();
  return element.getBoundingClientRect().bottom <= (buttons?.top ?? 0) + 2;
};

/** A card under the pointer keeps its place, and can be decided there (UI-6). */
export function pointerStories(home: () => WebHome): void {
  it('[UI-6] a card that moved under a resting pointer can be clicked', async () => {
    const window = await home().window();
    const { client } = await home().person();
    const paths = ['slid-1.md', 'slid-2.md'];
    for (const path of paths) {
      const tool_params = { path, content: 'x', mode: 'write' };
      await client.executeTool({ body: { tool_name: 'write_file', tool_params } });
    }
    await window.go('approvals');
    const [first, second] = paths.map((path) => window.card(path)) as [Locator, Locator];
    await second.locator('.file-diff').waitFor();
    await window.pointAt(first);
    await first.getByRole('button', { name: 'Approve y' }).click();
    await window.call('slid-1.md').getByText('You approved this').waitFor();
    // The first card is smaller now: the button under the pointer is gone, and the next card is there.
    await expect.poll(() => second.evaluate((card) => card.matches(':hover'))).toBe(true);
    await window.wait(attentionMs);
    await second.getByRole('button', { name: 'Approve y' }).click();
    await window.call('slid-2.md').getByText('You approved this').waitFor();
    expect(window.problems).toEqual([]);
  });

  it('[UI-6] a card that is taller than the view is decided only after each part of it was in sight', async () => {
    const webHome = home();
    const window = await webHome.windowOn({ viewport: { width: 1280, height: 480 } });
    const { page } = window;
    const decided = await recordDecisions(page);
    const content = Array.from({ length: 30 }, (_, n) => `line ${n}`).join('\n');
    await window.say(`/write_file ${JSON.stringify({ path: 'tall.md', content })}`);
    const card = window.waiting;
    await card.locator('.file-diff').waitFor();
    await window.wait(attentionMs);
    // The transcript shows the beginning of the card, with its subject and its buttons.
    const approve = card.getByRole('button', { name: 'Approve y' });
    expect(await card.locator('.card-title').evaluate(isInView)).toBe(true);
    expect(await approve.evaluate(isInView)).toBe(true);
    await window.blur();
    await window.press('y');
    await card.getByText('Not all of it was in sight yet. Here is the rest.').waitFor();
    await window.wait(attentionMs);
    for (let parts = 0; parts < 5 && !(await card.locator('.reasons').evaluate(isShown)); parts += 1) {
      expect(await decided()).toEqual([]);
      await window.press('y');
      await window.wait(attentionMs);
    }
    expect(await decided()).toEqual([]);
    expect(await card.locator('.card-title').evaluate(isInView)).toBe(true);
    await window.press('y');
    expect(await decided()).toEqual([expect.stringMatching(/\/approve$/)]);
    await window.call('tall.md').getByText('You approved this').waitFor();
    expect(window.problems).toEqual([]);
  });

  it.each([-12, -4, 6])(
    '[UI-6] a card that was read is decided by one click, in a view that is %i pixels higher',
    async (pixels) => {
      const viewport = { width: 390, height: 800 };
      const window = await home().windowOn({ viewport });
      const { page } = window;
      const decided = await recordDecisions(page);
      await window.say('/write_file path=fits.md content=x');
      const card = window.waiting;
      await card.locator('.file-diff').waitFor();
      const heightOf = async (one: Locator) => (await one.boundingBox())?.height ?? 0;
      const spare = (await heightOf(page.locator('.transcript'))) - (await heightOf(card));
      await page.setViewportSize({ ...viewport, height: Math.round(viewport.height - spare + pixels) });
      const approve = card.getByRole('button', { name: 'Approve', exact: true });
      await expect.poll(() => approve.evaluate(isInView)).toBe(true);
      await approve.hover();
      await window.wait(attentionMs);
      await approve.click();
      expect(await decided()).toEqual([expect.stringMatching(/\/approve$/)]);
      await window.call('fits.md').getByText('You approved this').waitFor();
    },
  );

  it('[UI-6] no key decides a card below a dialog', async () => {
    const window = await home().windowOn({});
    const { page } = window;
    const decided = await recordDecisions(page);
    await window.say('/write_file path=below.md content=x');
    await window.waiting.locator('.file-diff').waitFor();
    await window.wait(attentionMs);
    await window.blur();
    await window.press('?');
    await page.getByRole('dialog').waitFor();
    await window.wait(attentionMs);
    await window.press('y', 'n');
    expect(await decided()).toEqual([]);
    expect(await window.waiting.locator('form').count()).toBe(0);
    await window.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await window.blur();
    await window.press('y'); // it was covered a moment ago
    expect(await decided()).toEqual([]);
    await window.wait(attentionMs);
    await window.press('y');
    expect(await decided()).toEqual([expect.stringMatching(/\/approve$/)]);
  });

  it('[UI-6] a card under the pointer keeps its place while the conversation grows', async () => {
    const window = await home().window();
    const { page } = window;
    const { client } = await home().person();
    await window.say('/write_file path=looked-at.md content=x');
    const card = window.card('looked-at.md');
    await card.locator('.file-diff').waitFor();
    const approve = card.getByRole('button', { name: 'Approve y' });
    await approve.hover();
    const before = await approve.boundingBox();
    const session_id = (await page.evaluate(() => location.hash)).split('/')[2] as string;
    const tool_params = { path: 'meanwhile.md', content: 'y', mode: 'write' };
    await client.executeTool({ body: { tool_name: 'write_file', tool_params, session_id } });
    await window.card('meanwhile.md').locator('.file-diff').waitFor();
    expect(await approve.boundingBox()).toEqual(before);
    await window.wait(attentionMs);
    await page.mouse.down(); // at the pointer's position
    await page.mouse.up();
    await window.call('looked-at.md').getByText('You approved this').waitFor();
    // The pointer is on no card any more: the page scrolls to the end.
    const next = window.waiting.getByRole('button', { name: 'Approve y' });
    await expect.poll(() => next.evaluate(isInView)).toBe(true);
    await window.look(window.waiting);
    await window.press('y');
    await window.call('meanwhile.md').getByText('You approved this').waitFor();
    expect(window.problems).toEqual([]);
  });

  it('[UI-6] the notice about a click that was too soon does not move the button', async () => {
    const window = await home().window();
    const { page } = window;
    await window.say('/write_file path=hasty.md content=x');
    const card = window.waiting;
    await card.locator('.file-diff').waitFor();
    const approve = card.getByRole('button', { name: 'Approve y' });
    await window.blur();
    await window.stopTime();
    await card.evaluate((element) => {
      element.style.marginBlockStart = '1rem'; // as if something above it grew at this moment
    });
    await approve.hover();
    const before = await approve.boundingBox();
    await approve.click();
    await card.getByText(/^Too quick/).waitFor();
    expect(await approve.boundingBox()).toEqual(before);
    await page.clock.runFor(attentionMs);
    await page.mouse.down();
    await page.mouse.up();
    await page.clock.resume();
    await window.call('hasty.md').getByText('You approved this').waitFor();
  });
}
