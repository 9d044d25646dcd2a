import { askDeliberately } from '@countersign/approvals';
import { systemClock } from '@countersign/client';
import { window } from 'vscode';

/** Repeats a question that was answered before anybody could read it (UI-6). Undefined: not answered. */
export const deliberately = <T>(ask: () => Thenable<T | undefined>): Promise<T | undefined> =>
  askDeliberately(ask, { clock: systemClock });

/** A modal question. The editor gives the first choice the focus, so Enter presses it. Undefined: not answered. */
export const deliberateAnswer = (
  title: string,
  detail: string,
  ...choices: readonly string[]
): Promise<string | undefined> =>
  deliberately(() => window.showWarningMessage(title, { modal: true, detail }, ...choices));
