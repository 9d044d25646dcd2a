import { type MessageItem, window } from 'vscode';

/** UI-6: what comes sooner was meant for something else. */
export const attentionMs = 500;

/** A modal question; shown again when it was answered sooner than anybody can read. Undefined: not answered. */
export async function deliberateAnswer(
  title: string,
  detail: string,
  ...choices: readonly string[]
): Promise<string | undefined> {
  for (;;) {
    const shownAt = performance.now();
    const items: MessageItem[] = choices.map((choice) => ({ title: choice }));
    const chosen = await window.showWarningMessage(title, { modal: true, detail }, ...items);
    if (chosen === undefined || performance.now() - shownAt >= attentionMs) return chosen?.title;
  }
}
