import {
  type BuiltInToolCall,
  CountersignError,
  type ToolParams,
  type ToolSuccess,
} from '@countersign/protocol';
import type { Range } from 'vscode-languageserver-types';
import { type RunnerClock, systemClock } from '../clock.ts';
import type { CallContext, Executor, ToolResult } from '../executor.ts';
import type { ProcessStarter } from '../isolation/isolated-process.ts';
import type { Workspace } from '../workspace.ts';
import type { CharacterRange, PositionEncoding, TextLines } from './character-position.ts';
import { EditorLanguage, type LanguageFeatures } from './editor-language.ts';
import type { Answer } from './language-server.ts';
import { LanguageServerPool } from './language-server-pool.ts';
import type { OpenedDocument } from './opened-documents.ts';
import {
  MalformedAnswer,
  readDiagnostics,
  readHover,
  readLocations,
  readSymbols,
  type ServerLocation,
} from './server-answers.ts';
import { LanguageServerFailure } from './server-connection.ts';
import { type ConfiguredServer, defaultWaits, findServer, type WaitTimes } from './server-definition.ts';
import { LocatedFiles, WorkspaceTexts } from './workspace-texts.ts';

export interface LspExecutorOptions {
  readonly workspace: Workspace;
  readonly starter: ProcessStarter;
  /** The person's own; they win over ours for the same extension. */
  readonly servers?: readonly ConfiguredServer[];
  readonly clock?: RunnerClock;
  readonly waits?: Partial<WaitTimes>;
  /** Of the editor that this runner is part of: they answer in place of language servers. */
  readonly features?: LanguageFeatures;
}

/** Who is asked: a language server, or an editor. */
export interface LanguageAnswers {
  readonly encoding: PositionEncoding;
  ask(
    method: string,
    path: string,
    paramsFor: (document: Lines) => object,
    signal: AbortSignal,
  ): Promise<Pick<Answer, 'value'> & { readonly document: Lines }>;
  diagnostics(
    path: string,
    signal: AbortSignal,
  ): Promise<Pick<Answer, 'value'> & { readonly document: Lines }>;
}

const tools = ['diagnostics', 'symbols', 'hover', 'definition', 'references'] as const;
type LspCall = Extract<BuiltInToolCall, { tool: (typeof tools)[number] }>;
type Lines = Pick<OpenedDocument, 'lines'>;
type PositionCall = Extract<LspCall, { params: ToolParams<'hover'> }>;

/** Enough to recognise a line; that of a minified file has no end. */
const LINE_CHARACTERS = 500;
const NAME_CHARACTERS = 500;
const MESSAGE_CHARACTERS = 4_000;
const HOVER_CHARACTERS = 32_000;
const severities = ['error', 'warning', 'information', 'hint'] as const;

/** The language tools (RN-7): real language servers answer, and only about files that tools may see. */
export class LspExecutor implements Executor {
  readonly tools = tools;
  readonly #options: LspExecutorOptions;
  readonly #texts: WorkspaceTexts;
  readonly #files: LocatedFiles;
  readonly #pool: LanguageServerPool;
  readonly #editor: EditorLanguage | undefined;

