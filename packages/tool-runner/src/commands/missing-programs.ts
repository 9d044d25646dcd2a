import type { IsolatingStarter } from '../isolation/process-starter.ts';

/** How shells, make, env and Node say that they did not find a program. */
const messages: readonly RegExp[] = [
  /(?:^|: )(?:line )?\d+: ([\w.+-]+): (?:command )?not found$/gm,
  /^(?:\/usr\/bin\/)?env: [‘'"]?([\w.+-]+)[’'"]?: No such file or directory$/gm,
  /^make(?:\[\d+\])?: ([\w.+-]+): No such file or directory$/gm,
  /\bspawn ([\w.+-]+) ENOENT\b/g,
];
const MAX_NAMED = 3;

/** How shells and make say that the interpreter of a virtual environment is not there. */
const missingInterpreter =
  /(?:^|[\s/])\.?v?env\/bin\/[\w.+-]+: (?:No such file|cannot execute|.*bad interpreter|not found)/m;

/** Returns sentences about programs that a command did not find and that the person has. */
export function explainMissingPrograms(
  starter: Pick<IsolatingStarter, 'explainHidden'>,
  stderr: string,
): readonly string[] {
  const python = missingInterpreter.test(stderr) ? (['python of the workspace'] as const) : [];
  return [...python, ...missingPrograms(stderr)].flatMap((name) => starter.explainHidden(name) ?? []);
}

/** Returns the names of programs that a command did not find, from what it wrote. */
export function missingPrograms(stderr: string): readonly string[] {
  const names = messages.flatMap((message) => [...stderr.matchAll(message)].map(([, name = '']) => name));
  return [...new Set(names)].slice(0, MAX_NAMED);
}
