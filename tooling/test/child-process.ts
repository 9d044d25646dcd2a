/** Runs a program of the tool chain in the repository's root. */
import { spawn } from 'node:child_process';
import { repositoryRoot } from '../set-up.mjs';

export interface RunResult {
  /** 1 also when the program could not be started or was killed. */
  readonly exitCode: number;
  /** Both streams in order of arrival; empty when they were shown directly. */
  readonly output: string;
}

export function run(program: string, args: readonly string[], { capture = false } = {}): Promise<RunResult> {
  const child = spawn(program, args, { cwd: repositoryRoot, stdio: capture ? 'pipe' : 'inherit' });
  const chunks: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ exitCode: 1, output: error.message }));
    child.on('close', (code) =>
      resolve({ exitCode: code ?? 1, output: Buffer.concat(chunks).toString('utf8') }),
    );
  });
}
