import { randomBytes } from 'node:crypto';
import type { Client } from '@countersign/client';
import { commands, type Disposable, env, Uri, type Webview, type WebviewView } from 'vscode';
import { executeTool } from '../chat/execute-tool.ts';
import { FetchBridge } from '../chat/fetch-bridge.ts';
import { type FromPage, fromPageSchema, type PagePlace, type ToPage } from '../chat/messages.ts';

export interface ChatViewOptions {
  readonly extensionUri: Uri;
  readonly client: () => Client | undefined;
  readonly place: () => PagePlace;
  readonly decideOutside: (approvalId: string) => string | undefined;
  readonly device: string;
  readonly language: string;
}

const ourCommands = {
  signIn: ['countersign.signIn'],
  startLocalServer: ['countersign.startLocalServer'],
  openFolder: ['workbench.action.files.openFolder'],
  showHistory: ['countersign.history.focus'],
  manageTrust: ['workbench.trust.manage'],
  openRunnerSetting: ['workbench.action.openSettings', 'countersign.runner.enabled'],
} as const;

/** The chat in the side bar: a page that may load nothing, connect to nothing and execute nothing by itself. */
export class ChatView implements Disposable {
  readonly #options: ChatViewOptions;
  readonly #bridge: FetchBridge;
  #view: WebviewView | undefined;

  constructor(options: ChatViewOptions) {
    this.#options = options;
    const { client, decideOutside } = options;
    this.#bridge = new FetchBridge({ client, decideOutside, post: (message) => this.#post(message) });
  }

  dispose(): void {
    this.#bridge.abortAll();
  }

  get isVisible(): boolean {
    return this.#view?.visible ?? false;
  }

  resolve(view: WebviewView): void {
    this.#view = view;
    const { webview } = view;
    const { extensionUri } = this.#options;
    webview.options = {
      enableScripts: true,
      localResourceRoots: [Uri.joinPath(extensionUri, 'dist', 'webview')],
    };
    webview.onDidReceiveMessage((message: unknown) => {
      const parsed = fromPageSchema.safeParse(message);
      if (parsed.success) void this.#receive(parsed.data);
    });
    view.onDidDispose(() => {
      this.#bridge.abortAll();
      this.#view = undefined;
    });
    webview.html = this.#html(webview);
  }

  /** Call it after the account or the folders changed. */
  update({ isOtherAccount = false } = {}): void {
    if (isOtherAccount) this.#bridge.abortAll();
    this.#post({ type: 'place', place: this.#options.place() });
  }

  newConversation(): void {
    this.#post({ type: 'new-conversation' });
  }

  showCall(toolId: string): void {
    this.#post({ type: 'show-call', toolId });
  }

  async #receive(message: FromPage): Promise<void> {
    switch (message.type) {
      case 'ready':
        return this.update();
      case 'fetch':
        return this.#bridge.send(message);
      case 'abort':
        return this.#bridge.abort(message.id);
      case 'command': {
        const [command, ...args] = ourCommands[message.command];
        await commands.executeCommand(command, ...args);
        return;
      }
      case 'EXECUTE_TOOL': {
        const client = this.#options.client();
        const answer = client
          ? await executeTool(client, message)
          : { success: false, status: 401, error: 'Nobody is signed in.', code: 'UNAUTHENTICATED' };
        this.#post({ type: 'TOOL_RESULT', ...(message.id !== undefined && { id: message.id }), answer });
      }
    }
  }

  #post(message: ToPage): void {
    void this.#view?.webview.postMessage(message);
  }

  #html(webview: Webview): string {
    const { extensionUri, device, language } = this.#options;
    const nonce = randomBytes(16).toString('base64');
    const file = (name: string) => webview.asWebviewUri(Uri.joinPath(extensionUri, 'dist', 'webview', name));
    const policy = [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src ${webview.cspSource}`,
      `font-src ${webview.cspSource}`,
      "base-uri 'none'",
      "form-action 'none'",
    ].join('; ');
    return `<!doctype html>
<html lang="${attribute(language)}" data-device="${attribute(device)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="${file('chat.css')}">
<title>Countersign ${attribute(env.appName)}</title>
</head>
<body><div id="page"></div><script type="module" nonce="${nonce}" src="${file('chat.js')}"></script></body>
</html>`;
  }
}

const attribute = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
