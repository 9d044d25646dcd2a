import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Workspace } from './workspace.ts';

/** A file that a person has open in the editor that this runner is part of. */
export interface OpenDocument {
  /** Absolute, as the editor spells it. */
  readonly path: string;
  /** Whether it has changes that are not on the disk. */
  readonly isUnsaved: boolean;
  text(): string;
}

/** The documents that an editor has open. In its runner unsaved buffers win over the disk (RN-9). */
export interface OpenDocuments {
  list(): readonly OpenDocument[];
  /**
   * Replaces the text of an open document, as one step that the person can undo there, and saves it. Returns false, and
   * changes nothing, if the document does not have the expected text (line endings aside) or is closed.
   */
  replace(path: string, change: { readonly expected: string; readonly text: string }): Promise<boolean>;
}

/** The open document of a file, found by the real path: whichever way the person opened it. */
export function openDocumentAt({ root, documents }: Workspace, path: string): OpenDocument | undefined {
  if (!documents) return undefined;
  const wanted = join(root, path);
  return documents.list().find((document) => document.path === wanted || realPath(document.path) === wanted);
}

/** The text of a file that is not on the disk yet; undefined where the disk has it all. */
export function unsavedText(workspace: Workspace, path: string): string | undefined {
  const document = openDocumentAt(workspace, path);
  return document?.isUnsaved ? document.text() : undefined;
}

export interface UnsavedText {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly text: string;
}

/** Everything of the workspace that is not on the disk yet. */
export function unsavedTexts({ root, documents }: Workspace): readonly UnsavedText[] {
  return (documents?.list() ?? []).flatMap((document) => {
    const real = document.isUnsaved ? realPath(document.path) : undefined;
    return real?.startsWith(`${root}/`) ? [{ path: real.slice(root.length + 1), text: document.text() }] : [];
  });
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
