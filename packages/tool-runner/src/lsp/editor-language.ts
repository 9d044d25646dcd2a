import { join } from 'node:path';
import type { Position } from 'vscode-languageserver-types';
import { orCancelled } from '../runner-errors.ts';
import { TextLines } from './character-position.ts';
import type { WorkspaceTexts } from './workspace-texts.ts';

/** An editor's own language features, with parameters and results as in the language server protocol (RN-7). */
export interface LanguageFeatures {
  diagnostics(file: string, signal: AbortSignal): Promise<unknown>;
  symbols(file: string, signal: AbortSignal): Promise<unknown>;
  hover(file: string, position: Position, signal: AbortSignal): Promise<unknown>;
  definition(file: string, position: Position, signal: AbortSignal): Promise<unknown>;
  references(file: string, position: Position, signal: AbortSignal): Promise<unknown>;
}

/** Asks the editor instead of a language server, and only about files that tools may see. */
export class EditorLanguage {
  readonly encoding = 'utf-16';
  readonly #features: LanguageFeatures;
  readonly #root: string;
  readonly #texts: WorkspaceTexts;

  constructor(features: LanguageFeatures, root: string, texts: WorkspaceTexts) {
    this.#features = features;
    this.#root = root;
    this.#texts = texts;
  }

  async ask(
    method: string,
    path: string,
    paramsFor: (document: { readonly lines: TextLines }) => object,
    signal: AbortSignal,
  ) {
    const document = { lines: new TextLines(this.#texts.read(path)) };
    const { position } = paramsFor(document) as { readonly position?: Position };
    const file = join(this.#root, path);
    return { document, value: await orCancelled(this.#request(method, file, position, signal), signal) };
  }

  async diagnostics(path: string, signal: AbortSignal) {
    const document = { lines: new TextLines(this.#texts.read(path)) };
    const asked = this.#features.diagnostics(join(this.#root, path), signal);
    return { document, value: await orCancelled(asked, signal) };
  }

  #request(
    method: string,
    file: string,
    position: Position | undefined,
    signal: AbortSignal,
  ): Promise<unknown> {
    if (!position) return this.#features.symbols(file, signal);
    switch (method) {
      case 'textDocument/hover':
        return this.#features.hover(file, position, signal);
      case 'textDocument/definition':
        return this.#features.definition(file, position, signal);
      default:
        return this.#features.references(file, position, signal);
    }
  }
}
