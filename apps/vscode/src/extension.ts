import { commands, type ExtensionContext, window } from 'vscode';
import { commandNames } from './editor/command-names.ts';
import type { Workplace } from './editor/workplace.ts';

let opened: Promise<Workplace> | undefined;

/** Registers what the manifest promises and returns at once; the rest is loaded behind it. */
export function activate(context: ExtensionContext): void {
  const startedAt = performance.now();
  // Only when this has returned: an editor that starts waits for its extensions one by one.
  const workplace = new Promise((resolve) => setImmediate(resolve)).then(async () => {
    const { Workplace } = await import('./editor/workplace.ts');
    return Workplace.open(context);
  });
  opened = workplace;
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
  console.info(`Countersign: activated in ${(performance.now() - startedAt).toFixed(1)} ms`);
}

/** The window closes: cards go away and nothing is decided; what executes is stopped and reported. */
export async function deactivate(): Promise<void> {
  await (await opened)?.dispose();
}
