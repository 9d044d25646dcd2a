import type { Page } from 'playwright-core';

/**
 * Loads the page anew such that each decision is noted at the moment it is sent: none can be on its way unseen. The
 * answer tells which were made.
 */
export async function noteDecisions(page: Page): Promise<() => Promise<string[]>> {
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
