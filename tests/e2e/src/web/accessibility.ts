import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

interface AxeProblem {
  readonly rule: string;
  readonly impact: string;
  readonly where: readonly string[];
}

/** Fails if axe finds a serious or critical accessibility problem on the screen. */
export async function expectAccessible(page: Page): Promise<void> {
  // Injected through the debugger, because the content security policy forbids other scripts.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const found = await page.evaluate(async (): Promise<AxeProblem[]> => {
    const { axe } = window as unknown as { axe: typeof import('axe-core') };
    const { violations } = await axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, impact, nodes }) => ({
      rule: id,
      impact: impact ?? 'minor',
      where: nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)}\n${failureSummary}`),
    }));
  });
  expect(found.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toEqual([]);
}
