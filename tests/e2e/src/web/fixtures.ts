import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { launchChromium } from './chromium.ts';
import { WebHome, type WebHomeOptions } from './web-home.ts';

/** One Chromium for the stories of a file. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  return () => {
    if (!browser) throw new Error('There is no browser');
    return browser;
  };
}

/** One `WebHome` for the stories of a `describe`: started before the first, closed after the last. */
export function useWebHome(
  browser: () => Browser,
  options: () => WebHomeOptions | Promise<WebHomeOptions> = () => ({}),
): () => WebHome {
  let opened: WebHome | undefined;
  const home = (): WebHome => {
    if (!opened) throw new Error('Nothing is up');
    return opened;
  };
  // The first start may have to build the page.
  beforeAll(async () => {
    opened = await WebHome.open(browser(), await options());
  });
  afterEach(({ task }) => home().endStory({ failed: task.result?.state === 'fail' ? task.name : null }));
  afterAll(() => opened?.close());
  return home;
}
