import { commands, type ExtensionContext, window } from 'vscode';
import { commandNames } from './editor/command-names.ts';
import type { Workplace } from './editor/workplace.ts';

let opened: Promise<Workplace> | undefined;

/** Registers what the manifest declares and returns at once; the rest is loaded afterwards. */
export function activate(context: ExtensionContext): void {
  // After this returns: an editor that starts waits for each extension.
  const workplace = new Promise((resolve) => setImmediate(resolve)).then(async () => {
    const { Workplace } = await import('./editor/workplace.ts');
    return Workplace.open(context);
  });
  opened = workplace;
  workplace.catch((error: unknown) => window.showErrorMessage(`Countersign: ${String(error)}`));
  for (const name of commandNames)
    context.subscriptions.push(
      commands.registerCommand(name, async (argument: unknown) => (await workplace).run(name, argument)),
    );
  context.subscriptions.push(
    window.registerWebviewViewProvider(
      'countersign.chat',
      { resolveWebviewView: async (view) => (await workplace).showChat(view) },
      { webviewOptions: { retainContextWhenHidden: true } },
    ),
  );
}

/** Called when the window closes: cards go and nothing is decided; running calls are stopped and reported. */
export async function deactivate(): Promise<void> {
  const workplace = await opened?.catch(() => undefined); // nothing to close if opening failed
  await workplace?.dispose();
}
