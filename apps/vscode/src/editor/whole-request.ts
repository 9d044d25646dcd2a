import { type Disposable, Uri, window, workspace } from 'vscode';

const scheme = 'countersign-request';

/** Shows a request that is too long for a dialog in an editor, from its first line to its last. */
export class WholeRequests implements Disposable {
  readonly #texts = new Map<string, string>();
  readonly #registered = workspace.registerTextDocumentContentProvider(scheme, {
    provideTextDocumentContent: ({ path }) => this.#texts.get(path) ?? '',
  });

  dispose(): void {
    this.#registered.dispose();
  }

  /** `version` tells apart what was shown of the same request before. */
  async show(version: string, title: string, text: string): Promise<void> {
    const path = `/${version.replaceAll(/[^\w-]/g, '-')}/${title.replaceAll('/', '∕').slice(0, 60)}`;
    this.#texts.set(path, text);
    await window.showTextDocument(Uri.from({ scheme, path }), { preview: true });
  }
}
