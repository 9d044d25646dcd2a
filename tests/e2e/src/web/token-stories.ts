import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, it } from 'vitest';
import { takePicture } from './pictures.ts';
import type { WebHome } from './web-home.ts';

/** A token that is created on the page works for another vendor's agent until it is revoked there. */
export function tokenStories(home: () => WebHome): void {
  it('[AP-9] creates a token for an MCP agent, shows it once, and revokes it', async () => {
    const window = await home().window();
    const { page } = window;
    await window.go('permissions');
    const panel = page.getByRole('region', { name: 'Tokens' });
    await panel.getByLabel('Program').fill('My agent');
    await panel.getByRole('button', { name: 'Make it' }).click();
    const token = (await panel.locator('.token-text').textContent()) ?? '';
    await takePicture(page, 'token-once');

    const agent = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const url = new URL(`${home().ready.address}/mcp`);
    await agent.connect(new StreamableHTTPClientTransport(url, { requestInit }));
    const list = () => agent.callTool({ name: 'list_directory', arguments: { path: '.' } });
    expect((await list()).structuredContent).toMatchObject({ status: 'success' });

    await panel.getByRole('button', { name: 'I have it' }).click();
    expect(await page.content()).not.toContain(token);
    const row = panel.locator('.row').filter({ hasText: 'My agent' });
    await takePicture(page, 'tokens');
    await row.getByRole('button', { name: /^Revoke/ }).click();
    await row.waitFor({ state: 'detached' });
    await expect(list()).rejects.toThrow();
    await agent.close();
    expect(window.problems.filter((problem) => !problem.includes('401'))).toEqual([]);
  });
}
