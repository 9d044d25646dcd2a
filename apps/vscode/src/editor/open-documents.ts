import type { OpenDocuments } from '@countersign/tool-runner';
import { Range, type TextDocument, WorkspaceEdit, workspace } from 'vscode';
import { changedPart } from '../runner/changed-part.ts';

/** The documents that are open in this window (RN-9). */
export const openDocuments: OpenDocuments = {
  list: () =>
    openFiles().map((document) => ({
      path: document.uri.fsPath,
      isUnsaved: document.isDirty,
      text: () => document.getText(),
    })),

  async replace(path, { expected, text }) {
    const document = openFiles().find(({ uri }) => uri.fsPath === path);
    if (!document || withLineFeeds(document.getText()) !== withLineFeeds(expected)) return false;
    const part = changedPart(document.getText(), inLineEndingsOf(document, text));
    if (part) {
      const edit = new WorkspaceEdit();
      const range = new Range(document.positionAt(part.from), document.positionAt(part.to));
      edit.replace(document.uri, range, part.text);
      if (!(await workspace.applyEdit(edit))) return false;
    }
    if (document.isDirty && !(await document.save())) throw new Error(`The editor could not save ${path}`);
    return true;
  },
};

const openFiles = (): TextDocument[] =>
  workspace.textDocuments.filter(({ uri, isClosed }) => uri.scheme === 'file' && !isClosed);

const withLineFeeds = (text: string): string => text.replaceAll('\r\n', '\n');

/** A document has one kind of line ending and converts the others. */
const inLineEndingsOf = ({ eol }: TextDocument, text: string): string =>
  eol === 2 ? withLineFeeds(text).replaceAll('\n', '\r\n') : withLineFeeds(text);
