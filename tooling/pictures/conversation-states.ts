/**
 * `npm run pictures:states [-- --of DIR]`: takes a picture of every state of a conversation in the running product, wide
 * and narrow, light and dark, by one scripted story. They lie in node_modules/.cache/conversation-states/NAME.
 *
 * With `--of DIR` the story runs in another checkout, for example a `git worktree` of an earlier commit that is set up.
 * `compare.html` beside the folders shows them all side by side: look at it with somebody who did not build it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { argv, execPath } from 'node:process';
import { parseArgs } from 'node:util';
import { openAiCompatibleServer } from '@countersign/testing';
import { launchChromium } from '../../tests/e2e/src/web/chromium.ts';
import { WebHome } from '../../tests/e2e/src/web/web-home.ts';
import type { WebWindow } from '../../tests/e2e/src/web/web-window.ts';
import { repositoryRoot } from '../set-up.mjs';
import { ConversationStory, files, states } from './conversation-story.ts';

const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };
const schemes = ['light', 'dark'] as const;

const { values } = parseArgs({ args: argv.slice(2), options: { of: { type: 'string' } } });
const checkout = resolve(values.of ?? repositoryRoot);
const name = execFileSync('git', ['describe', '--always', '--dirty'], {
  cwd: checkout,
  encoding: 'utf8',
}).trim();
const all = join(repositoryRoot, 'node_modules/.cache/conversation-states');
const folder = join(all, name);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const model = await openAiCompatibleServer();
const browser = await launchChromium();
const home = await WebHome.open(browser, {
  files,
  env: { COUNTERSIGN_MODEL: 'openai-compatible:scripted', COUNTERSIGN_MODEL_URL: model.url },
  command: [execPath, join(checkout, 'apps/cli/bin/countersign.mjs')],
});
try {
  const window = await home.window();
  const story = new ConversationStory(home, window, model);
  await story.begin();
  for (const [state, act] of Object.entries(states)) {
    try {
      await act(story);
      await takeAll(window, state);
      console.log(state);
    } catch (error) {
      // A checkout from before a state existed cannot show it.
      await takeAll(window, `${state} (not there)`);
      console.log(`${state}: ${String(error).split('\n', 1)[0]}`);
    }
    await story.endState();
  }
} finally {
  await home.close();
  await browser.close();
  await model.close();
}
writeFileSync(join(all, 'compare.html'), comparison());
console.log(`Look at ${join(all, 'compare.html')}`);

/** One state in every size and scheme. */
async function takeAll(window: WebWindow, state: string): Promise<void> {
  const { page } = window;
  for (const [size, viewport] of Object.entries(sizes)) {
    for (const colorScheme of schemes) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await window.wait(100); // it is laid out again
      await page.screenshot({
        path: join(folder, `${state} ${size} ${colorScheme}.png`),
        animations: 'disabled',
      });
    }
  }
  await page.setViewportSize(sizes.wide);
  await page.emulateMedia({ colorScheme: 'light' });
}

/** A page with a row for each picture and a column for each commit. */
function comparison(): string {
  const commits = readdirSync(all).filter((entry) => !entry.endsWith('.html'));
  const taken = new Set(commits.flatMap((commit) => readdirSync(join(all, commit))));
  const rows = [...taken].sort().map((picture) => {
    const cells = commits.map(
      (commit) => `<td><img loading="lazy" src="${encodeURI(`${commit}/${picture}`)}" alt="none"></td>`,
    );
    return `<tr><th colspan="${commits.length}">${picture}</th></tr><tr>${cells.join('')}</tr>`;
  });
  const head = `<tr>${commits.map((commit) => `<th>${commit}</th>`).join('')}</tr>`;
  return `<!doctype html><title>The conversation</title><style>img{max-width:48vw}</style><table>${head}${rows.join('\n')}</table>\n`;
}
