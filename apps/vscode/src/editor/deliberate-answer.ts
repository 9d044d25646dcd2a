import { window } from 'vscode';

/** UI-6: what comes sooner was meant for something else. */
export const attentionMs = 500;

/** Shows a question again when it was answered sooner than anybody can read. Undefined: not answered. */
export async function deliberately<T>(ask: () => Thenable<T | undefined>): Promise<T | undefined> {
  for (;;) {
    const shownAt = performance.now();
    const answer = await ask();
    if (answer === undefined || performance.now() - shownAt >= attentionMs) return answer;
  }
}

/** A modal question. The editor gives the first choice the focus, so Enter presses it. Undefined: not answered. */
export const deliberateAnswer = (
  title: string,
  detail: string,
  ...choices: readonly string[]
): Promise<string | undefined> =>
  deliberately(() => window.showWarningMessage(title, { modal: true, detail }, ...choices));
