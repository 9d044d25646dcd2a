/**
 * `node tooling/run.mjs <program> [arguments]`: sets up when needed, then runs a program of ours on Node 24.
 * All npm scripts go through here, because a shell keeps using the `node` that it found before the set-up.
 */
import { delimiter, dirname, join, resolve } from 'node:path';
import { argv, env, kill, pid, ppid } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findNode24, runsOnNode24 } from './set-up/node-24.mjs';
import { endWithLauncher, runAndExit } from './set-up/run-and-exit.mjs';
import { explainSetUpFailure, repositoryRoot, setUp } from './set-up.mjs';

const program = resolve(argv[2] ?? '');
if (!endWithLauncher()) {
  endWithShell();
  try {
    await setUp();
  } catch (failure) {
    console.error(explainSetUpFailure(failure));
    process.exit(1);
  }
}

const node = findNode24(repositoryRoot) ?? 'node';
const binaries = [dirname(node), join(repositoryRoot, 'node_modules', '.bin')];
env.PATH = [...binaries, env.PATH].join(delimiter); // child processes use the same Node

if (runsOnNode24) {
  argv.splice(1, 2, program);
  await import(pathToFileURL(program).href);
} else {
  runAndExit(node, [fileURLToPath(import.meta.url), ...argv.slice(2)]);
}

/** The shell between npm and this process passes no signals on. When that shell ends, this process ends too. */
function endWithShell() {
  if (env.npm_lifecycle_event === undefined) return; // started by hand: it may outlive its shell
  setInterval(() => {
    if (process.ppid !== ppid) kill(pid, 'SIGTERM');
  }, 500).unref();
}
