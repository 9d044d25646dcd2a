import { hostname } from 'node:os';
import { ApiError, systemClock } from '@countersign/client';
import type { CountersignEvent, Execution } from '@countersign/protocol';
import { handlerSettingNames, ripgrepOfEditor } from '@countersign/tool-runner';
import { commands, type ExtensionContext, env, Uri, type WebviewView, window, workspace } from 'vscode';
import { PendingApprovals } from '../approvals/pending-approvals.ts';
import { requestTitle, said, told } from '../approvals/request-title.ts';
import type { PagePlace, PageProject } from '../chat/messages.ts';
import { type Account, Accounts } from '../connection/account.ts';
import { deviceName } from '../connection/device-name.ts';
import { CommandLog } from '../history/command-log.ts';
import { FolderRunner } from '../runner/folder-runner.ts';
import { type Words, wordsFor } from '../words.ts';
import { showPendingTree } from './approval-tree.ts';
import { AskCommands, type Question } from './ask-commands.ts';
import { ChatView } from './chat-view.ts';
import type { CommandName } from './command-names.ts';
import { EditorApprovals } from './editor-approvals.ts';
import { showGrants } from './grant-list.ts';
import { HistoryView } from './history-view.ts';
import { insertCode } from './insert-code.ts';
import { EditorLanguageFeatures } from './language-features.ts';
import { LocalServer } from './local-server.ts';
import { channelLogger } from './log.ts';
import { McpEndpoint } from './mcp-endpoint.ts';
import { ModePicker } from './mode-picker.ts';
import { ModelPicker } from './model-picker.ts';
import { notifyOfNew } from './notifications.ts';
import { openDocuments } from './open-documents.ts';
import { askForLink } from './sign-in-box.ts';
import { stateText, statusBar } from './status-bar.ts';
import { completeStep, followWalkthrough } from './walkthrough.ts';
import { WorkspaceFiles } from './workspace-files.ts';

/** The state of this window: the account, a runner for each folder, and the views where the person decides. */
export class Workplace {
  readonly #context: ExtensionContext;
  readonly #words: Words;
  /** Names this editor on decisions. */
  readonly #device: string;
  readonly #accounts: Accounts;
  readonly #pending = new PendingApprovals<FolderRunner>(systemClock);
  readonly #folders = new Map<string, FolderRunner>();
  readonly #features = new EditorLanguageFeatures();
  readonly #log = window.createOutputChannel('Countersign', { log: true });
  readonly #output;
  readonly #status;
  readonly #approvals: EditorApprovals;
  readonly #history: HistoryView;
  readonly #chat: ChatView;
  readonly #ask: AskCommands;
  readonly #mode: ModePicker;
  readonly #model: ModelPicker;
  readonly #mcp: McpEndpoint;
  readonly #localServer: LocalServer;
  readonly #commandLog: CommandLog;
  /** The ids of the projects that were offered to the editor's own agent. */
  #offered = '';
  #opening: Promise<void> = Promise.resolve();
  /** A question that waits until its folder is connected. */
  #question: Question | undefined;

