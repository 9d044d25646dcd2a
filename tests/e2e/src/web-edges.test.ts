/** The web page in hard cases: outages, hostile text, unusual states and large amounts of data. */
import { describe } from 'vitest';
import { agentStories } from './web/agent-stories.ts';
import { conversationStories } from './web/conversation-stories.ts';
import { useBrowser } from './web/fixtures.ts';
import { hostileStories } from './web/hostile-stories.ts';
import { largeStories } from './web/large-stories.ts';
import { outageStories } from './web/outage-stories.ts';
import { unusualStateStories } from './web/unusual-state-stories.ts';

describe('the web page', () => {
  const browser = useBrowser();
  describe('outages', () => outageStories(browser));
  describe('an agent', () => agentStories(browser));
  describe('a conversation', () => conversationStories(browser));
  describe('hostile text', () => hostileStories(browser));
  describe('states', () => unusualStateStories(browser));
  describe('large amounts', () => largeStories(browser));
});
