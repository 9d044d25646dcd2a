/**
 * `npm run pictures`: takes every picture of the documents from the running product, with the sample project.
 * `npm run pictures -- NAME…` takes some: page, terminal, explain, vscode, emacs. It needs chromium, tmux and emacs.
 * Review the changed pictures before you commit them.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv, env, execPath } from 'node:process';
import { EditorHome } from '../../tests/e2e/src/vscode/editor-home.ts';
import { installVsCode, isVsCodeInstalled } from '../../tests/e2e/src/vscode/real-vs-code.ts';
import { launchChromium } from '../../tests/e2e/src/web/chromium.ts';
import { WebHome } from '../../tests/e2e/src/web/web-home.ts';
import { until } from '../../tests/lab/src/waiting.ts';
import { repositoryRoot } from '../set-up.mjs';
import { runErt } from '../test/ert-run.ts';
import { drawScreen } from './screen-picture.ts';
import { TerminalScreen } from './terminal-screen.ts';

type Browser = Awaited<ReturnType<typeof launchChromium>>;

const launcher = join(repositoryRoot, 'apps/cli/bin/countersign.mjs');
const readCall = '/read_file path=src/greeting.js';
const editCall = '/edit_file path=src/greeting.js old=Helo new=Hello';

/** The page with an edit that waits, and its diff. */
async function page(browser: Browser): Promise<void> {
  const home = await WebHome.open(browser);
  try {
    const window = await home.window();
    await window.say(`${readCall}\n${editCall}\n/run node --test`);
    await window.look(window.waiting.first());
    await window.blur();
    await window.page.screenshot({ path: fileAt('docs/images/page.png'), animations: 'disabled' });
  } finally {
    await home.close();
  }
}

/** `countersign chat` with the same edit, decided by keys. */
async function terminal(browser: Browser): Promise<void> {
  const home = await WebHome.open(browser);
  let screen: TerminalScreen | undefined;
  try {
    screen = new TerminalScreen([execPath, launcher, 'chat'], home.env);
    await screen.shows('Enter sends');
    screen.type(readCall);
    screen.press('Enter');
    await screen.shows('Helo', 'Enter sends');
    screen.type(editCall);
    await screen.shows(`${editCall}▏`);
    screen.press('Enter');
    await screen.shows('62 → 63 bytes', 'y approve');
    const [, ...lines] = screen.capture().split('\n'); // the first one names the sample project's temporary folder
    write(
      'docs/images/terminal.svg',
      drawScreen(['$ npx countersign chat', ...lines].join('\n'), 'countersign chat'),
    );
  } finally {
    screen?.close();
    await home.close();
  }
}

/** The output of `policy explain` for a shell line. */
function explain(): void {
  const line = 'npm ci && rm -rf dist && git push';
  const workspace = fileAt('apps/cli/sample-workspace');
  const args = ['policy', 'explain', 'shell_exec', `command=${line}`];
  const printed = execFileSync(execPath, [launcher, ...args], {
    cwd: workspace,
    encoding: 'utf8',
    env: { ...env, FORCE_COLOR: '1', LANG: 'en' },
  });
  const command = `npx countersign policy explain shell_exec command='${line}'`;
  const screen = `$ ${command}\n${printed.replace(workspace, '/home/ada/greetings')}`;
  write('docs/images/policy-explain.svg', drawScreen(screen, command));
}

/** VS Code with its own diff, and the card in the chat. */
async function vscode(browser: Browser): Promise<void> {
  if (!isVsCodeInstalled() && !(await installVsCode())) throw new Error('VS Code could not be installed');
  const home = await EditorHome.open(browser);
  try {
    const { window } = home;
    home.write('src/greeting.js', readFileSync(fileAt('apps/cli/sample-workspace/src/greeting.js'), 'utf8'));
    await window.signIn(await home.signInLink());
    await until(async () => (await window.state()).includes('until you trust'), {
      otherwise: () => window.state(),
    });
    await window.trust();
    await until(async () => (await window.state()).includes('approved tool calls run here'), {
      otherwise: () => window.state(),
    });
    await window.reload();
    await window.closeEditors();
    await window.openChat();
    await window.say(editCall);
    await window.card('greeting.js').waitFor();
    await window.review('greeting.js');
    await window.page.screenshot({ path: fileAt('apps/vscode/images/approval.png'), animations: 'disabled' });
  } finally {
    await home.close();
  }
}

/** Emacs: the screens that its test in a real terminal saves. */
async function emacs(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-screens-'));
  try {
    env.COUNTERSIGN_SCREENS = folder;
    const { failures } = await runErt(['countersign-terminal-a-person']);
    if (failures.length > 0) throw new Error(`Emacs: ${failures.join(', ')}`);
    for (const name of ['chat-with-card', 'card', 'hunks', 'high', 'list', 'menu']) {
      const screen = readFileSync(join(folder, `${name}.ansi`), 'utf8');
      write(`apps/emacs/images/${name}.svg`, drawScreen(screen, `Emacs: ${name}`));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const fileAt = (path: string): string => join(repositoryRoot, path);
const write = (path: string, text: string): void => writeFileSync(fileAt(path), text);

const pictures: Readonly<Record<string, (browser: Browser) => void | Promise<void>>> = {
  page,
  terminal,
  explain,
  vscode,
  emacs,
};

const names = argv.length > 2 ? argv.slice(2) : Object.keys(pictures);
const browser = await launchChromium();
try {
  for (const name of names) {
    const make = pictures[name];
    if (make === undefined)
      throw new Error(`There is no picture "${name}". There are: ${Object.keys(pictures).join(', ')}.`);
    console.log(`Making ${name} …`);
    await make(browser);
  }
} finally {
  await browser.close();
}
