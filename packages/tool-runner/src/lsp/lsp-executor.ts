import { CountersignError, type ToolParams, type ToolSuccess } from '@countersign/protocol';
import type { Range } from 'vscode-languageserver-types';
import { type RunnerClock, systemClock } from '../clock.ts';
import type { ProcessStarter } from '../isolation/isolated-process.ts';
import type { CallOf } from '../tool-module.ts';
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
  /** The person's own servers; they replace ours for the same extension. */
  readonly servers?: readonly ConfiguredServer[];
  readonly clock?: RunnerClock;
  readonly waits?: Partial<WaitTimes>;
  /** Features of the editor that contains this runner, used instead of language servers. */
  readonly features?: LanguageFeatures;
}

/** Answers requests about files: a language server or an editor. */
interface LanguageSource {
  readonly encoding: PositionEncoding;
  ask(
    method: string,
    path: string,
    paramsFor: (document: Lines) => object,
    signal: AbortSignal,
  ): Promise<LanguageAnswer>;
  diagnostics(path: string, signal: AbortSignal): Promise<LanguageAnswer>;
}

type Lines = Pick<OpenedDocument, 'lines'>;
type LanguageAnswer = Pick<Answer, 'value'> & { readonly document: Lines };
type PositionCall = CallOf<'hover' | 'definition' | 'references'>;

/** Enough to recognise a line; a minified file may have one very long line. */
const LINE_CHARACTERS = 500;
const NAME_CHARACTERS = 500;
const MESSAGE_CHARACTERS = 4_000;
const HOVER_CHARACTERS = 32_000;
const severities = ['error', 'warning', 'information', 'hint'] as const;

/** The language tools (RN-7): they ask real language servers, and show only files that tools may see. */
export class LspExecutor {
  readonly workspace: Workspace;
  readonly #options: LspExecutorOptions;
  readonly #texts: WorkspaceTexts;
  readonly #files: LocatedFiles;
  readonly #pool: LanguageServerPool;
  readonly #editor: EditorLanguage | undefined;

  constructor(options: LspExecutorOptions) {
    const { workspace, starter, clock = systemClock, waits, features } = options;
    this.workspace = workspace;
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

  /** Asks an editor's language features, or else the language server for the file. */
  async #ask<T>(
    asked: string,
    signal: AbortSignal,
    question: (server: LanguageSource, path: string) => Promise<T>,
  ): Promise<T> {
    const path = this.#texts.resolve(asked);
    if (this.#editor) return question(this.#editor, path);
    const definition = findServer(path, this.#options.servers ?? []);
    this.#texts.read(path); // throws before a server is started
    try {
      return await this.#pool.use(definition, signal, (server) => question(server, path));
    } catch (cause) {
      // RangeError: the answer was nested so deeply that comparing or reading it overflowed the stack.
      if (!(cause instanceof MalformedAnswer || cause instanceof RangeError)) throw cause;
      throw new LanguageServerFailure(definition.language, cause.message, { died: false, cause });
    }
  }

  dispose(): Promise<void> {
    return this.#pool.stop();
  }

  diagnostics(
    { path: asked }: ToolParams<'diagnostics'>,
    signal: AbortSignal,
  ): Promise<ToolSuccess<'diagnostics'>> {
    return this.#ask(asked, signal, async (server, path) => {
      const { document, value } = await server.diagnostics(path, signal);
      const found = readDiagnostics(value);
      const limit = this.workspace.limits.entries;
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
    });
  }

  symbols({ path: asked }: ToolParams<'symbols'>, signal: AbortSignal): Promise<ToolSuccess<'symbols'>> {
    return this.#ask(asked, signal, async (server, path) => {
      const { document, value } = await server.ask('textDocument/documentSymbol', path, () => ({}), signal);
      const limit = this.workspace.limits.entries;
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
    });
  }

  hover(call: PositionCall, signal: AbortSignal): Promise<ToolSuccess<'hover'>> {
    return this.#ask(call.params.path, signal, async (server, path) => {
      const position = (document: Lines) => positionIn(document, call, server.encoding);
      const { document, value } = await server.ask('textDocument/hover', path, position, signal);
      const contents = readHover(value);
      return {
        success: true,
        contents: contents === null ? null : cut(contents, HOVER_CHARACTERS),
        text: cut(document.lines.line(call.params.line) ?? '', LINE_CHARACTERS),
      };
    });
  }

  /** `context` is added to the parameters of the request. */
  locations(
    call: PositionCall,
    signal: AbortSignal,
    context: object = {},
  ): Promise<ToolSuccess<'definition' | 'references'>> {
    return this.#ask(call.params.path, signal, async (server, path) => {
      const params = (document: Lines) => ({ ...positionIn(document, call, server.encoding), ...context });
      const { value } = await server.ask(`textDocument/${call.tool}`, path, params, signal);
      return this.#showLocations(readLocations(value), server.encoding);
    });
  }

  /** Shows only places inside the workspace (VA-1), and counts the others. */
  #showLocations(found: readonly ServerLocation[], encoding: PositionEncoding): ToolSuccess<'definition'> {
    const find = this.#files.lookUp();
    const limit = this.workspace.limits.entries;
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

/** A range and the text of its first line. Undefined if the text has no such range. */
function placeIn(
  lines: TextLines,
  range: Range,
  encoding: PositionEncoding,
): (CharacterRange & { readonly text: string }) | undefined {
  const characters = lines.rangeFromServer(range, encoding);
  return characters && { ...characters, text: cut(lines.line(characters.line) ?? '', LINE_CHARACTERS) };
}

/** Shortens a text without splitting an emoji. */
function cut(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters).toWellFormed()}…` : text;
}
