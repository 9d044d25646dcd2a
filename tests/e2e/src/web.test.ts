/** The web page as a person has it: real Chromium, the real `countersign up`, a real workspace. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';
import { launchChromium } from './web/chromium.ts';
import { decisionStories } from './web/decision-stories.ts';
import { hostileStories } from './web/hostile-stories.ts';
import { largeStories } from './web/large-stories.ts';
import { looksStories } from './web/looks-stories.ts';
import { loopStories } from './web/loop-stories.ts';
import { outageStories } from './web/outage-stories.ts';
import { statesStories } from './web/states-stories.ts';
import { togetherStories } from './web/together-stories.ts';
import { useHousehold } from './web/use-household.ts';

let launched: Browser;
const browser = (): Browser => launched;

beforeAll(async () => {
  launched = await launchChromium();
});
afterAll(() => launched?.close());

describe('in the sample workspace', () => {
  const home = useHousehold(browser);
  describe('the whole loop', () => loopStories(home));
  describe('deciding', () => decisionStories(home));
  describe('several places', () => togetherStories(home));
  describe('looks', () => looksStories(home));
});
describe('outages', () => outageStories(browser));
describe('hostile text', () => hostileStories(browser));
describe('states', () => statesStories(browser));
describe('much of everything', () => largeStories(browser));
