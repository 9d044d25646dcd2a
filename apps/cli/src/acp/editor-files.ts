import { readFile, stat } from 'node:fs/promises';
import { type AgentContext, type ClientCapabilities, methods } from '@agentclientprotocol/sdk';
import type { OpenDocuments } from '@countersign/tool-runner';

/** Larger files are not asked for: nobody edits them by hand, and they would hold up the connection. */
const maxBytes = 5_000_000;
/** An editor that does not answer in time counts as one that does not have the file open. */
const answerWithinMs = 3_000;

/** The editor's own text of files, which may be unsaved: its `fs` capability in one conversation. */
export class EditorFiles {
  readonly #editor: AgentContext;
  readonly #sessionId: string;
  readonly #fs: NonNullable<ClientCapabilities['fs']>;

  constructor(editor: AgentContext, sessionId: string, capabilities: ClientCapabilities | undefined) {
    this.#editor = editor;
    this.#sessionId = sessionId;
    this.#fs = capabilities?.fs ?? {};
  }

  get canWrite(): boolean {
    return this.#fs.writeTextFile === true;
  }

  /** The text as the editor has it; undefined if the editor cannot say. */
  async read(path: string): Promise<string | undefined> {
    if (this.#fs.readTextFile !== true || (await sizeOf(path)) > maxBytes) return undefined;
    try {
      const { content } = await this.#editor.request(
        methods.client.fs.readTextFile,
        { sessionId: this.#sessionId, path },
        { cancellationSignal: AbortSignal.timeout(answerWithinMs), stopWaitingOnCancel: true },
      );
      return content;
    } catch {
      return undefined; // no such file, not text, or no answer
    }
  }

  /** Replaces the text in the editor, which saves it. */
  async write(path: string, content: string): Promise<void> {
    await this.#editor.request(methods.client.fs.writeTextFile, {
      sessionId: this.#sessionId,
      path,
      content,
    });
  }
}

/** A file's text as the person sees it: the editor's, else that of the disk. Undefined if it is too large or not there. */
export async function currentText(path: string, files: EditorFiles | undefined): Promise<string | undefined> {
  const shown = await files?.read(path);
  if (shown !== undefined) return shown;
  return (await sizeOf(path)) > maxBytes ? undefined : textOnDisk(path);
}

/**
 * The unsaved files of an editor that speaks ACP (RN-9). The protocol cannot list open files, so the editor is asked for
 * those that a call names, before each preview and execution. A file counts as unsaved if the editor's text differs from
 * the disk's.
 */
export class EditorDocuments implements OpenDocuments {
  readonly #files: () => EditorFiles | undefined;
  readonly #unsaved = new Map<string, string>();

  constructor(files: () => EditorFiles | undefined) {
    this.#files = files;
  }

  list() {
    return [...this.#unsaved].map(([path, text]) => ({ path, isUnsaved: true, text: () => text }));
  }

  async prepare(paths: readonly string[]): Promise<void> {
    await Promise.all(paths.map((path) => this.#look(path)));
  }

  async replace(path: string, { expected, text }: { expected: string; text: string }): Promise<boolean> {
    const files = this.#files();
    const now = await files?.read(path);
    if (!files?.canWrite || now === undefined || withLineFeeds(now) !== withLineFeeds(expected)) return false;
    await files.write(path, text);
    await this.#look(path);
    return true;
  }

  async #look(path: string): Promise<void> {
    const [shown, saved] = await Promise.all([this.#files()?.read(path), textOnDisk(path)]);
    // Text in another encoding than UTF-8 cannot be compared.
    const isComparable = shown !== undefined && saved !== undefined && !saved.includes('\ufffd');
    const isUnsaved = isComparable && !isSameText(shown, saved);
    if (isUnsaved) this.#unsaved.set(path, shown);
    else this.#unsaved.delete(path);
  }
}

const textOnDisk = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').catch(() => undefined);

/** 0 if the file is not there. */
const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

/** Editors leave out a byte order mark, and may leave out the last line feed. */
const isSameText = (a: string, b: string): boolean => bare(a) === bare(b);
const bare = (text: string): string =>
  withLineFeeds(text)
    .replace(/^\ufeff/, '')
    .replace(/\n$/, '');
const withLineFeeds = (text: string): string => text.replaceAll('\r\n', '\n');
