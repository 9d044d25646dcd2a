import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenAiCompatibleServer, openAiCompatibleServer } from '@countersign/testing';
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { useWebHome } from './fixtures.ts';
import { takePicture } from './pictures.ts';

/** An agent with a model: its answers, several calls at once, and navigation between screens. */
export function agentStories(browser: () => Browser): void {
  let model: OpenAiCompatibleServer;
  const home = useWebHome(browser, async () => {
    model = await openAiCompatibleServer();
    return {
      files: { 'a.md': 'alpha\n' },
      env: { COUNTERSIGN_MODEL: 'openai-compatible:scripted', COUNTERSIGN_MODEL_URL: model.url },
    };
  });
  beforeAll(() => {
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.test', ...args], {
        cwd: home().ready.workspace,
      });
    git('init', '-q');
    git('add', '.');
    git('commit', '-q', '-m', 'first');
  });
  afterAll(() => model?.close());

  it("[AG-1] a model's answer is Markdown, even to a message that begins with a slash", async () => {
    model.script([[{ text: '# A heading\n\nwith **weight**\n' }]]);
    const window = await home().window();
    await window.say('/explain this');
    const heading = window.transcript.getByRole('heading', { name: 'A heading' });
    await heading.waitFor();
    await window.page.reload();
    await heading.waitFor();
    expect(await window.transcript.textContent()).not.toContain('**');
    await takePicture(window.page, 'answer-to-a-slash');
  });

  it('[AP-5] [AP-7] a commit without hooks says so once, and Ctrl+Enter sends the rejection reason', async () => {
    writeFileSync(join(home().ready.workspace, 'a.md'), 'alpha\nbeta\n');
    model.script([
      [{ call: { name: 'git_commit', args: { message: 'Add beta', files: ['a.md'] } } }],
      [{ text: 'Then not.' }],
    ]);
    const window = await home().window();
    await window.say('Commit it');
    const card = window.card('Agent wants to commit 1 file: Add beta');
    await card.getByText('No hooks run').waitFor();
    expect((await card.textContent())?.match(/hooks/gi)).toHaveLength(1);
    await takePicture(window.page, 'commit-card');
    await window.look(card);
    await window.press('n');
    await window.page.keyboard.type('Write the test first');
    await window.press('Control+Enter');
    await expect.poll(() => window.focused()).toBe('row');
    const row = window.call('Commit “Add beta”');
    await row.getByText('You rejected this').waitFor();
    await row.getByText('Write the test first').waitFor();
    await window.transcript.getByText('Then not.').waitFor();
  });

  it('[AG-3] after Stop nothing is pending, and the focus stays', async () => {
    const run = (id: string) => ({
      call: { name: 'execute_command', args: { command: 'node', args: ['-p', id] }, id },
    });
    model.script([[run('one'), run('two'), run('three')]]);
    const window = await home().window();
    await window.say('Run them');
    await window.waiting.first().waitFor();
    const states = window.page.locator('.call-state');
    // The first call is shown as a card instead.
    expect(await states.allTextContents()).toEqual(['In the queue', 'In the queue']);
    await window.page.getByRole('button', { name: 'Stop' }).click();
    await expect.poll(() => states.allTextContents()).toEqual(['Not started', 'Not started', 'Not started']);
    expect(await window.page.locator('.mark-pending, .countdown').count()).toBe(0);
    expect(await window.transcript.getByText('You stopped this run.').count()).toBe(1);
    expect(await window.focused()).not.toBe('row');
    await takePicture(window.page, 'stopped');
    await window.page.reload();
    await expect.poll(() => states.allTextContents()).toEqual(['Not started', 'Not started', 'Not started']);
  });

  it('[AP-7] a call whose preview failed shows the reason', async () => {
    const edit = { path: 'a.md', old: 'not in there', new: 'x' };
    model.script([[{ call: { name: 'edit_file', args: edit } }], [{ text: 'I look again.' }]]);
    const [window, inbox] = [await home().window(), await home().window()];
    await inbox.go('approvals');
    await inbox.page.getByText('Nothing waits for you').waitFor();
    await window.say('Edit it');
    for (const { page } of [window, inbox]) {
      const row = page.locator('.call').filter({ hasText: 'Edit a.md' });
      await row.getByText('Failed', { exact: true }).waitFor();
      // Without the advice for the agent.
      await row.getByText('The text to replace does not occur in "a.md".', { exact: true }).waitFor();
    }
    expect(await window.page.getByText('The text to replace does not occur').count()).toBe(1);
    await takePicture(inbox.page, 'preview-failed');
  });

  it('[UI-1] every screen keeps its own scroll position, and a new screen starts at its top', async () => {
    const window = await home().window();
    const { client } = await home().person();
    const params = { project_id: home().ready.project_id };
    const { session } = await client.createSession({ params, body: { title: 'Reading' } });
    for (let reads = 0; reads < 40; reads += 1) {
      const body = { tool_name: 'read_file', tool_params: { path: 'a.md' }, session_id: session.session_id };
      await client.executeTool({ body });
    }
    model.script([[{ text: Array.from({ length: 120 }, (_, i) => `Paragraph ${i}\n\n`).join('') }]]);
    const { page } = window;
    const main = page.locator('#content');
    await window.say('Write much');
    await page.getByText('Paragraph 119').waitFor();
    const conversation = page.url().split('#/')[1] ?? '';
    await expect.poll(() => fromEnd(window.transcript)).toBeLessThan(2);
    await scrollTo(window.transcript, 500);

    await window.go('history');
    await page.getByText('Read a.md').nth(20).waitFor();
    expect(await top(main)).toBe(0);
    await scrollTo(main, 600);
    await window.go('metrics');
    await page.getByText('Calls over time').waitFor();
    expect(await top(main)).toBe(0);
    await scrollTo(main, 200);
    await window.go('history');
    await expect.poll(() => top(main)).toBe(600);
    await window.go('metrics');
    await expect.poll(() => top(main)).toBe(200);

    await window.go(conversation);
    await expect.poll(() => top(window.transcript)).toBe(500);
    await page.getByRole('button', { name: 'Newest messages' }).click();
    await window.go('history');
    await window.go(conversation);
    await expect.poll(() => fromEnd(window.transcript)).toBeLessThan(2);
    expect(window.problems).toEqual([]);
  });
}

const top = (box: Locator): Promise<number> => box.evaluate((element) => element.scrollTop);

const fromEnd = (box: Locator): Promise<number> =>
  box.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);

async function scrollTo(box: Locator, to: number): Promise<void> {
  await box.evaluate((element, wanted) => {
    element.scrollTop = wanted;
    return new Promise<void>((resolve) => {
      requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
    });
  }, to);
}
