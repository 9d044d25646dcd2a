import { join } from 'node:path';
import { realPath } from './real-disk.ts';
import type { Workspace } from './workspace.ts';

/** A file that is open in the editor that contains this runner. */
export interface OpenDocument {
  /** Absolute, as the editor spells it. */
  readonly path: string;
  /** Whether it has changes that are not on the disk. */
  readonly isUnsaved: boolean;
  text(): string;
}

/** The documents that an editor has open. In its runner unsaved buffers win over the disk (RN-9). */
export interface OpenDocuments {
  /**
   * For an editor that must be asked for its text: called before a call is previewed or executed, with the absolute
   * paths that the call names. Afterwards `list` has them as they are now.
   */
  prepare?(paths: readonly string[]): Promise<void>;
  list(): readonly OpenDocument[];
  /**
   * Replaces the text of an open document, as one step that the person can undo there, and saves it. Returns false, and
   * changes nothing, if the document does not have the expected text (line endings aside) or is closed.
   */
  replace(path: string, change: { readonly expected: string; readonly text: string }): Promise<boolean>;
}

/** The open document of a file. Compares real paths, because the person may have opened it through a link. */
export function openDocumentAt({ root, documents }: Workspace, path: string): OpenDocument | undefined {
  if (!documents) return undefined;
  const wanted = join(root, path);
  return documents.list().find((document) => document.path === wanted || realPath(document.path) === wanted);
}

/** The unsaved text of a file; undefined if the file has no unsaved changes. */
export function unsavedText(workspace: Workspace, path: string): string | undefined {
  const document = openDocumentAt(workspace, path);
  return document?.isUnsaved ? document.text() : undefined;
}

export interface UnsavedText {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly text: string;
}

/** All unsaved texts of the workspace. */
export function unsavedTexts({ root, documents }: Workspace): readonly UnsavedText[] {
  return (documents?.list() ?? []).flatMap((document) => {
    const real = document.isUnsaved ? realPath(document.path) : undefined;
    return real?.startsWith(`${root}/`) ? [{ path: real.slice(root.length + 1), text: document.text() }] : [];
  });
}

/** Asks the editor for the files that a call names, if it must be asked. */
export async function prepareDocuments(
  { root, documents }: Workspace,
  params: Readonly<Record<string, unknown>>,
): Promise<void> {
  const named = [params.path, params.source, params.dest].filter((path) => typeof path === 'string');
  if (named.length > 0) await documents?.prepare?.(named.map((path) => join(root, path)));
}
