import { window } from 'vscode';
import type { Words } from '../words.ts';

/** Inserts text of an answer at each cursor of the active editor, in place of what is selected there. */
export async function insertCode(text: string, { chat }: Words): Promise<void> {
  const editor = window.activeTextEditor;
  const isDone = await editor?.edit((edit) => {
    for (const selection of editor.selections) edit.replace(selection, text);
  });
  if (editor && isDone) await window.showTextDocument(editor.document, editor.viewColumn);
  else void window.showInformationMessage(chat.noEditor);
}
