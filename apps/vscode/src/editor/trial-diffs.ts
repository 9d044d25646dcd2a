import { diffSides, parseUnifiedDiff, type TrialFile, trialOf } from '@countersign/approvals';
import type { ApprovalRequest } from '@countersign/tool-runner';
import { commands, type Disposable, Uri, window, workspace } from 'vscode';

const scheme = 'countersign-trial';

/** The editor reads all files of a diff at once. Cards list up to 1,000. */
const mostFiles = 200;

/** Shows what a tried command changed (RN-13) in the editor's diff of several files. The tab closes with its request. */
export class TrialDiffs implements Disposable {
  /** Texts by URI. */
  readonly #texts = new Map<string, string>();
  /** Titles of open tabs by approval. The editor does not tell which files a tab of this kind shows. */
  readonly #titles = new Map<string, string>();
  readonly #registered = workspace.registerTextDocumentContentProvider(scheme, {
    provideTextDocumentContent: (uri) => this.#texts.get(String(uri)) ?? '',
  });

  dispose(): void {
    this.#registered.dispose();
  }

  /** Returns false if there is nothing to compare. */
  async open(request: ApprovalRequest, title: string): Promise<boolean> {
    const { approval_id, digest } = request;
    const files = (trialOf(request)?.files ?? []).filter(({ diff }) => diff !== undefined);
    if (files.length === 0) return false;
    await this.close(approval_id);
    const shown = files.slice(0, mostFiles);
    const label = shown.length < files.length ? `${title} (${shown.length}/${files.length})` : title;
    this.#titles.set(approval_id, label);
    const resources = shown.map((file) => this.#resource(file, approval_id, digest ?? ''));
    await commands.executeCommand('vscode.changes', label, resources);
    return true;
  }

  async close(approvalId: string): Promise<void> {
    const title = this.#titles.get(approvalId);
    if (title === undefined) return;
    this.#titles.delete(approvalId);
    const tabs = window.tabGroups.all.flatMap((group) => group.tabs).filter(({ label }) => label === title);
    await window.tabGroups.close(tabs, true).then(undefined, () => {}); // the person has closed one meanwhile
    for (const uri of this.#texts.keys())
      if (Uri.parse(uri).authority === approvalId) this.#texts.delete(uri);
  }

  /** The file's name, then its two sides; a side is missing where the file is new or deleted. */
  #resource({ path, change, diff = '' }: TrialFile, authority: string, digest: string) {
    const { before, after } = diffSides(parseUnifiedDiff(diff));
    const side = (name: string, text: string): Uri => {
      const uri = Uri.from({ scheme, authority, path: `/${path}`, query: `${name} ${digest}` });
      this.#texts.set(String(uri), text);
      return uri;
    };
    return [
      Uri.from({ scheme, authority, path: `/${path}` }),
      change === 'created' ? undefined : side('before', before),
      change === 'deleted' ? undefined : side('after', after),
    ];
  }
}
