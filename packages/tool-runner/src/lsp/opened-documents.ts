import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CountersignError } from '@countersign/protocol';
import { type FileStamp, stampOf } from './changed-files.ts';
import { TextLines } from './character-position.ts';
import type { ServerDefinition } from './server-definition.ts';
import type { WorkspaceTexts } from './workspace-texts.ts';

/** A server keeps every opened document in memory, so the least recently used ones are closed. */
const MAX_OPENED = 64;

export interface OpenedDocument {
  /** Workspace-relative. */
  readonly path: string;
  readonly uri: string;
  readonly version: number;
  readonly text: string;
  readonly lines: TextLines;
  readonly stamp: FileStamp | undefined;
}

export interface OpenedDocumentsOptions {
  readonly root: string;
  readonly texts: WorkspaceTexts;
  readonly server: ServerDefinition;
  readonly notify: (method: string, params: object) => void;
  readonly onClose: (uri: string) => void;
}

/**
 * The documents that are open in one server, each with the content of the disk. Before a request, `synchronise` tells
 * the server what has changed in them, and `open` opens the file that the request is about.
 */
export class OpenedDocuments {
  readonly #options: OpenedDocumentsOptions;
  /** Least recently used first. */
  readonly #documents = new Map<string, OpenedDocument>();
  /** One counter for all documents: a document that is opened again never gets an old version number. */
  #versions = 0;

  constructor(options: OpenedDocumentsOptions) {
    this.#options = options;
  }

  has(uri: string): boolean {
    return [...this.#documents.values()].some((document) => document.uri === uri);
  }

  /** Returns whether any document differed from what the server knew. */
  synchronise(): boolean {
    let hasChanged = false;
    for (const document of [...this.#documents.values()]) {
      if (this.#stamp(document.path) === document.stamp) continue;
      try {
        hasChanged = this.#refresh(document) !== document || hasChanged;
      } catch (error) {
        if (!(error instanceof CountersignError)) throw error;
        // The file cannot be read any more. Once it is closed, the server uses the disk's state.
        this.#close(document.path);
        hasChanged = true;
      }
    }
    return hasChanged;
  }

  /** Reads the file and opens it, or sends its new content. Throws if it cannot be read. */
  open(path: string): OpenedDocument {
    const known = this.#documents.get(path);
    const document = known ? this.#refresh(known) : this.#openNew(path);
    this.#documents.delete(path);
    this.#documents.set(path, document);
    for (const oldest of this.#documents.keys()) {
      if (this.#documents.size <= MAX_OPENED) break;
      this.#close(oldest);
    }
    return document;
  }

  #openNew(path: string): OpenedDocument {
    const { root, texts, server, notify } = this.#options;
    const stamp = this.#stamp(path); // before reading: a change in between is noticed next time
    const text = texts.read(path);
    const uri = pathToFileURL(join(root, path)).href;
    const version = ++this.#versions;
    const languageId = server.languageIds?.[extname(path).toLowerCase()] ?? server.language;
    notify('textDocument/didOpen', { textDocument: { uri, languageId, version, text } });
    return { path, uri, version, text, lines: new TextLines(text), stamp };
  }

  /** Returns the same object if the content is the same. */
  #refresh(document: OpenedDocument): OpenedDocument {
    const stamp = this.#stamp(document.path);
    const text = this.#options.texts.read(document.path);
    if (text === document.text) return Object.assign(document, { stamp });
    const { uri } = document;
    const version = ++this.#versions;
    const changed = { ...document, version, text, lines: new TextLines(text), stamp };
    this.#options.notify('textDocument/didChange', {
      textDocument: { uri, version },
      contentChanges: [{ text }],
    });
    this.#documents.set(document.path, changed);
    return changed;
  }

  #close(path: string): void {
    const document = this.#documents.get(path);
    if (!document) return;
    this.#documents.delete(path);
    this.#options.notify('textDocument/didClose', { textDocument: { uri: document.uri } });
    this.#options.onClose(document.uri);
  }

  #stamp(path: string): FileStamp | undefined {
    return stampOf(join(this.#options.root, path));
  }
}
