import type { Page } from 'playwright-core';

/**
 * Reloads the page and records each decision at the moment it is sent, so that none is missed. Returns a function that
 * lists them.
 */
export async function recordDecisions(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    const send = window.fetch;
    const decisions: string[] = [];
    Object.assign(window, { decisions });
    window.fetch = (input, init) => {
      const address = input instanceof Request ? input.url : String(input);
      if (/\/(approve|confirm|reject)$/.test(address)) decisions.push(address);
      return send(input, init);
    };
  });
  await page.reload();
  return () => page.evaluate(() => (window as unknown as { decisions: string[] }).decisions);
}
