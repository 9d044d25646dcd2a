import type { LanguageFeatures } from '@countersign/tool-runner';
import {
  commands,
  type Disposable,
  type DocumentSymbol,
  type Hover,
  Location,
  type LocationLink,
  languages,
  type MarkdownString,
  type MarkedString,
  Position,
  type SymbolInformation,
  TabInputText,
  type TextDocument,
  Uri,
  window,
  workspace,
} from 'vscode';

/** How long to wait for a result. Until a language has returned its first one, it may still load its project. */
const coldMs = 15_000;
const warmMs = 1_500;
const pollMs = 200;
/** How long no more diagnostics must come before they count as complete: syntax comes first, types later. */
const quietMs = 500;
const firstQuietMs = 1_500;

/** The language features of this editor, in the shapes of the language server protocol (RN-7). */
export class EditorLanguageFeatures implements LanguageFeatures, Disposable {
  /** Languages that have returned a result. */
  readonly #warm = new Set<string>();
  /** Languages that have never sent diagnostics. */
  readonly #silent = new Set<string>();
  /** Time of a file's last diagnostics, and of its last change. */
  readonly #diagnosed = new Map<string, number>();
  readonly #changed = new Map<string, number>();
  readonly #watching: Disposable[] = [
    languages.onDidChangeDiagnostics(({ uris }) => {
      for (const uri of uris) this.#diagnosed.set(String(uri), performance.now());
    }),
    workspace.onDidChangeTextDocument(({ document }) => {
      this.#changed.set(String(document.uri), performance.now());
    }),
    workspace.onDidCloseTextDocument(({ uri }) => {
      this.#diagnosed.delete(String(uri));
      this.#changed.delete(String(uri));
    }),
  ];

  dispose(): void {
    for (const watch of this.#watching) watch.dispose();
  }

  async hover(file: string, at: LspPosition, signal: AbortSignal): Promise<unknown> {
    const document = await open(file);
    const isLoading = (found: string[]) =>
      found.length === 0 || found.some((text) => /\(loading(\.\.\.|…)\)/.test(text));
    const request = async () => {
      const found = await ask<Hover[]>('vscode.executeHoverProvider', document.uri, positionOf(at));
      return (found ?? []).flatMap(({ contents }) => contents.map(textOf));
    };
    const texts = await this.#retryWhileEmpty(document, signal, request, isLoading);
    return texts.length === 0 ? null : { contents: texts };
  }

  definition(file: string, at: LspPosition, signal: AbortSignal): Promise<unknown> {
    return this.#locations('vscode.executeDefinitionProvider', file, at, signal);
  }

  references(file: string, at: LspPosition, signal: AbortSignal): Promise<unknown> {
    return this.#locations('vscode.executeReferenceProvider', file, at, signal);
  }

  async symbols(file: string, signal: AbortSignal): Promise<unknown> {
    return this.#symbolsOf(await open(file), signal);
  }

  async diagnostics(file: string, signal: AbortSignal): Promise<unknown> {
    const document = await open(file);
    const key = String(document.uri);
    await this.#symbolsOf(document, signal); // makes the language server load the file
    const pulled = isInTab(document.uri) ? undefined : await pullFromTypeScript(document);
    if (pulled) return pulled;
    await this.#settled(document, key, signal);
    return languages.getDiagnostics(document.uri).map(({ range, severity, message, source, code }) => ({
      range: rangeOf(range),
      severity: severity + 1,
      message,
      ...(source !== undefined && { source }),
      ...(code !== undefined && { code: typeof code === 'object' ? code.value : code }),
    }));
  }

  /** No event says that diagnostics are complete, so wait until no more come. */
  async #settled({ languageId }: TextDocument, key: string, signal: AbortSignal): Promise<void> {
    const asked = performance.now();
    const isFirst = !this.#diagnosed.has(key);
    const timeoutMs = !isFirst ? warmMs : this.#silent.has(languageId) ? warmMs : coldMs;
    while (!signal.aborted) {
      const now = performance.now();
      const last = this.#diagnosed.get(key);
      const isCurrent = last !== undefined && last >= (this.#changed.get(key) ?? 0);
      if (isCurrent) this.#silent.delete(languageId);
      if (isCurrent && now - last > (isFirst ? firstQuietMs : quietMs)) return;
      if (!isCurrent && now - asked > timeoutMs) {
        if (isFirst) this.#silent.add(languageId);
        return;
      }
      await pause(pollMs);
    }
  }

  async #symbolsOf(document: TextDocument, signal: AbortSignal): Promise<unknown> {
    return this.#retryWhileEmpty(document, signal, async () => {
      const found = await ask<(DocumentSymbol | SymbolInformation)[]>(
        'vscode.executeDocumentSymbolProvider',
        document.uri,
      );
      return (found ?? []).map(symbolOf);
    });
  }

  async #locations(command: string, file: string, at: LspPosition, signal: AbortSignal): Promise<unknown> {
    const document = await open(file);
    return this.#retryWhileEmpty(document, signal, async () => {
      const found = await ask<(Location | LocationLink)[]>(command, document.uri, positionOf(at));
      return (found ?? []).map((one) =>
        one instanceof Location
          ? { uri: String(one.uri), range: rangeOf(one.range) }
          : { uri: String(one.targetUri), range: rangeOf(one.targetSelectionRange ?? one.targetRange) },
      );
    });
  }

  /** Repeats a request while its result is empty, for longer if the language has not returned any result yet. */
  async #retryWhileEmpty<T>(
    { languageId }: TextDocument,
    signal: AbortSignal,
    request: () => Promise<T[]>,
    isEmpty = (result: T[]): boolean => result.length === 0,
  ): Promise<T[]> {
    const until = performance.now() + (this.#warm.has(languageId) ? warmMs : coldMs);
    for (;;) {
      const result = await request();
      if (!isEmpty(result)) {
        this.#warm.add(languageId);
        return result;
      }
      if (signal.aborted || performance.now() > until) return result;
      await pause(pollMs);
    }
  }
}

