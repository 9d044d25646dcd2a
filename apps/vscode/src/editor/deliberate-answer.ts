import { askDeliberately } from '@countersign/approvals';
import { systemClock } from '@countersign/client';
import { window } from 'vscode';

/** Asks again if the answer came too soon for the person to have read the question (UI-6). */
export const deliberately = <T>(ask: () => Thenable<T | undefined>): Promise<T | undefined> =>
  askDeliberately(ask, { clock: systemClock });

/** Shows a modal dialog. Enter presses the first choice, which has the focus. Returns undefined if dismissed. */
export const deliberateAnswer = (
  title: string,
  detail: string,
  ...choices: readonly string[]
): Promise<string | undefined> =>
  deliberately(() => window.showWarningMessage(title, { modal: true, detail }, ...choices));
