/** The packaged extension in a real VS Code, with the real server and a workspace. */
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { agentStories } from './vscode/agent-stories.ts';
import { approvalStories } from './vscode/approval-stories.ts';
import { conversationStories } from './vscode/conversation-stories.ts';
import { EditorHome } from './vscode/editor-home.ts';
import { executionStories } from './vscode/execution-stories.ts';
import { languageStories } from './vscode/language-stories.ts';
import { russianStories } from './vscode/russian-stories.ts';
import { startStories } from './vscode/start-stories.ts';
import { windowStories } from './vscode/window-stories.ts';
import { useBrowser } from './web/fixtures.ts';

describe('the VS Code extension', () => {
  const browser = useBrowser();
  let opened: EditorHome | undefined;
  const home = (): EditorHome => {
    if (!opened) throw new Error('Nothing is open');
    return opened;
  };
  beforeAll(async () => {
    opened = await EditorHome.open(browser());
  });
  afterEach(({ task }) => home().endStory(task.result?.state === 'fail' ? task.name : null), 240_000);
  afterAll(() => opened?.close(), 60_000);

  // The order matters: the first stories sign in and trust the workspace.
  describe('starting', () => startStories(home));
  describe('deciding', () => approvalStories(home));
  describe('the conversation', () => conversationStories(home));
  describe('executing', () => executionStories(home));
  describe('language tools', () => languageStories(home));
  describe('other agents', () => agentStories(home));
  describe('in Russian', () => russianStories(home));
  describe('more than one', () => windowStories(home));
});
