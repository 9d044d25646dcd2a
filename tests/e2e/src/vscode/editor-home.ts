import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createClient } from '@countersign/client';
import type { BuiltInToolName, Execution, JsonValue, RiskLevel } from '@countersign/protocol';
import { type OpenAiCompatibleServer, openAiCompatibleServer } from '@countersign/testing';
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { RemotePerson } from '../../../lab/src/remote-person.ts';
import { freePort } from '../../../lab/src/server-process.ts';
import { until } from '../../../lab/src/waiting.ts';
import { launcher, Machine, type ReadyLine, type UpProcess } from '../up-process.ts';
import { takePicture } from '../web/pictures.ts';
import { WebWindow } from '../web/web-window.ts';
import { EditorWindow, soon } from './editor-window.ts';
import { packageExtension, VsCode } from './vs-code.ts';

const files = {
  'config.json': '{\n  "api": "http://old.example"\n}\n',
  'notes.md': '# Notes\n\none\ntwo\nthree\n',
  'draft.md': 'saved\n',
  'spaces.md': 'one\n',
  'followed.md': 'before',
  'wait.js': "console.log('waiting for ever');\nsetInterval(() => {}, 1000);\n",
  'tsconfig.json': '{ "compilerOptions": { "strict": true, "types": [] }, "include": ["src"] }\n',
  'src/greet.ts': "export function greet(name: string): string {\n  return 'Hello, ' + name;\n}\n",
  'src/main.ts':
    "import { greet } from './greet';\n\nconst wrong: number = greet('you');\nexport const shown = [greet('me'), wrong];\n",
};

/** A person's machine: a server (with a runner for another folder), a workspace, and VS Code. */
export class EditorHome {
  readonly workspace: string;
  /** The address of the server that the editor will start. */
  localServer = '';
  /** A model server that the agent can use; the server's own model is `manual`. */
  readonly model: OpenAiCompatibleServer;
  readonly #machine: Machine;
  readonly #elsewhere: string;
  readonly #up: UpProcess;
  readonly #browser: Browser;
  readonly #contexts: BrowserContext[] = [];
  #ready: ReadyLine | undefined;
  #editor: VsCode | undefined;
  #person: RemotePerson | undefined;
  #window: EditorWindow | undefined;

  private constructor(browser: Browser, model: OpenAiCompatibleServer) {
    this.#browser = browser;
    this.model = model;
    this.#machine = new Machine({ COUNTERSIGN_WEB_FOLDER: '', COUNTERSIGN_MODEL_URL: model.url });
    this.#elsewhere = this.#machine.folder('elsewhere', { 'README.md': '# Elsewhere\n' });
    this.workspace = this.#machine.folder('workspace');
    for (const [path, text] of Object.entries(files)) this.write(path, text);
    this.#up = this.#machine.up(this.#elsewhere, '--json');
  }

  static async open(browser: Browser): Promise<EditorHome> {
    const home = new EditorHome(browser, await openAiCompatibleServer());
    try {
      await home.#start();
      return home;
    } catch (error) {
      await home.close();
      throw error;
    }
  }