  private constructor(context: ExtensionContext) {
    this.#context = context;
    const words = wordsFor(env.language);
    this.#words = words;
    this.#device = deviceName(env.appName);
    this.#output = window.createOutputChannel(words.output.channel);
    this.#commandLog = new CommandLog(words, (text) => this.#output.append(text));
    this.#accounts = new Accounts({ secrets: context.secrets, device: this.#device });
    const client = () => this.#accounts.current?.client;
    this.#status = statusBar(words);
    this.#approvals = new EditorApprovals({ pending: this.#pending, client, words });
    this.#history = new HistoryView({
      client,
      words,
      projects: () => this.#projects(),
    });
    const files = new WorkspaceFiles(words);
    this.#model = new ModelPicker({
      client,
      words,
      memory: context.workspaceState,
      onChange: () => this.#showChoices(),
    });
    this.#mode = new ModePicker({ client, words, onChange: () => this.#showChoices() });
    this.#ask = new AskCommands({
      words,
      isSignedIn: () => this.#accounts.current !== undefined,
      compose: (question) => void this.#compose(question),
    });
    this.#chat = new ChatView({
      extensionUri: context.extensionUri,
      client,
      place: () => this.#place(),
      decideOutside: (approvalId) => this.#decideOutside(approvalId),
      review: (approvalId) => void this.#approvals.review(approvalId),
      insertCode: (text) => void insertCode(text, words),
      findMentions: async (projectId, typed) => {
        const folder = [...this.#folders.values()].find(({ project }) => project?.project_id === projectId);
        return folder ? files.mentions(folder.folder, typed) : [];
      },
      choices: () => ({ model: this.#model.chosen, mode: this.#mode.next }),
      showsConversation: (shown) => void this.#mode.show(shown),
      device: this.#device,
      language: env.language,
    });
    const { secrets, extension } = context;
    const version = String(extension.packageJSON.version);
    this.#mcp = new McpEndpoint({
      account: () => this.#accounts.current,
      projects: () => this.#projects(),
      secrets,
      words,
      version,
    });
    this.#localServer = new LocalServer({
      words,
      signIn: (link) => this.#signIn(link),
      askForLink: (prompt, signal) => this.#askForLink(prompt, signal),
    });
  }

  static async open(context: ExtensionContext): Promise<Workplace> {
    const workplace = new Workplace(context);
    await workplace.#open();
    return workplace;
  }

  run(command: CommandName, argument?: unknown, more?: unknown): unknown {
    switch (command) {
      case 'countersign.signIn':
        return this.#signIn(argument);
      case 'countersign.signOut':
        return this.#signOut();
      case 'countersign.startLocalServer':
        return this.#localServer.start();
      case 'countersign.retryNow':
        return this.#retryNow();
      case 'countersign.openChat':
        return commands.executeCommand('countersign.chat.focus');
      case 'countersign.newConversation':
        this.#chat.newConversation();
        return commands.executeCommand('countersign.chat.focus');
      case 'countersign.ask':
        return this.#ask.ask(argument, more);
      case 'countersign.askAboutFile':
        return this.#ask.askAboutFile(argument, more);
      case 'countersign.fix':
        return this.#ask.fix(argument, more);
      case 'countersign.pickModel':
        return this.#model.pick();
      case 'countersign.pickMode':
        return this.#mode.pick();
      case 'countersign.showPending':
        // While nothing is pending, the list takes no room.
        return commands.executeCommand(
          this.#pending.all.length > 0 ? 'countersign.pending.focus' : 'countersign.chat.focus',
        );
      case 'countersign.review':
        return this.#approvals.review(approvalIdOf(argument));
      case 'countersign.nextPending':
        return this.#approvals.step(1);
      case 'countersign.previousPending':
        return this.#approvals.step(-1);
      case 'countersign.approve':
        return this.#approvals.approve(approvalIdOf(argument));
      case 'countersign.approveMore':
        return this.#approvals.approveMore(approvalIdOf(argument));
      case 'countersign.reject':
        return this.#approvals.reject(approvalIdOf(argument));
      case 'countersign.showGrants':
        return this.#showGrants();
      case 'countersign.cancelCall':
        return this.#history.cancel(executionOf(argument));
      case 'countersign.undoCall':
        return this.#history.undo(executionOf(argument));
      case 'countersign.showCall':
        return this.#showCall(executionOf(argument));
      case 'countersign.refreshHistory':
        return argument === 'more' ? this.#history.showMore() : this.#history.refresh();
      case 'countersign.showCommandOutput':
        return this.#output.show(true);
      case 'countersign.showLog':
        return this.#log.show(true);
    }
  }

  showChat(view: WebviewView): void {
    this.#chat.resolve(view);
  }

  async dispose(): Promise<void> {
    this.#chat.dispose();
    await this.#closeFolders();
  }

  async #open(): Promise<void> {
    const { subscriptions, secrets } = this.#context;
    subscriptions.push(
      this.#log,
      this.#output,
      this.#features,
      this.#status,
      this.#approvals,
      this.#history,
      this.#mcp,
      this.#localServer,
      showPendingTree(this.#pending, this.#words),
      this.#ask.register(),
      workspace.onDidChangeWorkspaceFolders(() => this.#reopen()),
      workspace.onDidGrantWorkspaceTrust(() => this.#reopen({ close: 'all' })),
      workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration('countersign.runner')) this.#reopen({ close: 'all' });
      }),
      // Another window may have signed in or out.
      secrets.onDidChange(() => void this.#reload()),
    );
    this.#pending.listen({ onChange: () => this.#show() });
    notifyOfNew(this.#pending, this.#approvals, {
      words: this.#words,
      isChatVisible: () => this.#chat.isVisible,
    });
    this.#show();
    await this.#reload();
  }

  async #reload(): Promise<void> {
    if (await this.#accounts.load()) this.#accountChanged();
  }

  #accountChanged(): void {
    const isSignedIn = this.#accounts.current !== undefined;
    void commands.executeCommand('setContext', 'countersign.signedIn', isSignedIn);
    if (isSignedIn) completeStep('hasServer');
    this.#chat.update({ isOtherAccount: true });
    this.#chat.retryNow();
    void this.#model.readDefault();
    this.#mcp.update();
    this.#reopen({ close: 'all' });
  }

  /** Runs are queued, so that a folder's old runner is closed before its next one is opened. */
  #reopen({ close }: { readonly close?: 'all' | 'failed' } = {}): void {
    this.#opening = this.#opening
      .then(async () => {
        if (close === 'all') await this.#closeFolders();
        if (close === 'failed') await this.#closeFolders(({ state }) => state.status === 'failed');
        await this.#openFolders();
        this.#show();
        this.#history.refresh();
      })
      .catch((error: unknown) => this.#log.error(String(error)));
  }

  async #openFolders(): Promise<void> {
    const account = this.#accounts.current;
    const wanted = account ? foldersOnDisk() : [];
    for (const [path, folder] of this.#folders) {
      if (wanted.includes(path)) continue;
      this.#folders.delete(path);
      await folder.dispose().catch((error: unknown) => this.#log.error(String(error)));
    }
    for (const path of wanted) {
      if (!account || this.#folders.has(path)) continue;
      const settings = workspace.getConfiguration('countersign', Uri.file(path));
      // A workspace's settings may disable the runner, but not enable it against the person's own settings.
      const { globalValue, workspaceValue, workspaceFolderValue } =
        settings.inspect<boolean>('runner.enabled') ?? {};
      const isEnabled = ![globalValue, workspaceValue, workspaceFolderValue].includes(false);
      const folder = new FolderRunner({
        account,
        folder: path,
        mayRun: !workspace.isTrusted ? 'untrusted' : isEnabled ? true : 'disabled',
        device: `${this.#device} on ${hostname()}`,
        environment: process.env,
        documents: openDocuments,
        languageFeatures: this.#features,
        ripgrep: ripgrepOfEditor(env.appRoot),
        settings: Object.fromEntries(
          handlerSettingNames.map((name) => [name, settings.get(`runner.${name}`)]),
        ),
        runUnisolated: settings.get('runner.runUnisolated', false),
        logger: channelLogger(this.#log),
        pending: this.#pending,
        onState: () => this.#folderChanged(),
        onEvent: (event) => this.#receive(event),
        onUnauthenticated: () => void this.#signInEnded(account),
      });
      this.#folders.set(path, folder);
      folder.start();
    }
  }

  async #closeFolders(isClosed: (folder: FolderRunner) => boolean = () => true): Promise<void> {
    const folders = [...this.#folders.values()].filter(isClosed);
    for (const { folder } of folders) this.#folders.delete(folder);
    const closed = await Promise.allSettled(folders.map((folder) => folder.dispose()));
    // An error while closing one folder must not keep the others from opening.
    for (const end of closed) if (end.status === 'rejected') this.#log.error(String(end.reason));
  }

  #receive(event: CountersignEvent): void {
    this.#commandLog.receive(event);
    this.#history.receive(event);
    this.#mode.receive(event);
    followWalkthrough(event, this.#device);
    if (event.event === 'file.changed') void this.#approvals.diffs.fileChanged(event.data);
    if (event.event !== 'approval.resolved') return;
    this.#showResolution(event.data);
    if (event.data.device === this.#device) void this.#approvals.decidedOnCard(event.data.approval_id);
  }

  /**
   * Opens the editor's own diff or dialog if an approval on the chat's card must not count, and returns the reason for
   * the card. The card shows the server's data, so it does not count if this machine's ceiling requires the runner's
   * own view (RN-2). After the person edited the diff, the card would approve the agent's text (AP-6).
   */
  #decideOutside(approvalId: string): string | undefined {
    const entry = this.#pending.find(approvalId);
    const { decideInEditor, editedInDiff } = this.#words.approval;
    const isEdited = this.#approvals.diffs.isBeingEdited(approvalId);
    if (!isEdited && !entry?.folder.wantsOwnCard(entry.request)) return undefined;
    void this.#approvals.review(approvalId);
    return isEdited ? editedInDiff : decideInEditor;
  }

  /** Says in the status bar how a request was settled on another device. */
  #showResolution(data: Extract<CountersignEvent, { event: 'approval.resolved' }>['data']): void {
    const entry = this.#pending.find(data.approval_id);
    if (!entry || data.device === this.#device) return;
    const { resolved, elsewhere } = this.#words.approval;
    const title = requestTitle(entry.request, this.#words);
    // The call failed before a decision: its preview could not be made, or a rule denies it now (AP-7, RK-5).
    if (data.error) void window.showWarningMessage(`${title}: ${told(data.error, this.#words)}`);
    if (data.status === 'cancelled') return;
    const text = resolved[data.status](title, data.device ?? elsewhere);
    window.setStatusBarMessage(`$(shield) ${text}`, 6_000);
  }

  #folderChanged(): void {
    for (const { folder, state } of this.#folders.values())
      this.#log.info(`${folder}: ${stateText(state, this.#words)}`);
    this.#show();
    this.#chat.update();
    this.#giveQuestion();
    const offered = this.#projects()
      .map(({ project_id }) => project_id)
      .join(' ');
    if (offered !== this.#offered) this.#mcp.update();
    this.#offered = offered;
    this.#history.refresh();
  }

  #show(): void {
    const isUnknown = [...this.#folders.values()].some(({ state }) => state.status !== 'open');
    void commands.executeCommand('setContext', 'countersign.disconnected', isUnknown);
    this.#status.update({
      server: this.#accounts.current?.server,
      folders: [...this.#folders.values()],
      hasFolders: foldersOnDisk().length > 0,
      pending: this.#pending.all.length,
    });
  }

  /** Connects at once: folders that wait for their next attempt, folders that failed, and the chat. */
  #retryNow(): void {
    for (const folder of this.#folders.values()) folder.retryNow();
    this.#chat.retryNow();
    this.#reopen({ close: 'failed' });
  }

  /** Shows the chat with the text in its message field, in the project of the file's folder. */
  async #compose(question: Question): Promise<void> {
    this.#question = question;
    await commands.executeCommand('countersign.chat.focus');
    this.#giveQuestion();
  }

  #giveQuestion(): void {
    if (!this.#question) return;
    const { folder, text, send } = this.#question;
    const project = this.#folders.get(folder)?.project;
    if (!project) return;
    this.#question = undefined;
    this.#chat.compose({ projectId: project.project_id, text, send });
  }

  #showChoices(): void {
    const isSignedIn = this.#accounts.current !== undefined;
    this.#chat.describe(isSignedIn ? [this.#mode.name, this.#model.name].filter(Boolean).join(' · ') : '');
  }

  async #showGrants(): Promise<void> {
    const client = this.#accounts.current?.client;
    if (client) await showGrants(client, this.#words);
    else await this.#signIn(undefined);
  }

  #projects(): readonly PageProject[] {
    return [...this.#folders.values()].flatMap(({ project }) => project ?? []);
  }

  #place(): PagePlace {
    const account = this.#accounts.current;
    if (!account) return { state: 'signed-out' };
    const folders = [...this.#folders.values()];
    const projects = folders.flatMap(({ project, state }) => {
      if (!project) return [];
      const { project_id, name, workspace: root } = project;
      const runs = state.status === 'open' ? state.runs : undefined;
      const whyNoRunner = runs === 'untrusted' || runs === 'disabled' ? { whyNoRunner: runs } : {};
      return [{ project_id, name, workspace: root, ...whyNoRunner }];
    });
    if (projects.length > 0) return { state: 'open', server: account.server, projects };
    if (foldersOnDisk().length === 0) return { state: 'no-folder' };
    const lost = folders.map(({ state }) => state).find(({ status }) => status !== 'connecting');
    return lost ? { state: 'failed', problem: stateText(lost, this.#words) } : { state: 'connecting' };
  }

  async #signIn(argument: unknown): Promise<void> {
    if (typeof argument !== 'string') return this.#askForLink(this.#words.signIn.prompt);
    const problem = await this.#signInWith(argument);
    if (problem !== undefined) void window.showErrorMessage(problem);
  }

  #askForLink(prompt: string, signal?: AbortSignal): Promise<void> {
    return askForLink(prompt, this.#words, (pasted) => this.#signInWith(pasted), signal);
  }

  /** Signs in. Resolves with an error message for the person, or undefined. */
  async #signInWith(pasted: string): Promise<string | undefined> {
    const { signIn } = this.#words;
    const settings = workspace.getConfiguration('countersign');
    const server = settings.get('serverUrl', 'http://127.0.0.1:4180');
    try {
      const account = await this.#accounts.signIn(pasted, {
        server,
        allowHttp: settings.get('allowHttp', false),
      });
      if ('problem' in account) {
        const { problem } = account;
        if (problem === 'not a link') return signIn.badLink;
        if (problem === 'malformed') return signIn.malformed(account.origin);
        return problem === 'plain' ? signIn.plain(account.origin) : signIn.secret;
      }
      this.#accountChanged();
      window.setStatusBarMessage(signIn.done(account.server), 5_000);
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return signIn.failed(said(error, this.#words));
    }
  }

  async #signOut(): Promise<void> {
    const account = this.#accounts.current;
    if (!account) return;
    await this.#closeFolders(); // first, because the person's token must still revoke the runners' tokens
    await this.#mcp.revoke(account);
    await this.#accounts.signOut();
    this.#accountChanged();
    window.setStatusBarMessage(this.#words.signIn.out, 5_000);
  }

  async #signInEnded(account: Account): Promise<void> {
    const { signIn } = this.#words;
    if (this.#accounts.current !== account) return; // the person has signed in again meanwhile
    await this.#accounts.signOut();
    this.#accountChanged();
    if ((await window.showWarningMessage(signIn.ended, signIn.again)) === signIn.again)
      await this.#signIn(undefined);
  }

  async #showCall(row: Execution | undefined): Promise<void> {
    if (!row) return void (await commands.executeCommand('countersign.history.focus'));
    await commands.executeCommand('countersign.chat.focus');
    this.#chat.showCall(row.tool_id);
  }
}

const foldersOnDisk = (): string[] =>
  (workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === 'file').map(({ uri }) => uri.fsPath);

/** The approval's id from the argument of a command: an id, or a row of the list. Undefined from the palette. */
function approvalIdOf(argument: unknown): string | undefined {
  if (typeof argument === 'string') return argument;
  const { request } = (argument ?? {}) as { request?: { approval_id?: unknown } };
  return typeof request?.approval_id === 'string' ? request.approval_id : undefined;
}

const executionOf = (argument: unknown): Execution | undefined =>
  typeof argument === 'object' && argument !== null && 'tool_id' in argument
    ? (argument as Execution)
    : undefined;
