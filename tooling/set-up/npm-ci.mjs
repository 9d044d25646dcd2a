/** Runs `npm ci` the same way on every machine, whatever its npm and home folder. */
import { spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { env, execPath, platform } from 'node:process';

/**
 * @typedef {{ ok: false, why: 'not-started' | 'stopped' | 'failed', output: string }} NpmFailure
 * @typedef {{ ok: true } | NpmFailure} NpmResult
 */

/** The log file with the output of an npm that failed. */
export const npmLogPath = (/** @type {string} */ root) => join(root, '.cache', 'set-up.log');

/**
 * @param {string} root
 * @param {{ onStart: (pid: number) => void }} options
 * @returns {Promise<NpmResult>}
 */
export async function runNpmCi(root, { onStart }) {
  const { command, args, shell } = npmCommand();
  const child = spawn(command, [...args, 'ci', ...options(root)], {
    cwd: root,
    shell,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) onStart(child.pid);

  /** @type {Buffer[]} */
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  child.stderr.on('data', (chunk) => chunks.push(chunk));
  const stopForwarding = forwardSignals(child);
  try {
    return await new Promise((resolve) => {
      child.on('error', (error) => resolve({ ok: false, why: 'not-started', output: error.message }));
      child.on('close', (code) => {
        if (code === 0) return resolve({ ok: true });
        const output = Buffer.concat(chunks).toString('utf8');
        writeFileSync(npmLogPath(root), output);
        resolve({ ok: false, why: code === null ? 'stopped' : 'failed', output });
      });
    });
  } finally {
    stopForwarding();
  }
}

/** The npm that runs this process, else the one on the PATH. */
function npmCommand() {
  const running = env.npm_execpath;
  if (running !== undefined && /^npm\b/.test(basename(running))) {
    // Not process.execPath: that may be the Node inside node_modules, which npm is about to replace.
    return { command: env.npm_node_execpath ?? execPath, args: [running], shell: false };
  }
  return { command: 'npm', args: [], shell: platform === 'win32' };
}

function options(/** @type {string} */ root) {
  return [
    '--no-audit',
    '--no-fund',
    '--loglevel=error', // on Node 20 npm warns about engines; this installs Node 24
    '--no-update-notifier',
    '--ignore-scripts', // we need none, and scripts of others should not run
    '--include=dev', // also under NODE_ENV=production
    '--include=optional', // Node 24 itself
    '--prefer-offline', // the lock file holds digests, so the cache is as good as the network
    '--fetch-retries=2',
    '--fetch-retry-mintimeout=500', // npm waits 10 s and 60 s by default, too long to find out that we are offline
    '--fetch-retry-maxtimeout=5000',
    ...cacheOption(root),
  ];
}

/** npm keeps its cache in the home folder. Where that is missing or read-only, keep it beside the project. */
function cacheOption(/** @type {string} */ root) {
  try {
    if (platform === 'win32') return [];
    const usual = env.npm_config_cache ?? join(homedir(), '.npm');
    mkdirSync(usual, { recursive: true });
    accessSync(usual, constants.W_OK);
    return [];
  } catch {
    return [`--cache=${join(root, '.cache', 'npm')}`];
  }
}

/** A signal that stops the set-up stops npm too; npm then ends, and so do we. */
function forwardSignals(/** @type {import('node:child_process').ChildProcess} */ child) {
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const forward = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, forward);
  return () => {
    for (const signal of signals) process.off(signal, forward);
  };
}
