/** The web page in real Chromium, with the real `countersign up` and its sample workspace. */
import { describe } from 'vitest';
import { appearanceStories } from './web/appearance-stories.ts';
import { decisionStories } from './web/decision-stories.ts';
import { useBrowser, useWebHome } from './web/fixtures.ts';
import { loopStories } from './web/loop-stories.ts';
import { notificationStories } from './web/notification-stories.ts';
import { pointerStories } from './web/pointer-stories.ts';
import { severalDevicesStories } from './web/several-devices-stories.ts';
import { tokenStories } from './web/token-stories.ts';

describe('the web page', () => {
  const home = useWebHome(useBrowser());
  describe('the whole loop', () => loopStories(home));
  describe('deciding', () => decisionStories(home));
  describe('tokens', () => tokenStories(home));
  describe('pointer and scrolling', () => pointerStories(home));
  describe('notifications', () => notificationStories(home));
  describe('several devices', () => severalDevicesStories(home));
  describe('appearance', () => appearanceStories(home));
});
