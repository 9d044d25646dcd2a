import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, vi } from 'vitest';
import { launchChromium } from './chromium.ts';

/** One Chromium for the stories of a file. */
export function useBrowser(): () => Browser {
  vi.setConfig({ testTimeout: 120_000 }); // whole stories, perhaps on a busy machine
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
