import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { until } from '../../../lab/src/waiting.ts';
import { expectAccessible } from './accessibility.ts';
import { takePicture } from './pictures.ts';
import { recordDecisions } from './record-decisions.ts';
import { type Device, phone, type WebHome } from './web-home.ts';
import { attentionMs, type WebWindow } from './web-window.ts';

const languages = {
  en: { chat: 'Chat', approve: 'Approve', settings: 'Settings', model: /^Model/, help: 'Keyboard shortcuts' },
  ru: { chat: 'Чат', approve: 'Одобрить', settings: 'Настройки', model: /^Модель/, help: 'Клавиши' },
} as const;

/** Each screen on a laptop and a phone, light and dark, in both languages: takes pictures, checks accessibility. */
export function appearanceStories(home: () => WebHome): void {
  const devices: readonly (readonly [string, keyof typeof languages, Device])[] = [
    ['light', 'en', { colorScheme: 'light', locale: 'en-GB' }],
    ['dark-ru', 'ru', { colorScheme: 'dark', locale: 'ru-RU' }],
    ['phone-light-ru', 'ru', { ...phone, colorScheme: 'light', locale: 'ru-RU' }],
    ['phone-dark', 'en', { ...phone, colorScheme: 'dark', locale: 'en-US' }],
  ];
  it.each(devices)('[UI-1] %s: every screen', async (name, language, device) => {
    const window = await home().windowOn(device);
    const { session, tool } = await somethingToShow(home());
    const { page } = window;
    const words = languages[language];
    await page.locator('nav').waitFor();
    expect(await page.evaluate(() => document.documentElement.lang)).toBe(language);
    await page.getByRole('link', { name: words.chat }).waitFor();

    const seen = async (screen: string): Promise<void> => {
      await takePicture(page, `${screen}-${name}`);
      await expectAccessible(page);
      expect(await overflow(window)).toBe(0);
    };
    await seen('start');
    await window.go(`chat/${session}`);
    await window.waiting.first().locator('.what pre, .what .file-diff, .what dl').first().waitFor();
    await seen('chat');
    await window.go('approvals');
    await expect.poll(() => window.waiting.locator('.what').count()).toBe(2);
    // With its shortcut where there is a keyboard.
    await page
      .getByRole('button', { name: new RegExp(`^${words.approve}( y)?$`) })
      .first()
      .waitFor();
    await seen('approvals');
    await window.go('history');
    await page.locator('table a').first().waitFor();
    await seen('history');
    await window.go(`history/${tool}`);
    await page.locator('#content .code-block').first().waitFor();
    await seen('call');
    for (const [screen, sign] of [
      ['metrics', 'svg[role="img"], .plot svg, figure svg'],
      ['permissions', '.panel .row, .panel .empty-line'],
      ['runners', '.tile'],
    ] as const) {
      await window.go(screen);
      await page.locator(sign).first().waitFor();
      await seen(screen);
    }
    await page.getByRole('button', { name: words.settings }).click();
    await page.getByRole('group').first().waitFor();
    await seen('settings');
    await page.getByRole('button', { name: words.help }).click();
    await page.getByRole('dialog').waitFor();
    await seen('shortcuts');
    expect([window.problems, window.elsewhere]).toEqual([[], []]);
  });

  it('[UI-1] [UI-6] a phone decides with one tap, once the card was visible for half a second', async () => {
    const webHome = home();
    const window = await webHome.windowOn(phone);
    const { page } = window;
    const person = await webHome.person();
    const decided = await recordDecisions(page);
    await page.locator('nav').waitFor();
    await window.go('approvals');
    const tool_params = { path: 'tapped.md', content: 'tapped', mode: 'write' } as const;
    await person.client.executeTool({ body: { tool_name: 'write_file', tool_params } });
    const card = window.card('tapped.md');
    await card.locator('.file-diff').waitFor();
    const approve = card.getByRole('button', { name: 'Approve', exact: true });
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000); // from now on the test advances time
    await card.evaluate((element) => element.scrollIntoView({ block: 'end' }));
    // Not by a margin: at the end of a list that scrolls, the card would stay where it is.
    const moveTo = (top: string) =>
      card.evaluate((element, to) => {
        element.style.top = to;
      }, top);
    await moveTo('-0.5rem'); // it moved when the clock was set
    await page.clock.runFor(200); // the card is visible at this place
    await approve.tap();
    expect(await decided()).toEqual([]);
    await window.blur(); // a tap also sets the focus, which would count too
    await page.clock.runFor(attentionMs);
    await moveTo('-1rem'); // as if something above it became smaller
    await page.clock.runFor(100);
    await approve.tap();
    expect(await decided()).toEqual([]);
    await window.blur();
    await page.clock.runFor(attentionMs);
    await approve.tap();
    expect(await decided()).toEqual([expect.stringMatching(/\/approve$/)]);
    await page.clock.resume();
    await window.call('tapped.md').getByText('You approved this').waitFor();
    await until(() => existsSync(join(webHome.ready.workspace, 'tapped.md')), {
      otherwise: () => 'It was not written',
    });
  });

  it('[UI-1] the end of a long path is visible', async () => {
    const { page } = await home().windowOn({});
    const path = page.locator('.project-path');
    await path.waitFor();
    const [isCut, endsInside] = await path.evaluate((box) => {
      const text = box.querySelector('bdi')?.firstChild as Text;
      const end = document.createRange();
      end.setStart(text, text.length - 1);
      end.setEnd(text, text.length);
      const { left, right } = box.getBoundingClientRect();
      const last = end.getBoundingClientRect();
      return [box.scrollWidth > box.clientWidth, last.left >= left && last.right <= right + 1];
    });
    expect([isCut, endsInside]).toEqual([true, true]);
  });

  it('[UI-1] the chosen colours and language are kept', async () => {
    const window = await home().windowOn({});
    const { page } = window;
    await page.getByText('What should the agent do?').waitFor();
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Dark' }).click();
    await expect.poll(ground).not.toBe(light);
    const dark = await ground();
    await page.getByRole('button', { name: 'Русский' }).click();
    await page.getByRole('link', { name: 'Чат' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Чат' }).waitFor();
    expect(await ground()).toBe(dark);
  });
}

/** How far the page is wider than its window: a phone must not scroll sideways. */
const overflow = ({ page }: WebWindow): Promise<number> =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return Math.max(0, scrollWidth - clientWidth);
  });

let shown: { session: string; tool: string } | undefined;

/** Two conversations: one with a completed and a pending call, one of high risk. Created again only if decided. */
async function somethingToShow(home: WebHome): Promise<{ session: string; tool: string }> {
  const { client } = await home.person();
  const { project_id } = home.ready;
  const complete = async () =>
    (await client.listApprovals()).approvals.filter(({ preview }) => preview !== null);
  if (shown && (await complete()).length === 2) return shown;
  const say = async (title: string, content: string): Promise<string> => {
    const { session } = await client.createSession({ params: { project_id }, body: { title } });
    const { session_id } = session;
    await client.sendMessage({ params: { project_id }, body: { content, session_id } });
    return session_id;
  };
  // Not in one message: there a write would wait for the command before it (EX-4).
  await say('Install anew', '/shell_exec {"command": "rm -rf build && npm ci"}');
  const session = await say(
    'Tidy up',
    '/list_directory path=.\n/write_file path=README.md content="# Greetings\n\nA small example.\n"',
  );
  await expect.poll(async () => (await complete()).length).toBe(2);
  const query = { tool_name: 'list_directory', session_id: session };
  const { executions } = await client.history({ query });
  shown = { session, tool: executions[0]?.tool_id as string };
  return shown;
}
