import { commands, type ExtensionContext, window } from 'vscode';
import { commandNames } from './editor/command-names.ts';
import type { Workplace } from './editor/workplace.ts';

let opened: Promise<Workplace> | undefined;

/** Registers what the manifest declares and returns at once. The rest is loaded afterwards. */
export function activate(context: ExtensionContext): void {
  // Load after this function has returned, because the editor waits for it during its start.
  const workplace = new Promise((resolve) => setImmediate(resolve)).then(async () => {
    const { Workplace } = await import('./editor/workplace.ts');
    return Workplace.open(context);
  });
  opened = workplace;
  workplace.catch((error: unknown) => window.showErrorMessage(`Countersign: ${String(error)}`));
  for (const name of commandNames)
    context.subscriptions.push(
      commands.registerCommand(name, async (...args: unknown[]) => (await workplace).run(name, ...args)),
    );
  context.subscriptions.push(
    window.registerWebviewViewProvider(
      'countersign.chat',
      { resolveWebviewView: async (view) => (await workplace).showChat(view) },
      { webviewOptions: { retainContextWhenHidden: true } },
    ),
  );
}

/** Called when the window closes. Stops and reports running calls, and leaves pending approvals pending. */
export async function deactivate(): Promise<void> {
  const workplace = await opened?.catch(() => undefined); // nothing to close if opening failed
  await workplace?.dispose();
}