  get window(): EditorWindow {
    if (!this.#window) throw new Error('There is no window');
    return this.#window;
  }

  get person(): RemotePerson {
    if (!this.#person) throw new Error('Nobody is signed in');
    return this.#person;
  }

  write(path: string, text: string): void {
    const at = join(this.workspace, path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, text);
  }

  remove(path: string): void {
    rmSync(join(this.workspace, path));
  }

  read(path: string): string {
    return readFileSync(join(this.workspace, path), 'utf8');
  }

  has(path: string): boolean {
    return existsSync(join(this.workspace, path));
  }

  /** Creates a link that works once. */
  async signInLink(): Promise<string> {
    return (await this.#machine.up(this.#elsewhere, '--json').ready()).sign_in_link;
  }

  /** Opens another window of the same editor, on a folder. */
  async otherWindow(path: string): Promise<EditorWindow> {
    const page = await this.window.page.context().newPage();
    const window = new EditorWindow(page, (this.#editor as VsCode).address);
    await window.open(path);
    return window;
  }

  /** Creates folders beside the workspace, and the multi-root workspace file that opens them. */
  severalFolders(...names: string[]): string {
    const folders = names.map((name) => ({
      path: this.#machine.folder(name, { 'README.md': `# ${name}\n` }),
    }));
    const path = join(this.#machine.home, 'several.code-workspace');
    writeFileSync(path, JSON.stringify({ folders }));
    return path;
  }

  /** A window in Russian with a dark theme, on the workspace. Nobody is signed in there. */
  async russianWindow(): Promise<EditorWindow> {
    const context = await this.#context({ locale: 'ru', colorScheme: 'dark' });
    // Like a language pack, except that the editor's own texts stay English.
    await context.addInitScript(() => Object.assign(globalThis, { _VSCODE_NLS_LANGUAGE: 'ru' }));
    const window = new EditorWindow(await context.newPage(), (this.#editor as VsCode).address);
    await window.open(this.workspace);
    return window;
  }

  /** Writes a ceiling file with these levels (RN-2); returns a function that removes it. */
  decideHere(...levels: RiskLevel[]): () => void {
    const folder = join(this.#machine.home, '.config', 'countersign');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, 'ceiling.json');
    writeFileSync(path, JSON.stringify({ version: 1, decide_here: levels }), { mode: 0o600 });
    return () => rmSync(path);
  }

  /** Opens the web page as the same person. */
  async webPage(): Promise<WebWindow> {
    const window = await WebWindow.open(await this.#context(), (this.#ready as ReadyLine).address);
    await window.page.goto(await this.signInLink());
    return window;
  }

  /** The id of the workspace's project; the editor creates the project. */
  async projectId(): Promise<string> {
    let found: string | undefined;
    await until(
      async () => {
        const { projects } = await this.person.client.listProjects();
        found = projects.find(({ workspace }) => workspace === this.workspace)?.project_id;
        return found !== undefined;
      },
      { otherwise: () => 'The editor has made no project' },
    );
    return found as string;
  }

  /** Calls a tool as an agent does; returns the call's id at once. */
  async call(tool: BuiltInToolName, params: Record<string, JsonValue>): Promise<string> {
    const { client } = this.person;
    const project_id = await this.projectId();
    const { session } = await client.createSession({ params: { project_id }, body: {} });
    const { tool_id } = await client.executeTool({
      body: { tool_name: tool, tool_params: params, session_id: session.session_id },
    });
    return tool_id;
  }

  /** The pending approval of a call, once its preview has arrived. */
  async shown(toolId: string): Promise<{ project_id: string; approval_id: string; digest: string }> {
    let found: { project_id: string; approval_id: string; digest: string | null } | undefined;
    await until(
      async () => {
        const { approvals } = await this.person.client.listApprovals();
        found = approvals.find(({ tool_id }) => tool_id === toolId);
        return typeof found?.digest === 'string';
      },
      { otherwise: () => `Nothing waits: ${JSON.stringify(found)}` },
    );
    return found as { project_id: string; approval_id: string; digest: string };
  }

  /** Waits until a call has ended. */
  async ended(toolId: string): Promise<{ execution: Execution; result: JsonValue; decision: unknown }> {
    let detail: { execution: Execution; result: JsonValue; decision: unknown } | undefined;
    await until(
      async () => {
        detail = await this.person.client.getExecution({ params: { tool_id: toolId } });
        return ['completed', 'failed', 'rejected', 'timeout', 'cancelled'].includes(detail.execution.status);
      },
      { otherwise: () => `It did not end: ${JSON.stringify(detail)}` },
    );
    return detail as NonNullable<typeof detail>;
  }

  async result(tool: BuiltInToolName, params: Record<string, JsonValue>): Promise<JsonValue> {
    const { execution, result } = await this.ended(await this.call(tool, params));
    return execution.error ? { error: execution.error.message } : result;
  }

  /** Keeps pictures of a failed story, and rejects what is still pending. */
  async endStory(failed: string | null): Promise<void> {
    if (failed !== null) {
      await takePicture(this.window.page, `vscode-failed-${failed.replace(/\W+/g, '-').slice(0, 60)}`);
    }
    const { approvals } = await this.person.client.listApprovals();
    for (const { approval_id, project_id } of approvals)
      await this.person.client.reject({ params: { approval_id, project_id }, body: {} });
    await this.window.page.keyboard.press('Escape');
    if (failed !== null) await this.window.closeEditors().catch(() => {}); // the next story starts without open editors
    // Nor with a diff that the editor is about to close.
    await until(async () => (await this.window.tab(/proposed change/).count()) === 0, {
      otherwise: () => 'A diff of a decided call stays open',
    });
  }

  async close(): Promise<void> {
    this.#person?.close();
    await Promise.all(this.#contexts.map((context) => context.close()));
    await this.#editor?.close();
    await this.#machine.close();
    await this.model.close();
  }

  async #start(): Promise<void> {
    const vsix = packageExtension();
    this.#installCommand();
    await until(() => this.#up.out.includes('\n'), {
      otherwise: () => `It is not ready: ${this.#up.out}${this.#up.errors}`,
    });
    this.#ready = await this.#up.ready();
    this.#editor = await VsCode.start({
      home: this.#machine.home,
      vsix,
      asksForTrust: true,
      settings: { 'security.workspace.trust.startupPrompt': 'never', 'window.autoDetectColorScheme': true },
      machineSettings: { 'countersign.localServer.command': await this.#localServer() },
    });
    const { address } = this.#ready;
    const code = new URL(await this.signInLink()).hash.replace('#sign-in=', '');
    const { token } = await createClient({ baseUrl: address, token: () => '' }).signIn({ body: { code } });
    this.#person = await new RemotePerson(address, token, 'the phone').connect();
    const page = await (await this.#context()).newPage();
    this.#window = new EditorWindow(page, this.#editor.address);
    await this.#window.open(this.workspace);
  }

  /**
   * Installs `countersign` in a folder on the PATH, as docs/mcp.md says. The editor gets the PATH from the login
   * shell.
   */
  #installCommand(): void {
    const folder = join(this.#machine.home, 'bin');
    mkdirSync(folder);
    symlinkSync(launcher, join(folder, 'countersign'));
    writeFileSync(join(this.#machine.home, '.profile'), `PATH="${folder}:${process.env.PATH}"\n`);
  }

  /** Makes shells wait before they read a command, as on a busy machine, until the returned function is called. */
  holdShells(): () => void {
    const letGo = join(this.#machine.home, 'shells-may-start');
    writeFileSync(
      join(this.#machine.home, '.bashrc'),
      `until [ -e '${letGo}' ]; do read -rt 0.05 <> <(:); done\n`,
    );
    return () => writeFileSync(letGo, '');
  }

  /** The command that starts a local server from this checkout. */
  async #localServer(): Promise<string> {
    this.localServer = `http://127.0.0.1:${await freePort()}`;
    const database = join(this.#machine.home, 'local.db');
    return `"${process.execPath}" "${launcher}" serve --port ${new URL(this.localServer).port} --database "${database}"`;
  }

  async #context(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const viewport = { width: 1440, height: 900 };
    const context = await this.#browser.newContext({ viewport, locale: 'en', ...options });
    context.setDefaultTimeout(soon.timeout);
    this.#contexts.push(context);
    return context;
  }
}