interface LspPosition {
  readonly line: number;
  readonly character: number;
}

const open = (file: string): Thenable<TextDocument> => workspace.openTextDocument(Uri.file(file));

const ask = <T>(command: string, ...args: unknown[]): Thenable<T | undefined> =>
  commands.executeCommand<T | undefined>(command, ...args);

const positionOf = ({ line, character }: LspPosition): Position => new Position(line, character);

const rangeOf = ({ start, end }: { readonly start: Position; readonly end: Position }) => ({
  start: { line: start.line, character: start.character },
  end: { line: end.line, character: end.character },
});

const textOf = (content: MarkdownString | MarkedString): string => {
  if (typeof content === 'string') return content;
  return 'language' in content ? `\`\`\`${content.language}\n${content.value}\n\`\`\`` : content.value;
};

const isInTab = (uri: Uri): boolean =>
  window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .some(({ input }) => input instanceof TabInputText && String(input.uri) === String(uri));

const typeScriptLanguages = ['typescript', 'typescriptreact', 'javascript', 'javascriptreact'];
const categories = { error: 1, warning: 2, message: 3, suggestion: 4 } as const;

/**
 * Requests diagnostics from the editor's TypeScript, which by itself checks only files in tabs. Returns undefined for
 * other languages, or if TypeScript does not respond.
 */
async function pullFromTypeScript({ uri, languageId }: TextDocument): Promise<unknown[] | undefined> {
  if (!typeScriptLanguages.includes(languageId)) return undefined;
  interface Found {
    readonly start: { readonly line: number; readonly offset: number };
    readonly end: { readonly line: number; readonly offset: number };
    readonly text: string;
    readonly code?: number;
    readonly category: string;
  }
  const pull = async (request: string): Promise<readonly Found[]> => {
    const response = await ask<{ readonly body?: readonly Found[] }>(
      'typescript.tsserverRequest',
      request,
      { file: uri },
      {},
    );
    if (!response?.body) throw new Error(`TypeScript does not answer ${request}`);
    return response.body;
  };
  try {
    const found = [...(await pull('syntacticDiagnosticsSync')), ...(await pull('semanticDiagnosticsSync'))];
    return found.map(({ start, end, text, code, category }) => ({
      range: {
        start: { line: start.line - 1, character: start.offset - 1 },
        end: { line: end.line - 1, character: end.offset - 1 },
      },
      severity: categories[category as keyof typeof categories] ?? 1,
      message: text,
      source: 'ts',
      ...(code !== undefined && { code }),
    }));
  } catch {
    return undefined;
  }
}

/** A symbol for the language server protocol, which numbers kinds from 1; the editor numbers them from 0. */
function symbolOf(symbol: DocumentSymbol | SymbolInformation): object {
  const { name, kind } = symbol;
  if (!('children' in symbol)) {
    const { location, containerName } = symbol;
    return {
      name,
      kind: kind + 1,
      containerName,
      location: { uri: String(location.uri), range: rangeOf(location.range) },
    };
  }
  const { detail, range, selectionRange, children } = symbol;
  return {
    name,
    kind: kind + 1,
    detail,
    range: rangeOf(range),
    selectionRange: rangeOf(selectionRange),
    children: children.map(symbolOf),
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
