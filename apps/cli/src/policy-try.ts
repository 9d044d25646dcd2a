import type { ToolCallPolicy } from '@countersign/policy';
import { CountersignError, makeVisible } from '@countersign/protocol';
import { callFromLine } from './call-words.ts';
import { linesOf } from './policy-check.ts';
import { explanation } from './policy-explain.ts';
import { styles, type Terminal } from './terminal.ts';
import type { Words } from './words.ts';

const examples = [
  'read_file path=README.md',
  'edit_file path=src/greeting.js old=Helo new=Hello',
  'run npm test',
  'run cat ../../etc/passwd',
  'shell_exec command="rm -rf /"',
];

/**
 * Shows the decision on each call that is typed or piped in, or on a few sample calls if there is no input. Nothing is
 * executed.
 */
export async function tryCalls(
  policy: ToolCallPolicy,
  terminal: Terminal,
  { workspace, words }: { readonly workspace: string; readonly words: Words },
): Promise<number> {
  const style = styles(terminal.color);
  const { policy: said } = words;
  if (!terminal.interactive) {
    let shown = 0;
    // If only the output is redirected, a person at the keyboard would not know that we wait for input.
    const piped = isKeyboard(terminal.stdin) ? [] : linesOf(terminal.stdin);
    for await (const line of piped) {
      if (line.trim() === '') continue;
      await show(line);
      shown += 1;
    }
    if (shown === 0) for (const line of examples) await show(line);
    return 0;
  }
  await terminal.write(
    `\n  ${style.bold(said.tryTitle)} ${said.tryHow}\n` +
      `  ${said.tryWorkspace(makeVisible(workspace))}\n\n  ${said.tryExamples}\n${examples.map((line) => `    ${style.cyan(line)}\n`).join('')}\n`,
  );
  for await (const line of terminal.typed(`  ${said.tryPrompt}`)) if (line.trim() !== '') await show(line);
  await terminal.write('\n');
  return 0;

  async function show(line: string): Promise<void> {
    if (!terminal.interactive) await terminal.write(`\n  ${style.cyan(`> ${line}`)}\n`);
    try {
      const call = callFromLine(line);
      await terminal.write(
        `${explanation(call, policy.decide(call.tool, call.args), { workspace, words }, terminal)}\n\n`,
      );
    } catch (error) {
      if (!(error instanceof CountersignError)) throw error;
      await terminal.write(`  ${style.red(words.said(error))}\n\n`);
    }
  }
}

const isKeyboard = (input: Terminal['stdin']): boolean => (input as { isTTY?: boolean }).isTTY === true;
