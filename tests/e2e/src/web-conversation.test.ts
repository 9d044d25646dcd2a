/** A conversation in the web page: writing while the agent works, modes, taking back, and the list of conversations. */
import { describe } from 'vitest';
import { cannotIsolate } from '../../../packages/tool-runner/src/isolation/isolation-fixture.test-data.ts';
import { useBrowser } from './web/fixtures.ts';
import { queueStories } from './web/queue-stories.ts';
import { takeBackStories } from './web/take-back-stories.ts';
import { trialStories } from './web/trial-stories.ts';

describe('the web page', () => {
  const browser = useBrowser();
  describe('while the agent works', () => queueStories(browser));
  describe('taking back', () => takeBackStories(browser));
  describe.skipIf(cannotIsolate)('trying a command first', () => trialStories(browser));
});
