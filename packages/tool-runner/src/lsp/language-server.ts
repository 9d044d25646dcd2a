import { basename, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { ErrorCodes, ResponseError } from 'vscode-jsonrpc/node';
import type { RunnerClock } from '../clock.ts';
import type { ProcessStarter } from '../isolation/isolated-process.ts';
import { ExecutionCancelled, orCancelled } from '../runner-errors.ts';
import type { Workspace } from '../workspace.ts';
import { ChangedFiles, type ChangeKind } from './changed-files.ts';
import type { PositionEncoding } from './character-position.ts';
import { type OpenedDocument, OpenedDocuments } from './opened-documents.ts';
import { ProjectLoading } from './project-loading.ts';
import { PublishedDiagnostics } from './published-diagnostics.ts';
import { LanguageServerFailure, ServerConnection } from './server-connection.ts';
import type { ServerDefinition, WaitTimes } from './server-definition.ts';
import type { WorkspaceTexts } from './workspace-texts.ts';

/** Memory limit of a server: enough for a large project. */
const MEMORY_BYTES = 4 * 1024 ** 3;
/** How often a request is repeated until two answers are the same, if nothing else shows that they are complete. */
const MAX_REPEATS = 5;
const MAX_REGISTRATIONS = 100;
const changeTypes: Readonly<Record<ChangeKind, number>> = { created: 1, changed: 2, deleted: 3 };

export interface LanguageServerOptions {
  readonly definition: ServerDefinition;
  readonly workspace: Workspace;
  readonly texts: WorkspaceTexts;
  readonly starter: ProcessStarter;
  readonly clock: RunnerClock;
  readonly waits: WaitTimes;
}

/** An unchecked answer, and the document as it was when the request was sent. */
export interface Answer {
  readonly document: OpenedDocument;
  readonly value: unknown;
}

/**
 * One running language server for one workspace. Every answer is about the files as they were on the disk when the
 * request was sent: before each request the server is told what changed, and after its start, or when files were added
 * or removed, it gets time to load the project.
 */
export class LanguageServer {
  readonly #options: LanguageServerOptions;
  readonly #connection: ServerConnection;
  readonly #documents: OpenedDocuments;
  readonly #loading: ProjectLoading;
  readonly #published: PublishedDiagnostics;
  readonly #changed: ChangedFiles;
  /** Dynamic registrations of `textDocument/diagnostic`, by id. */
  readonly #pullRegistrations = new Set<unknown>();
  #pullsDiagnostics = false;
  #encoding: PositionEncoding = 'utf-16';
  /** Requests are prepared one after the other; the server may work on several. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: LanguageServerOptions, changed: ChangedFiles) {
    const { definition, workspace, texts, starter, clock, waits } = options;
    this.#options = options;
    this.#changed = changed;
    this.#loading = new ProjectLoading(definition.loading, clock, waits);
    this.#published = new PublishedDiagnostics(clock, waits);
    const child = starter.start({
      program: definition.command,
      args: definition.args,
      cwd: '',
      stdin: 'pipe',
      confinement: {
        workspace: 'read',
        network: false,
        maskSensitive: true,
        readable: definition.readable ?? [],
        limits: { memoryBytes: MEMORY_BYTES },
      },
    });
    const listener = {
      onRequest: (method: string, params: unknown) => this.#answer(method, params),
      onNotification: (method: string, params: unknown) => this.#listen(method, params),
      onProgress: (token: unknown, value: unknown) => this.#loading.onProgress(token, value),
      onMessage: () => this.#loading.onMessage(),
    };
    const { language } = definition;
    this.#connection = new ServerConnection(child, listener, { language, starter, clock, waits });
    this.#documents = new OpenedDocuments({
      root: workspace.root,
      texts,
      server: definition,
      notify: (method, params) => this.#connection.notify(method, params),
      onClose: (uri) => this.#published.forget(uri),
    });
  }

  /** Throws what `ProcessStarter.start` throws, or a LanguageServerFailure. */
  static async start(options: LanguageServerOptions, signal: AbortSignal): Promise<LanguageServer> {
    const changed = await ChangedFiles.begin(options.workspace.root, options.definition.extensions);
    const server = new LanguageServer(options, changed);
    try {
      await server.#initialise(signal);
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  get encoding(): PositionEncoding {
    return this.#encoding;
  }

  /** True if the server died, or if installed packages have changed since it started. */
  get mustBeReplaced(): boolean {
    return this.#connection.hasFailed || this.#changed.havePackagesChanged;
  }

  /** Sends one request about a file. `paramsFor` gets the document that the answer will be about. */
  async ask(
    method: string,
    path: string,
    paramsFor: (document: OpenedDocument) => object,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { document, pending } = await this.#inTurn(signal, async () => {
      const document = await this.#prepare(path, signal);
      const params = { ...paramsFor(document), textDocument: { uri: document.uri } };
      const pending = this.#requestUntilStable(method, params, signal);
      pending.catch(() => {}); // awaited only after this turn; until then a rejection would be unhandled
      return { document, pending };
    });
    return { document, value: await pending };
  }

  async diagnostics(path: string, signal: AbortSignal): Promise<Answer> {
    const document = await this.#inTurn(signal, () => this.#prepare(path, signal));
    if (this.#pullsDiagnostics || this.#pullRegistrations.size > 0) {
      const { document: asked, value } = await this.ask('textDocument/diagnostic', path, () => ({}), signal);
      return { document: asked, value: (value as { items?: unknown } | null)?.items };
    }
    const { waits, definition } = this.#options;
    const value = await this.#published.of(document, signal);
    if (signal.aborted) throw new ExecutionCancelled();
    if (value) return { document, value };
    const problem = `it published no diagnostics within ${waits.requestMs / 1000} s`;
    throw new LanguageServerFailure(definition.language, problem, { died: false });
  }

  stop(): Promise<void> {
    return this.#connection.stop();
  }

  async #initialise(signal: AbortSignal): Promise<void> {
    const { definition, workspace } = this.#options;
    const uri = pathToFileURL(workspace.root).href;
    const answer = await this.#connection.request(
      'initialize',
      {
        processId: null, // in isolation it does not see our process, and would exit as if its parent had died
        clientInfo: { name: 'countersign' },
        rootPath: workspace.root,
        rootUri: uri,
        workspaceFolders: [{ uri, name: basename(workspace.root) }],
        capabilities: clientCapabilities,
        initializationOptions: definition.initializationOptions ?? null,
      },
      signal,
    );
    const capabilities = (answer as { capabilities?: Record<string, unknown> } | null)?.capabilities;
    if (typeof capabilities !== 'object' || capabilities === null) {
      throw this.#connection.reject('it does not say what it can do');
    }
    const encoding = capabilities.positionEncoding ?? 'utf-16';
    if (encoding !== 'utf-16' && encoding !== 'utf-32') {
      throw this.#connection.reject('it counts positions in a way that was not offered');
    }
    this.#encoding = encoding;
    this.#pullsDiagnostics = Boolean(capabilities.diagnosticProvider);
    this.#connection.notify('initialized', {});
  }

  /** Brings the server up to date with the disk, waits until its project is loaded, and opens the file. */
  async #prepare(path: string, signal: AbortSignal): Promise<OpenedDocument> {
    await this.#reportChanges();
    const document = this.#documents.open(path);
    if (!this.#loading.isLoading) return document;
    await this.#loading.wait(signal);
    if (signal.aborted) throw new ExecutionCancelled();
    await this.#reportChanges(); // files may have changed while it loaded
    return this.#documents.open(path);
  }

  async #reportChanges(): Promise<void> {
    const changes = await this.#changed.find();
    if (changes.size > 0) {
      this.#connection.notify('workspace/didChangeWatchedFiles', {
        changes: [...changes].map(([path, kind]) => ({ uri: this.#uriOf(path), type: changeTypes[kind] })),
      });
      if ([...changes].some(([path, kind]) => this.#makesReload(path, kind))) this.#loading.expectReload();
    }
    const haveDocumentsChanged = this.#documents.synchronise();
    if (changes.size > 0 || haveDocumentsChanged) this.#published.expectUpdate();
  }

  #makesReload(path: string, kind: ChangeKind): boolean {
    const { extensions, projectFiles } = this.#options.definition;
    if (projectFiles?.test(path)) return true;
    return kind !== 'changed' && extensions.includes(extname(path).toLowerCase());
  }

  /** Repeats the request until two answers are the same, if nothing but silence shows that the project is loaded. */
  async #requestUntilStable(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    let answer = await this.#connection.request(method, params, signal);
    for (let repeat = 0; this.#loading.needsRepeat && repeat < MAX_REPEATS; repeat += 1) {
      const again = await this.#connection.request(method, params, signal);
      if (isDeepStrictEqual(again, answer)) break;
      answer = again;
      await this.#loading.wait(signal);
    }
    this.#loading.finishRepeats();
    return answer;
  }

  #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    const mine = before.then(async () => {
      if (signal.aborted) throw new ExecutionCancelled();
      return work();
    });
    this.#turn = mine.catch(() => {});
    return orCancelled(mine, signal);
  }

  #answer(method: string, params: unknown): unknown {
    switch (method) {
      case 'workspace/configuration':
        return listOf(params, 'items').map((item) => this.#setting((item as { section?: unknown })?.section));
      case 'client/registerCapability':
        for (const { id, method: registered } of registrations(params, 'registrations')) {
          const isPull = registered === 'textDocument/diagnostic';
          if (isPull && this.#pullRegistrations.size < MAX_REGISTRATIONS) this.#pullRegistrations.add(id);
        }
        return null;
      case 'client/unregisterCapability':
        for (const { id } of registrations(params, 'unregisterations')) this.#pullRegistrations.delete(id);
        return null;
      case 'workspace/workspaceFolders':
        return [{ uri: this.#uriOf(''), name: basename(this.#options.workspace.root) }];
      case 'workspace/applyEdit':
        return { applied: false }; // a language server may not change files
      case 'window/showDocument':
        return { success: false };
      case 'window/workDoneProgress/create':
      case 'window/showMessageRequest':
        return null;
      default:
        if (/^workspace\/\w+\/refresh$/.test(method)) return null; // we cache nothing
        return new ResponseError(ErrorCodes.MethodNotFound, `${method} is not supported`);
    }
  }

  #listen(method: string, params: unknown): void {
    const { message, uri, version } = (params ?? {}) as Record<string, unknown>;
    if (method === 'window/logMessage' && typeof message === 'string') this.#loading.onLogLine(message);
    if (method === 'textDocument/publishDiagnostics') {
      const plain = plainUri(uri);
      const items = listOf(params, 'diagnostics');
      // One more than is shown, to know that there were more.
      const kept = items.slice(0, this.#options.workspace.limits.entries + 1);
      if (plain !== undefined && this.#documents.has(plain)) this.#published.accept(plain, version, kept);
    }
  }

  /** The settings of a section. `python.analysis` is looked up as such, then as a part of `python`. */
  #setting(section: unknown): unknown {
    const settings = this.#options.definition.settings ?? {};
    if (typeof section !== 'string') return settings;
    if (Object.hasOwn(settings, section)) return settings[section];
    const [first = '', ...rest] = section.split('.');
    let value: unknown = Object.hasOwn(settings, first) ? settings[first] : null;
    for (const key of rest) {
      const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
      value = isObject ? (value as Record<string, unknown>)[key] : null;
    }
    return value;
  }

  #uriOf(path: string): string {
    return pathToFileURL(join(this.#options.workspace.root, path)).href;
  }
}

function listOf(params: unknown, key: string): readonly unknown[] {
  const list = (params as Record<string, unknown> | null | undefined)?.[key];
  return Array.isArray(list) ? list : [];
}

function registrations(params: unknown, key: string): { id?: unknown; method?: unknown }[] {
  return listOf(params, key).filter((item) => typeof item === 'object' && item !== null) as object[];
}

/** Normalises a URI: a server may escape other characters than we do. */
function plainUri(uri: unknown): string | undefined {
  try {
    return pathToFileURL(fileURLToPath(String(uri))).href;
  } catch {
    return undefined;
  }
}

/** Our capabilities: hierarchical symbols, links, pulled and published diagnostics. */
const clientCapabilities = {
  // Whole characters (utf-32) need no conversion; every server supports UTF-16.
  general: { positionEncodings: ['utf-32', 'utf-16'] },
  window: { workDoneProgress: true },
  workspace: {
    configuration: true,
    workspaceFolders: true,
    // We report changes of files; otherwise servers would watch the disk themselves.
    didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
    didChangeConfiguration: { dynamicRegistration: true },
    diagnostics: { refreshSupport: true },
  },
  textDocument: {
    synchronization: {},
    hover: { contentFormat: ['markdown', 'plaintext'] },
    definition: { linkSupport: true },
    references: {},
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    publishDiagnostics: { versionSupport: true },
    diagnostic: { dynamicRegistration: true },
  },
} as const;
