/** The web page as a person has it: real Chromium, the real `countersign up`, its sample workspace. */
import { describe } from 'vitest';
import { decisionStories } from './web/decision-stories.ts';
import { looksStories } from './web/looks-stories.ts';
import { loopStories } from './web/loop-stories.ts';
import { notificationStories } from './web/notification-stories.ts';
import { stillStories } from './web/still-stories.ts';
import { togetherStories } from './web/together-stories.ts';
import { useBrowser } from './web/use-browser.ts';
import { useHousehold } from './web/use-household.ts';

describe('the web page', () => {
  const home = useHousehold(useBrowser());
  describe('the whole loop', () => loopStories(home));
  describe('deciding', () => decisionStories(home));
  describe('what is looked at', () => stillStories(home));
  describe('notifications', () => notificationStories(home));
  describe('several places', () => togetherStories(home));
  describe('looks', () => looksStories(home));
});
