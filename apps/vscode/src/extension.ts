import { commands, type ExtensionContext, window } from 'vscode';
import { commandNames } from './editor/command-names.ts';
import type { Workplace } from './editor/workplace.ts';

let opened: Promise<Workplace> | undefined;

/** Registers what the manifest promises and returns at once; the rest is loaded behind it. */
export function activate(context: ExtensionContext): void {
  const workplace = import('./editor/workplace.ts').then(({ Workplace }) => Workplace.open(context));
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
}

/** The window closes: cards go away and nothing is decided; what executes is stopped and reported. */
export async function deactivate(): Promise<void> {
  await (await opened)?.dispose();
}
