import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { Household, type HouseholdOptions } from './household.ts';

/** One household for the stories of a `describe`: started before the first, closed after the last. */
export function useHousehold(
  browser: () => Browser,
  options: () => HouseholdOptions | Promise<HouseholdOptions> = () => ({}),
): () => Household {
  let household: Household | undefined;
  const home = (): Household => {
    if (!household) throw new Error('Nothing is up');
    return household;
  };
  // The first start may have to build the page.
  beforeAll(async () => {
    household = await Household.open(browser(), await options());
  });
  afterEach(({ task }) => home().endStory({ failed: task.result?.state === 'fail' ? task.name : null }));
  afterAll(() => household?.close());
  return home;
}
