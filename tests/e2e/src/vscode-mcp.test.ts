/** The recipe for VS Code in docs/mcp.md, word for word, in a plain editor without our extension. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, it } from 'vitest';
import { until } from '../../lab/src/waiting.ts';
import { launcher, Machine } from './up-process.ts';
import { EditorWindow, soon } from './vscode/editor-window.ts';
import { VsCode } from './vscode/vs-code.ts';
import { useBrowser } from './web/fixtures.ts';

const browser = useBrowser();
let machine: Machine;
let workspace: string;
let editor: VsCode;
beforeAll(async () => {
  machine = new Machine();
  workspace = machine.folder('shop', { 'price.ts': 'export const price = 1;\n' });
  await machine.up(workspace, '--json').ready();
  // On the PATH of the login shell, where the editor looks.
  const bin = machine.folder('bin');
  writeFileSync(join(bin, 'countersign'), `#!/bin/sh\nexec "${process.execPath}" "${launcher}" "$@"\n`);
  chmodSync(join(bin, 'countersign'), 0o755);
  for (const name of ['.profile', '.bashrc'])
    writeFileSync(join(machine.home, name), `export PATH="${bin}:$PATH"\n`);
  mkdirSync(join(workspace, '.vscode'));
  writeFileSync(join(workspace, '.vscode/mcp.json'), recipe());
  const settings = { 'chat.disableAIFeatures': false };
  editor = await VsCode.start({ home: machine.home, settings });
});
afterAll(async () => {
  await editor?.close();
  await machine?.close();
});

/** The recipe as docs/mcp.md has it. */
function recipe(): string {
  const page = readFileSync(new URL('../../../docs/mcp.md', import.meta.url), 'utf8');
  const found = /\*\*VS Code\*\*[^`]*`\.vscode\/mcp\.json`[\s\S]*?```json\n([\s\S]*?)```/.exec(page);
  if (!found?.[1]) throw new Error('docs/mcp.md has no recipe for VS Code');
  return found[1];
}

it('[UI-5] VS Code starts countersign mcp by the recipe, and finds the tools', async () => {
  const window = new EditorWindow(await browser().newPage(), editor.address);
  const { page } = window;
  page.setDefaultTimeout(soon.timeout);
  await page.goto(`${editor.address}/?folder=${workspace}`);
  await page.locator('.statusbar-item').first().waitFor(); // from now on it handles keys
  const rows = page.locator('.quick-input-list .monaco-list-row');
  const pick = async (text: string) => rows.filter({ hasText: text }).first().click({ timeout: 5_000 });
  /** The editor may close its list while it starts something: then try again. */
  const chosen = async (what: string): Promise<boolean> => {
    try {
      await window.command('MCP: List Servers');
      await pick('countersign');
      await pick(what);
      return true;
    } catch {
      await page.keyboard.press('Escape');
      return false;
    }
  };
  // Once it runs, it has its own token, with the name that approvals will show. On a busy machine the editor may not
  // have read the login shell's PATH in time: then a person would start it once more, and so does the test.
  const hasToken = async () => {
    const listed = machine.run('tokens', 'list', '--json');
    await listed.ended;
    return listed.out.includes('"VS Code"');
  };
  await until(
    async () => {
      await chosen('Start Server');
      for (let looks = 0; looks < 5; looks += 1) if (await hasToken()) return true;
      return false;
    },
    { otherwise: async () => `VS Code has no token: ${await page.textContent('body')}` },
  );
  await until(() => chosen('Show Output'), {
    otherwise: async () => `There is no output: ${await page.textContent('body')}`,
  });
  await until(async () => /Discovered\s\d+\stools/.test(String(await page.textContent('.part.panel'))), {
    otherwise: async () => `No tools: ${await page.textContent('.part.panel')}`,
  });
});
