import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import type { WebHome } from './web-home.ts';
import { attentionMs } from './web-window.ts';

const isInView = (element: Element): boolean => {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= window.innerHeight;
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
