/** The web page in real Chromium, with the real `countersign up` and its sample workspace. */
import { describe } from 'vitest';
import { decisionStories } from './web/decision-stories.ts';
import { looksStories } from './web/looks-stories.ts';
import { loopStories } from './web/loop-stories.ts';
import { notificationStories } from './web/notification-stories.ts';
import { stillStories } from './web/still-stories.ts';
import { togetherStories } from './web/together-stories.ts';
import { tokenStories } from './web/token-stories.ts';
import { useBrowser } from './web/use-browser.ts';
import { useHousehold } from './web/use-household.ts';

describe('the web page', () => {
  const home = useHousehold(useBrowser());
  describe('the whole loop', () => loopStories(home));
  describe('deciding', () => decisionStories(home));
  describe('tokens', () => tokenStories(home));
  describe('pointer and scrolling', () => stillStories(home));
  describe('notifications', () => notificationStories(home));
  describe('several devices', () => togetherStories(home));
  describe('appearance', () => looksStories(home));
});
