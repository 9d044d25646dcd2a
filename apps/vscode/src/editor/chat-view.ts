import { randomBytes } from 'node:crypto';
import type { Client } from '@countersign/client';
import { commands, type Disposable, env, Uri, type Webview, type WebviewView } from 'vscode';
import { executeTool } from '../chat/execute-tool.ts';
import { FetchBridge } from '../chat/fetch-bridge.ts';
import {
  type EditorChoices,
  type FromPage,
  fromPageSchema,
  type PageMention,
  type PagePlace,
  type ToPage,
} from '../chat/messages.ts';
import type { ShownConversation } from './mode-picker.ts';

export interface ChatViewOptions {
  readonly extensionUri: Uri;
  readonly client: () => Client | undefined;
  readonly place: () => PagePlace;
  readonly decideOutside: (approvalId: string) => string | undefined;
  readonly review: (approvalId: string) => void;
  readonly insertCode: (text: string) => void;
  readonly findMentions: (projectId: string, typed: string) => Promise<readonly PageMention[]>;
  readonly choices: () => EditorChoices;
  readonly showsConversation: (shown: ShownConversation) => void;
  readonly device: string;
  readonly language: string;
}

/** The editor's commands that the page may run. */
const pageCommands = {
  signIn: ['countersign.signIn'],
  startLocalServer: ['countersign.startLocalServer'],
  retryNow: ['countersign.retryNow'],
  openFolder: ['workbench.action.files.openFolder'],
  showHistory: ['countersign.history.focus'],
  manageTrust: ['workbench.trust.manage'],
  openRunnerSetting: ['workbench.action.openSettings', 'countersign.runner.enabled'],
} as const;

/** The chat in the side bar: a page that cannot load resources, open connections or run commands by itself. */
export class ChatView implements Disposable {
  readonly #options: ChatViewOptions;
  readonly #bridge: FetchBridge;
  #view: WebviewView | undefined;
  #isReady = false;
  /** Messages for a page that is still loading. */
  #waiting: ToPage[] = [];
  #description = '';

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
      this.#isReady = false;
    });
    view.description = this.#description;
    webview.html = this.#html(webview);
  }

  /** Must be called after the account or the folders changed. */
  update({ isOtherAccount = false } = {}): void {
    if (isOtherAccount) this.#bridge.abortAll();
    this.#post({ type: 'place', place: this.#options.place() });
  }

  /** Shows mode and model in the title of the view. Must be called after another choice. */
  describe(description: string): void {
    this.#description = description;
    if (this.#view) this.#view.description = description;
    this.#post({ type: 'choices', ...this.#options.choices() });
  }

  retryNow(): void {
    this.#post({ type: 'retry-now' });
  }

  /** Puts text into the message field. */
  compose(message: Omit<Extract<ToPage, { type: 'compose' }>, 'type'>): void {
    this.#postWhenReady({ type: 'compose', ...message });
  }

  newConversation(): void {
    this.#postWhenReady({ type: 'new-conversation' });
  }

  showCall(toolId: string): void {
    this.#postWhenReady({ type: 'show-call', toolId });
  }

  async #receive(message: FromPage): Promise<void> {
    switch (message.type) {
      case 'ready':
        this.#isReady = true;
        this.update();
        this.describe(this.#description);
        for (const waiting of this.#waiting.splice(0)) this.#post(waiting);
        return;
      case 'fetch':
        return this.#bridge.send(message);
      case 'abort':
        return this.#bridge.abort(message.id);
      case 'at':
        return this.#options.showsConversation(message);
      case 'review':
        return this.#options.review(message.approvalId);
      case 'insert-code':
        return this.#options.insertCode(message.text);
      case 'find-mentions': {
        const { id, projectId, typed } = message;
        const mentions = await this.#options.findMentions(projectId, typed).catch(() => []);
        return this.#post({ type: 'mentions', id, mentions });
      }
      case 'command': {
        const [command, ...args] = pageCommands[message.command];
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

  /** Posts what the person asked for as soon as the page is there. */
  #postWhenReady(message: ToPage): void {
    if (this.#isReady) this.#post(message);
    else this.#waiting.push(message);
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
