import { RelativePattern, type TextEditor, Uri, window, workspace } from 'vscode';
import { fileMatches } from '../chat/file-matches.ts';
import { type Lines, mentionOf } from '../chat/mention.ts';
import type { PageMention } from '../chat/messages.ts';
import type { Words } from '../words.ts';

const maxFiles = 20_000;
const maxOffered = 12;
/** Typing asks after each letter: one listing of the folder serves them. */
const listingMs = 10_000;

/** A file of one of the window's folders. */
export interface WorkspaceFile {
  /** The path of its folder. */
  readonly folder: string;
  /** Its path inside the folder, with slashes. */
  readonly path: string;
}

/** Undefined for a file outside the folders of the window, and for text that is not on a disk. */
export function workspaceFile(uri: Uri): WorkspaceFile | undefined {
  const folder = uri.scheme === 'file' ? workspace.getWorkspaceFolder(uri) : undefined;
  if (!folder) return undefined;
  return { folder: folder.uri.fsPath, path: workspace.asRelativePath(uri, false) };
}

/** The selected lines of an editor. A selection that ends at the start of a line does not include that line. */
export function selectedLines({ selection }: Pick<TextEditor, 'selection'>): Lines | undefined {
  if (selection.isEmpty) return undefined;
  const { start, end } = selection;
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  return { from: start.line + 1, to: last + 1 };
}

/** Finds the files that a message can mention. Reads names only. */
export class WorkspaceFiles {
  readonly #words: Words;
  #listing: { readonly folder: string; readonly at: number; readonly paths: Promise<string[]> } | undefined;

  constructor(words: Words) {
    this.#words = words;
  }

  /** The selection first, then open files, then all files of the folder. */
  async mentions(folder: string, written: string): Promise<PageMention[]> {
    const typed = written.replace(/^"/, ''); // a name with spaces stands in quotation marks
    const listed = await this.#list(folder);
    const open = window.tabGroups.all
      .flatMap(({ tabs }) => tabs)
      .flatMap(({ input }) => (input as { uri?: Uri } | undefined)?.uri ?? [])
      .flatMap((uri) => workspaceFile(uri) ?? [])
      .filter((file) => file.folder === folder)
      .map(({ path }) => path);
    const found = [...fileMatches(open, typed, maxOffered), ...fileMatches(listed, typed, maxOffered)];
    const files = [...new Set(found)].map((path) => ({ text: mentionOf(path), detail: '' }));
    return [...this.#selection(folder, typed), ...files].slice(0, maxOffered);
  }

  #selection(folder: string, typed: string): PageMention[] {
    const editor = window.activeTextEditor;
    const file = editor && workspaceFile(editor.document.uri);
    const lines = editor && selectedLines(editor);
    if (!file || !lines || file.folder !== folder) return [];
    const { selection } = this.#words.ask;
    const isWanted = fileMatches([file.path, selection, 'selection'], typed, 1).length > 0;
    return isWanted ? [{ text: mentionOf(file.path, lines), detail: selection }] : [];
  }

  #list(folder: string): Promise<string[]> {
    const now = performance.now();
    if (this.#listing?.folder !== folder || now - this.#listing.at > listingMs)
      this.#listing = { folder, at: now, paths: listFiles(folder) };
    return this.#listing.paths;
  }
}

async function listFiles(folder: string): Promise<string[]> {
  const uri = Uri.file(folder);
  const excluded = ['files.exclude', 'search.exclude'].flatMap((name) =>
    Object.entries(workspace.getConfiguration(undefined, uri).get<Record<string, unknown>>(name, {}))
      .filter(([, isOn]) => isOn !== false)
      .map(([pattern]) => pattern),
  );
  const exclude = excluded.length === 0 ? null : `{${excluded.join(',')}}`;
  const found = await workspace.findFiles(new RelativePattern(folder, '**/*'), exclude, maxFiles);
  return found.flatMap((file) => workspaceFile(file)?.path ?? []);
}
