import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { until } from '../../../lab/src/waiting.ts';
import { expectAccessible } from './accessibility.ts';
import { takePicture } from './pictures.ts';
import type { WebHome } from './web-home.ts';

/** One person on several devices. */
export function severalDevicesStories(home: () => WebHome): void {
  it('[AP-2] two devices decide at once: one decision counts, and both show it', async () => {
    const webHome = home();
    const laptop = await webHome.window();
    const tablet = await webHome.otherDevice();
    const file = join(webHome.ready.workspace, 'both.md');
    await tablet.go('approvals');
    await laptop.say('/write_file path=both.md content=both');
    const here = laptop.card('both.md');
    const there = tablet.card('both.md');
    await Promise.all([laptop.look(here), tablet.look(there)]);
    await tablet.press('n'); // the tablet starts to reject
    await tablet.page.keyboard.type('not on my tablet');
    await Promise.all([laptop.press('y'), tablet.press('Control+Enter')]);

    const lines = () =>
      Promise.all(
        [laptop, tablet].map((one) => one.call('both.md').locator('.call-fact').last().textContent()),
      );
    const approved = ['You approved this', 'You approved this in Chrome on Linux'];
    // The row of the laptop's conversation reads as it will after a reload: both devices have the same name.
    const rejected = ['You rejected this', 'You rejected this'];
    await expect.poll(lines).toSatisfy((both) => equals(both, approved) || equals(both, rejected));
    const isApproved = equals(await lines(), approved);
    const { client } = await webHome.person();
    const { executions } = await client.history({ query: { limit: 1 } });
    await laptop.page
      .locator('.call')
      .filter({ hasText: 'both.md' })
      .getByText(/^(Done|Rejected)/)
      .first()
      .waitFor();
    expect([executions[0]?.tool_params.path, existsSync(file)]).toEqual(['both.md', isApproved]);
    expect(await Promise.all([laptop.waiting.count(), tablet.waiting.count()])).toEqual([0, 0]);
  });

  it('[AP-2] a card that is decided elsewhere says so at once, and on which device', async () => {
    const webHome = home();
    const window = await webHome.window();
    const person = await webHome.person();
    await window.say('/write_file path=remote.md content=remote');
    await window.look(window.waiting);
    const { approvals } = await person.client.listApprovals();
    const { approval_id, project_id, digest } = approvals[0] as (typeof approvals)[number];
    await person.client.approve({
      params: { approval_id, project_id },
      body: { digest: String(digest), device: 'the phone' },
    });
    await window.call('remote.md').getByText('You approved this on the phone').waitFor();
    await takePicture(window.page, 'state-decided-elsewhere');
    await expectAccessible(window.page);
    await window.press('y'); // decides nothing, because no card is pending
    await until(() => existsSync(join(webHome.ready.workspace, 'remote.md')), {
      otherwise: () => 'It was not written',
    });
    expect(readFileSync(join(webHome.ready.workspace, 'remote.md'), 'utf8')).toBe('remote');
    expect(window.problems).toEqual([]);
  });

  it('[AP-8] a file that changed after its card was shown is not written; the new card says so, also after a reload', async () => {
    const webHome = home();
    const file = join(webHome.ready.workspace, 'stale.md');
    writeFileSync(file, 'as it was\n');
    const window = await webHome.window();
    const { page } = window;
    await window.say('/write_file path=stale.md content=new');
    await window.look(window.waiting);
    writeFileSync(file, 'as somebody else wants it\n');
    await window.press('y');
    const askedAgain = window.waiting.getByText(/This was allowed before, but nothing ran/);
    await askedAgain.waitFor();
    await window.waiting.getByText('as somebody else wants it').waitFor();
    expect(readFileSync(file, 'utf8')).toBe('as somebody else wants it\n');
    await page.reload();
    await askedAgain.waitFor();
    await takePicture(page, 'state-asked-again');
    await window.look(window.waiting);
    await window.press('y');
    await until(() => readFileSync(file, 'utf8') === 'new', {
      otherwise: () => 'It was not written',
    });
    expect(window.problems).toEqual([]);
  });

  it('[AP-10] a window that is reloaded during an approval shows the card again', async () => {
    const webHome = home();
    const window = await webHome.window();
    await window.say('/write_file path=again.md content=again');
    await window.look(window.waiting);
    await window.press('e');
    await window.page.reload();
    await window.look(window.waiting);
    expect(await window.card('again.md').count()).toBe(1);
    await window.page.locator('.message-user').getByText('/write_file path=again.md').waitFor();
    expect(await window.page.title()).toBe('(1) Countersign');
    await window.press('y');
    await window.call('again.md').getByText('You approved this').waitFor();
  });
}

const equals = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