  constructor(options: LspExecutorOptions) {
    const { workspace, starter, clock = systemClock, waits, features } = options;
    this.#options = options;
    this.#texts = new WorkspaceTexts(workspace);
    this.#files = new LocatedFiles(this.#texts);
    this.#editor = features && new EditorLanguage(features, workspace.root, this.#texts);
    this.#pool = new LanguageServerPool({
      workspace,
      texts: this.#texts,
      starter,
      clock,
      waits: { ...defaultWaits, ...waits },
    });
  }

  async execute(call: BuiltInToolCall, { signal }: CallContext): Promise<ToolResult> {
    if (!isLspCall(call))
      throw new CountersignError('UNKNOWN_TOOL', { tool: call.tool, known: tools.join(', ') });
    const path = this.#texts.resolve(call.params.path);
    const editor = this.#editor;
    if (editor) return (await this.#answer(call, path, editor, signal)) as ToolResult;
    const definition = findServer(path, this.#options.servers ?? []);
    this.#texts.read(path); // a file that cannot be read starts no server
    try {
      const answer = (server: LanguageAnswers) => this.#answer(call, path, server, signal);
      return (await this.#pool.use(definition, signal, answer)) as ToolResult;
    } catch (cause) {
      // RangeError: nested so deeply that comparing or reading it has no stack left.
      if (!(cause instanceof MalformedAnswer || cause instanceof RangeError)) throw cause;
      throw new LanguageServerFailure(definition.language, cause.message, { died: false, cause });
    }
  }

  /** Tells the servers what our own tools have changed. Workspace-relative. */
  filesChanged(paths: readonly string[]): void {
    this.#pool.filesChanged(paths);
  }

  dispose(): Promise<void> {
    return this.#pool.stop();
  }

  #answer(
    call: LspCall,
    path: string,
    server: LanguageAnswers,
    signal: AbortSignal,
  ): Promise<ToolSuccess<LspCall['tool']>> {
    switch (call.tool) {
      case 'diagnostics':
        return this.#diagnostics(path, server, signal);
      case 'symbols':
        return this.#symbols(path, server, signal);
      case 'hover':
        return this.#hover(call, path, server, signal);
      case 'definition':
      case 'references':
        return this.#locations(call, path, server, signal);
    }
  }

  async #diagnostics(
    path: string,
    server: LanguageAnswers,
    signal: AbortSignal,
  ): Promise<ToolSuccess<'diagnostics'>> {
    const { document, value } = await server.diagnostics(path, signal);
    const found = readDiagnostics(value);
    const limit = this.#options.workspace.limits.entries;
    const diagnostics = found.slice(0, limit).flatMap(({ range, severity, message, source, code }) => {
      const place = placeIn(document.lines, range, server.encoding);
      if (!place) return [];
      return {
        ...place,
        severity: severities[(severity ?? 1) - 1] ?? 'error',
        message: cut(message, MESSAGE_CHARACTERS),
        ...(source === undefined ? {} : { source: cut(source, NAME_CHARACTERS) }),
        ...(code === undefined ? {} : { code: cut(String(code), NAME_CHARACTERS) }),
      };
    });
    return { success: true, diagnostics, truncated: found.length > limit };
  }

  async #symbols(
    path: string,
    server: LanguageAnswers,
    signal: AbortSignal,
  ): Promise<ToolSuccess<'symbols'>> {
    const { document, value } = await server.ask('textDocument/documentSymbol', path, () => ({}), signal);
    const limit = this.#options.workspace.limits.entries;
    const found = readSymbols(value, limit + 1);
    const symbols = found.slice(0, limit).flatMap(({ name, kind, container, range }) => {
      const place = placeIn(document.lines, range, server.encoding);
      if (!place) return [];
      return {
        name: cut(name, NAME_CHARACTERS),
        kind,
        ...(container === undefined ? {} : { container: cut(container, NAME_CHARACTERS) }),
        ...place,
      };
    });
    return { success: true, symbols, truncated: found.length > limit };
  }

  async #hover(
    call: PositionCall,
    path: string,
    server: LanguageAnswers,
    signal: AbortSignal,
  ): Promise<ToolSuccess<'hover'>> {
    const position = (document: Lines) => positionIn(document, call, server.encoding);
    const { document, value } = await server.ask('textDocument/hover', path, position, signal);
    const contents = readHover(value);
    return {
      success: true,
      contents: contents === null ? null : cut(contents, HOVER_CHARACTERS),
      text: cut(document.lines.line(call.params.line) ?? '', LINE_CHARACTERS),
    };
  }

  async #locations(
    call: PositionCall,
    path: string,
    server: LanguageAnswers,
    signal: AbortSignal,
  ): Promise<ToolSuccess<'definition'>> {
    const params = (document: Lines) => ({
      ...positionIn(document, call, server.encoding),
      ...(call.tool === 'references' ? { context: { includeDeclaration: true } } : {}),
    });
    const { value } = await server.ask(`textDocument/${call.tool}`, path, params, signal);
    return this.#showLocations(readLocations(value), server.encoding);
  }

  /** Only places inside the workspace are shown (VA-1); how many others there are, is said. */
  #showLocations(found: readonly ServerLocation[], encoding: PositionEncoding): ToolSuccess<'definition'> {
    const find = this.#files.lookUp();
    const limit = this.#options.workspace.limits.entries;
    const locations: ToolSuccess<'definition'>['locations'] = [];
    let outside = 0;
    let truncated = false;
    for (const { uri, range } of found) {
      if (locations.length >= limit) {
        truncated = true;
        break;
      }
      const file = find(uri);
      if (file === 'outside') outside += 1;
      else if (file === 'too much') truncated = true;
      else if (file !== 'refused') {
        const place = placeIn(file.lines, range, encoding);
        if (place) locations.push({ path: file.path, ...place });
      }
    }
    return { success: true, locations, truncated, ...(outside > 0 ? { outside_workspace: outside } : {}) };
  }
}

const isLspCall = (call: BuiltInToolCall): call is LspCall =>
  (tools as readonly string[]).includes(call.tool);

function positionIn(
  { lines }: Lines,
  { tool, params: { line, col } }: PositionCall,
  encoding: PositionEncoding,
) {
  const position = lines.toServer({ line, col }, encoding);
  if (position) return { position };
  const text = lines.line(line);
  const problem =
    text === undefined
      ? `line ${line} is behind the end; the file has ${lines.count} lines`
      : `col ${col} is behind the end of line ${line}, which has ${[...text].length} characters`;
  throw new CountersignError('INVALID_PARAMS', { tool, problem });
}

/** A range and its first line. Undefined for a place that the text does not have. */
function placeIn(
  lines: TextLines,
  range: Range,
  encoding: PositionEncoding,
): (CharacterRange & { readonly text: string }) | undefined {
  const characters = lines.rangeFromServer(range, encoding);
  return characters && { ...characters, text: cut(lines.line(characters.line) ?? '', LINE_CHARACTERS) };
}

/** Never half an emoji. */
function cut(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters).toWellFormed()}…` : text;
}
