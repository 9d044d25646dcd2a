import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';
import { type EditorWindow, soon } from './editor-window.ts';

/** As the editor's client logs it; its spaces do not break. */
const found = /Discovered\s\d+\stools/;

/** The editor's own agent and our MCP endpoint, by the editor's own list of servers and its own client. */
export function agentStories(home: () => EditorHome): void {
  it("[UI-5] the endpoint is offered to the editor's own agent, which connects with a token of its own", async () => {
    const { window } = home();
    await tell(window, 'Start Server');
    await window.line(found).waitFor();
    await window.picture('mcp');
    const project_id = await home().projectId();
    expect(await agentTokens(home())).toMatchObject([{ scope: 'agent', project_id }]);
  });

  it('[AP-9] an agent whose access was revoked does not come back by itself', async () => {
    const { window } = home();
    const [made] = await agentTokens(home());
    await tell(window, 'Stop Server');
    await window.line('Connection state: Stopped').waitFor();
    // Not before: a connection that loses its token says so in its own time, and ends otherwise.
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

  it('[UI-5] the recipe of docs/mcp.md connects as well', async () => {
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
