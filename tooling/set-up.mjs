/**
 * Installs everything that a fresh clone, or one whose dependencies changed, needs to run.
 * Plain JavaScript for Node 18 and newer without dependencies, because it runs before they are installed.
 * When there is nothing to do, it prints nothing and takes a few milliseconds.
 */
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { findNode24 } from './set-up/node-24.mjs';
import { isSetUp } from './set-up/stamp.mjs';
import { isPageBuilt } from './set-up/web-page.mjs';

/** The root of this repository. */
export const repositoryRoot = fileURLToPath(new URL('..', import.meta.url));

/** A problem that a person can fix: only its message is shown. */
class SetUpProblem extends Error {}

/**
 * Installs what is missing below `root`, and builds the web page when its sources changed. Safe to call at any time,
 * and from several processes at once.
 * @param {{ root?: string }} [options]
 * @returns {Promise<void>} rejects with a SetUpProblem when a person has to fix something first
 */
export async function setUp({ root = repositoryRoot } = {}) {
  if (isSetUp(root) && findNode24(root) !== undefined && isPageBuilt(root)) return;

  // Imported only when needed: child processes and locks would double the time of the usual case.
  const { install } = await import('./set-up/install.mjs');
  const problem = await install(root);
  if (problem !== undefined) throw new SetUpProblem(problem);
}

/**
 * The message for programs that start with a set-up, without a stack trace.
 * @param {unknown} failure
 */
export function explainSetUpFailure(failure) {
  return failure instanceof SetUpProblem ? failure.message : `The set-up failed: ${failure}`;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await setUp({ root: argv[2] ?? repositoryRoot });
  } catch (failure) {
    console.error(explainSetUpFailure(failure));
    process.exitCode = 1;
  }
}
