import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';
import { type EditorWindow, soon } from './editor-window.ts';

/** The log line of the editor's MCP client; it contains non-breaking spaces. */
const found = /Discovered\s\d+\stools/;

/** The editor's own agent uses our MCP endpoint, through the editor's list of servers and MCP client. */
export function agentStories(home: () => EditorHome): void {
  it("[UI-5] the editor's own agent is offered the endpoint, and connects with its own token", async () => {
    const { window } = home();
    await tell(window, 'Start Server');
    await window.line(found).waitFor();
    await window.picture('mcp');
    const project_id = await home().projectId();
    expect(await agentTokens(home())).toMatchObject([{ scope: 'agent', project_id }]);
  });

  it('[AP-9] an agent whose access was revoked does not reconnect by itself', async () => {
    const { window } = home();
    const [made] = await agentTokens(home());
    await tell(window, 'Stop Server');
    await window.line('Connection state: Stopped').waitFor();
    // Wait first: a connection that loses its token while it starts ends in another way.
    await home().person.client.revokeToken({ params: { token_id: made?.token_id ?? '' } });
    await tell(window, 'Start Server');
    const question = window.dialog.filter({ hasText: "You revoked the access of this editor's own agent" });
    await question.waitFor();
    await window.picture('mcp-revoked');
    await window.answer('Cancel');
    await question.waitFor({ state: 'detached' });
    expect(await agentTokens(home())).toEqual([]);

    await tell(window, 'Start Server');
    await question.waitFor();
    await window.answer('Give It Access Again');
    await expect.poll(() => window.line(found).count(), soon).toBe(2);
    expect(await agentTokens(home())).toHaveLength(1);
    await window.command('View: Hide Panel');
  });

  it('[UI-5] the recipe of docs/mcp.md connects too', async () => {
    const { window } = home();
    const docs = readFileSync(new URL('../../../../docs/mcp.md', import.meta.url), 'utf8');
    const [, recipe = ''] = /\*\*VS Code\*\*.*?```json\n(.*?)```/s.exec(docs) ?? [];
    home().write('.vscode/mcp.json', recipe);
    await tell(window, 'Start Server', /^countersign/);
    await window.line(/Starting\sserver\scountersign/).waitFor();
    await window.line(found).waitFor();
    await window.picture('mcp-recipe');
    await window.command('View: Hide Panel');
  });
}

const agentTokens = async ({ person }: EditorHome) =>
  (await person.client.listTokens()).tokens.filter(
    ({ name, revoked_at }) => name === 'VS Code (MCP)' && revoked_at === null,
  );

async function tell(window: EditorWindow, action: string, server = /^Countersign/): Promise<void> {
  await window.command('MCP: List Servers');
  await window.choose(server);
  await window.choose(action);
}
