import type { Client } from '@countersign/client';
import { type QuickInputButton, type QuickPickItem, ThemeIcon, window } from 'vscode';
import { said } from '../approvals/request-title.ts';
import { grantsInForce, grantText } from '../history/grant-text.ts';
import type { Words } from '../words.ts';
import { deliberateAnswer } from './deliberate-answer.ts';

type Item = QuickPickItem & { readonly grantId: string };

/** Lists the grants in force (AP-4). The bin of a row revokes it; so does choosing the row, after a question. */
export async function showGrants(client: Client, words: Words): Promise<void> {
  const { grants } = words;
  const revoke: QuickInputButton = { iconPath: new ThemeIcon('trash'), tooltip: grants.revoke };
  const list = window.createQuickPick<Item>();
  list.title = grants.title;
  list.placeholder = grants.hint;
  list.matchOnDescription = true;
  const read = async () => {
    list.busy = true;
    try {
      const { grants: all } = await client.listGrants();
      list.items = grantsInForce(all, new Date()).map((grant) => ({
        ...grantText(grant, words),
        buttons: [revoke],
        grantId: grant.grant_id,
      }));
      if (list.items.length === 0) list.placeholder = grants.none;
    } finally {
      list.busy = false;
    }
  };
  const take = async ({ grantId, label }: Item) => {
    await client.revokeGrant({ params: { grant_id: grantId } });
    window.setStatusBarMessage(grants.revoked(label), 5_000);
  };
  const report = (error: unknown) => void window.showErrorMessage(said(error as Error, words));
  list.onDidHide(() => list.dispose());
  list.onDidTriggerItemButton(({ item }) => void take(item).then(read).catch(report));
  list.onDidAccept(async () => {
    const [item] = list.selectedItems;
    if (!item) return;
    list.hide();
    const answer = await deliberateAnswer(grants.question(item.label), item.description ?? '', grants.revoke);
    if (answer === grants.revoke) await take(item).catch(report);
  });
  list.show();
  await read().catch((error: unknown) => {
    list.hide();
    report(error);
  });
}
