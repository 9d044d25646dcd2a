/** `npm run check`: types, lint, format, and code or dependencies that nothing uses. */
import { join } from 'node:path';
import { argv, execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { repositoryRoot } from './set-up.mjs';
import { run } from './test/child-process.ts';

interface CheckStep {
  readonly name: string;
  /** Path inside node_modules of a program that Node runs, then its arguments. */
  readonly command: readonly [program: string, ...args: string[]];
  /** A command that fixes most findings. */
  readonly remedy?: string;
}

const steps: readonly CheckStep[] = [
  { name: 'types', command: ['typescript/bin/tsc', '--build'] },
  {
    name: 'lint and format',
    command: ['@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
    remedy: 'npm run format',
  },
  { name: 'unused code and dependencies', command: ['knip/bin/knip.js', '--no-progress'] },
];

/** Runs all steps, one line each, and shows the output of those that fail. */
export async function reportChecks(): Promise<{ passed: number; failures: string[] }> {
  let passed = 0;
  const failures: string[] = [];
  for (const { name, command, remedy } of steps) {
    const [program, ...args] = command;
    const startedAt = performance.now();
    const path = join(repositoryRoot, 'node_modules', program);
    const { exitCode, output } = await run(execPath, [path, ...args], { capture: true });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);

    const ok = exitCode === 0;
    if (ok) passed += 1;
    else failures.push(name);
    console.log(`${ok ? '✓' : '✗'} ${name} (${seconds} s)`);
    if (!ok) console.log(`${output.trimEnd()}${remedy === undefined ? '' : `\nTry: ${remedy}`}\n`);
  }
  return { passed, failures };
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const { failures } = await reportChecks();
  process.exitCode = failures.length === 0 ? 0 : 1;
}
