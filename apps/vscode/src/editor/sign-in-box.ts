import { window } from 'vscode';
import type { Words } from '../words.ts';

/**
 * Asks for a sign-in link until one is accepted or the person dismisses the box. `signIn` resolves with the problem, if
 * any, which is shown below the box. The box keeps its text.
 */
export function askForLink(
  prompt: string,
  { signIn: words }: Words,
  signIn: (pasted: string) => Promise<string | undefined>,
  signal?: AbortSignal,
): Promise<void> {
  const box = window.createInputBox();
  box.prompt = prompt;
  box.placeholder = words.placeholder;
  box.ignoreFocusOut = true;
  let isTrying = false;
  const submit = async () => {
    if (isTrying || box.value.trim() === '') return;
    isTrying = true;
    box.busy = true;
    // Disable the box during the attempt, so that no typing is lost.
    box.enabled = false;
    const problem = await signIn(box.value).catch((error: Error) => error.message);
    if (problem === undefined) return box.hide();
    isTrying = false;
    box.busy = false;
    box.enabled = true;
    box.validationMessage = problem;
    box.show(); // focuses the box again
  };
  return new Promise((resolve) => {
    signal?.addEventListener('abort', () => box.hide(), { once: true });
    box.onDidAccept(() => void submit());
    box.onDidChangeValue(() => {
      box.validationMessage = undefined;
    });
    box.onDidHide(() => {
      box.dispose();
      resolve();
    });
    box.show();
  });
}
