import { spawn } from 'node:child_process';
import type { Environment } from '../command-context.ts';

/** The person's editor; undefined if none is set. */
export const editorOf = ({ VISUAL, EDITOR }: Environment): string | undefined =>
  VISUAL || EDITOR || undefined;

/** Runs the editor through a shell, as other programs do, because its setting may have arguments ("code --wait"). */
export function runEditor(editor: string, file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`${editor} ended with ${signal ?? code}`)),
    );
  });
}
