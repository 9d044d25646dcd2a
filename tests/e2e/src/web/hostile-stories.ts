import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type OpenAiCompatibleServer, openAiCompatibleServer } from '@countersign/testing';
import type { Browser, Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { useWebHome } from './fixtures.ts';
import { takePicture } from './pictures.ts';
import { attentionMs } from './web-window.ts';

/** HTML that would run, an image that would call another host, colours, a bell, a right-to-left mark. */
const hostile = (elsewhere: string): string =>
  [
    '<script>window.hurt = 1</script>',
    `<img src="${elsewhere}/pixel.png" onerror="window.hurt = 1">`,
    `<iframe src="${elsewhere}/frame"></iframe><svg onload="window.hurt = 1"></svg>`,
    '\u001b[31mred\u001b[0m bell\u0007 back\u0008 \u202egnp.exe\u202c zero\u200bwidth',
  ].join('\n');

const hostileName = `<img src=x onerror="window.hurt=1">.md`;

/** The page shows hostile content as text, and only the page can talk to the server (UI-6, RE-5). */
export function hostileStories(browser: () => Browser): void {
  let model: OpenAiCompatibleServer;
  let other: OtherHost;
  const home = useWebHome(browser, async () => {
    model = await openAiCompatibleServer();
    other = await otherHost();
    return {
      files: { 'print.js': `process.stdout.write(${JSON.stringify(hostile(other.address))});\n` },
      env: { COUNTERSIGN_MODEL: 'openai-compatible:scripted', COUNTERSIGN_MODEL_URL: model.url },
    };
  });
  afterAll(async () => {
    await model?.close();
    other?.server.close();
  });

  it('[UI-6] file names, contents, output, diffs and answers with HTML and control characters are shown as text', async () => {
    const text = hostile(other.address);
    mkdirSync(join(home().ready.workspace, 'odd'));
    // Without the bytes that would make it a binary file, which cannot be read.
    const readable = text.replaceAll('\u0007', '').replaceAll('\u0008', '');
    writeFileSync(join(home().ready.workspace, 'odd', hostileName), readable);
    const write = { path: `odd/${hostileName}`, content: `${text}\nmore`, mode: 'write' };
    model.script([
      [
        { call: { name: 'list_directory', args: { path: 'odd' } } },
        { call: { name: 'read_file', args: { path: `odd/${hostileName}` }, id: 'call_read' } },
        { call: { name: 'execute_command', args: { command: 'node', args: ['print.js'] }, id: 'call_run' } },
      ],
      [{ call: { name: 'write_file', args: write } }],
      [
        { text: `# Done\n\n${text}\n\n![pixel](${other.address}/markdown.png)\n\n` },
        { text: '[a link](javascript:window.hurt=1) and `code`\n\n```js\nconst safe = "<b>";\n```\n' },
      ],
    ]);
    const window = await home().window();
    const { page } = window;
    await window.say(`Look at <b>everything</b> \u202e`);
    await window.look(window.waiting);
    await window.press('y');
    const change = window.waiting.filter({ hasText: 'write_file' });
    await change.locator('.file-diff').waitFor();
    await takePicture(page, 'hostile-card');
    await page.keyboard.press('j');
    await window.look(change);
    const card = await change.textContent();
    expect(card).toContain(hostileName);
    expect(card).toContain('⟨U+202E⟩');
    await window.press('y');
    await page.locator('.markdown h1').getByText('Done').waitFor();
    for (const row of await page.locator('.call').all()) {
      await row.locator('button.call-toggle').click();
    }
    const results = page.locator('.call-details').filter({ hasText: '<script>window.hurt' });
    await expect.poll(() => results.count()).toBe(3); // a file's content, a command's output, a change
    const shown = await window.transcript.textContent();
    for (const seen of [
      hostileName,
      'red bell⟨U+0007⟩', // the colour is drawn, the bell is shown
      'zero⟨U+200B⟩width',
      '<iframe src=',
    ]) {
      expect(shown).toContain(seen);
    }
    await takePicture(page, 'hostile-transcript');
    for (const screen of ['history', 'approvals', 'permissions', 'metrics']) {
      await window.go(screen);
      await page.locator('h1').filter({ visible: true }).first().waitFor();
      expect(await strangers(page)).toEqual([]);
    }
    expect(await page.evaluate(() => 'hurt' in globalThis)).toBe(false);
    expect([window.elsewhere, other.asked, window.problems]).toEqual([[], [], []]);
  });

  it('[AP-7] a shell line is shown completely and in order, even with right-to-left letters', async () => {
    const window = await home().window();
    const person = await home().person();
    const command = `echo \u05d0 1 2 3 \u05d1 > right.js\ncat > Makefile <<E\n${'x'.repeat(300)}\nthe end\nE`;
    await person.client.executeTool({ body: { tool_name: 'shell_exec', tool_params: { command } } });
    await window.go('approvals');
    const card = window.card('right.js');
    const line = card.locator('.shell-text');
    await line.getByText('the end').waitFor();
    expect(await line.textContent()).toBe(command);
    expect(await line.evaluate(firstLineFromLeftToRight)).toBe('echo \u05d0 1 2 3 \u05d1 > right.js');
    await window.look(card);
    await window.press('n', 'Enter');
    await window.call('right.js').getByText('You rejected this').waitFor();
  });

  it('[AP-7] empty lines or spaces cannot hide an effect without a notice', async () => {
    const window = await home().window();
    const person = await home().person();
    const content = `harmless${' '.repeat(500)}first${'\n'.repeat(60)}second\n`;
    const tool_params = { path: 'long.md', content, mode: 'write' };
    await person.client.executeTool({ body: { tool_name: 'write_file', tool_params } });
    await window.go('approvals');
    const card = window.card('long.md');
    const second = card.locator('.diff-text').getByText('second');
    const isSeen = () =>
      second.evaluate((line) => {
        const box = line.closest('.diff-box')?.getBoundingClientRect();
        return box !== undefined && line.getBoundingClientRect().bottom <= box.bottom;
      });
    await card.getByText('Not all of it is in sight.').waitFor();
    expect(await isSeen()).toBe(false);
    await takePicture(window.page, 'card-long');
    await card.getByRole('button', { name: /^Show all \d+ lines$/ }).click();
    await card.getByText('Not all of it is in sight.').waitFor({ state: 'detached' });
    expect(await isSeen()).toBe(true);
    await window.look(card);
    // The card is taller than the view: a key scrolls to what was not in sight yet, and decides nothing (UI-6).
    await window.press('n');
    await card.getByText('Not all of it was in sight yet. Here is the rest.').waitFor();
    const reason = card.getByRole('textbox');
    await expect
      .poll(async () => {
        await window.wait(attentionMs);
        if ((await reason.count()) === 0) await window.press('n');
        return reason.count();
      })
      .toBe(1);
    await window.press('Enter');
    await window.call('long.md').getByText('You rejected this').waitFor();
  });

  it('[UI-6] the content security policy is in force', async () => {
    const window = await home().window();
    const { page } = window;
    await page.getByText('What should the agent do?').waitFor();
    const violated = await page.evaluate(async (elsewhere) => {
      const seen: string[] = [];
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) =>
        seen.push(effectiveDirective),
      );
      const inline = document.createElement('script');
      inline.textContent = 'window.injected = 1';
      const remote = document.createElement('script');
      remote.src = `${elsewhere}/script.js`;
      const image = new Image();
      image.src = `${elsewhere}/image.png`;
      const frame = document.createElement('iframe');
      frame.src = `${elsewhere}/frame`;
      const styled = document.createElement('p');
      styled.setAttribute('style', 'color: red');
      const handler = document.createElement('button');
      handler.setAttribute('onclick', 'window.injected = 1');
      document.body.append(inline, remote, image, frame, styled, handler);
      handler.click();
      await fetch(`${elsewhere}/fetch`).catch(() => {});
      // Violations are reported in later tasks.
      while (seen.length < 7) await new Promise((resolve) => setTimeout(resolve, 10));
      return seen.sort();
    }, other.address);
    expect(violated).toEqual([
      'connect-src',
      'frame-src',
      'img-src',
      'script-src-attr',
      'script-src-elem',
      'script-src-elem',
      'style-src-attr',
    ]);
    expect(await page.evaluate(() => 'injected' in globalThis)).toBe(false);
    expect(other.asked).toEqual([]);
    const { status, headers } = await fetch(home().ready.address);
    expect([status, headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringMatching(/^default-src 'none'.*frame-ancestors 'none'$/),
    ]);
  });

  it('[RE-5] no token is in a URL, and a cookie alone can decide nothing', async () => {
    const device = await home().otherDevice(); // signs in with a link
    const person = await home().person();
    await device.page.getByText('What should the agent do?').waitFor();
    const tool_params = { path: 'wanted.md', content: 'x', mode: 'write' } as const;
    const { approval_id } = await person.client.executeTool({
      body: { tool_name: 'write_file', tool_params },
    });
    await device.go('approvals');
    await device.card('wanted.md').locator('.file-diff').waitFor();
    const secrets = await device.page.evaluate(() =>
      Object.values(localStorage).filter((v) => v.startsWith('ey')),
    );
    expect(secrets).toHaveLength(1);
    const addresses = [...device.asked, device.page.url()];
    expect(addresses.filter((url) => /sign-in=|eyJ/.test(url) || url.includes(secrets[0] as string))).toEqual(
      [],
    );
    const cookies = await device.page.context().cookies(`${home().ready.address}/my/stream`);
    expect(cookies).toMatchObject([
      { name: 'countersign_stream', httpOnly: true, sameSite: 'Strict', path: '/my' },
    ]);

    // Requests of the page itself, with the cookie but without a bearer token.
    const answers = await device.page.evaluate(async (id) => {
      const json = { 'content-type': 'application/json' };
      const post = await fetch(`/my/approvals/${id}/confirm`, { method: 'POST', headers: json, body: '{}' });
      const read = await fetch('/my/approvals');
      const stop = new AbortController();
      const stream = await fetch('/my/stream', { signal: stop.signal });
      stop.abort();
      return [post.status, read.status, stream.status];
    }, approval_id);
    expect(answers).toEqual([401, 401, 200]);

    // Requests of a page on another port, to which the browser sends the same cookie.
    await device.page.goto(other.address);
    const refused = await device.page.evaluate(
      async ([address, id]) => {
        const body = '{}';
        const ways: RequestInit[] = [
          { method: 'POST', mode: 'no-cors', credentials: 'include', body },
          { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body },
        ];
        const url = `${address}/my/approvals/${id}/confirm`;
        return Promise.all(
          ways.map((way) =>
            fetch(url, way).then(
              ({ type }) => type,
              () => 'failed',
            ),
          ),
        );
      },
      [home().ready.address, approval_id],
    );
    expect(refused).toEqual(['failed', 'failed']);
    const { approvals } = await person.client.listApprovals();
    expect(approvals.map(({ approval_id: id, status }) => [id, status])).toEqual([[approval_id, 'pending']]);
  });
}

/** Elements that only hostile text could have created. */
const strangers = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [
      ...document.querySelectorAll(
        'img, iframe, object, embed, [onerror], [onload], a[href^="javascript:"], body script',
      ),
    ].map(({ outerHTML }) => outerHTML),
  );

interface OtherHost {
  readonly server: Server;
  readonly address: string;
  readonly asked: string[];
}

/** A server that counts as another host for a browser; it records requests. */
async function otherHost(): Promise<OtherHost> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    if (request.url !== '/' && request.url !== '/favicon.ico') asked.push(String(request.url));
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>another</title>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, asked, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** The characters of an element's first line in the order in which the browser drew them. */
function firstLineFromLeftToRight(element: Element): string {
  const text = element.firstChild as Text;
  const drawn = [...text.data].map((character, i) => {
    const range = document.createRange();
    range.setStart(text, i);
    range.setEnd(text, i + 1);
    return { character, box: range.getBoundingClientRect() };
  });
  const top = drawn[0]?.box.top;
  return drawn
    .filter(({ box }) => box.width > 0 && box.top === top)
    .sort((a, b) => a.box.left - b.box.left)
    .map(({ character }) => character)
    .join('');
}
