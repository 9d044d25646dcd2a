#!/usr/bin/env node
/**
 * Starts the countersign command on Node 24, whichever Node the person has. Plain JavaScript for Node 18 and
 * newer. In a checkout it also installs what is missing, so that the command works right after cloning.
 */
import module from 'node:module';
import { argv, env } from 'node:process';
import { fileURLToPath } from 'node:url';

const tooling = new URL('../../../tooling/', import.meta.url);
const root = fileURLToPath(new URL('..', tooling));

if (await readyToRun()) {
  // Cached code is executed, so the cache lies beside the packages, where no other user can write.
  module.enableCompileCache(`${root}node_modules/.cache/node-compile-cache`);
  const { main } = await import('../src/main.ts');
  process.exitCode = await main(argv.slice(2));
}

/** False when another process has taken over, or when a person has to do something first. */
async function readyToRun() {
  if (env.COUNTERSIGN_LAUNCHER_PIPE !== undefined) {
    const { endWithLauncher } = await import(new URL('set-up/run-and-exit.mjs', tooling).href);
    if (endWithLauncher()) return true; // an older Node ran the set-up, then started us
  }
  const { explainSetUpFailure, setUp } = await import(new URL('set-up.mjs', tooling).href);
  try {
    await setUp();
  } catch (failure) {
    console.error(explainSetUpFailure(failure));
    process.exitCode = 1;
    return false;
  }
  const { findNode24, runsOnNode24 } = await import(new URL('set-up/node-24.mjs', tooling).href);
  if (runsOnNode24) return true;
  const { runAndExit } = await import(new URL('set-up/run-and-exit.mjs', tooling).href);
  runAndExit(findNode24(root), [fileURLToPath(import.meta.url), ...argv.slice(2)]);
  return false;
}
