/**
 * Stands in for exec(), which Node 20 lacks: another program takes over input, output, signals and exit status, and
 * lives no longer than the process in whose place it runs.
 */
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { env, kill, pid, platform, stderr, stdin, stdout } from 'node:process';

/** Says in the program's environment where it finds the pipe from its launcher. */
const pipeVariable = 'COUNTERSIGN_LAUNCHER_PIPE';

/**
 * Runs a program in our place. This process then ends exactly as that one did. Should this process be killed, the
 * program ends as if by SIGTERM, provided that it calls `endWithLauncher`. (On Windows the system ends it.)
 */
export function runAndExit(/** @type {string} */ program, /** @type {string[]} */ args) {
  // Only this process holds the other end of the pipe, so the pipe closes when this process ends, however it ends.
  const child = spawn(program, args, {
    stdio: ['inherit', 'inherit', 'inherit', ...(hasPipe ? [/** @type {const} */ ('pipe')] : [])],
    env: hasPipe ? { ...env, [pipeVariable]: '3' } : env,
  });
  child.stdio[3]?.on('error', () => {}); // the program has ended; its exit status says how
  // Ctrl-C in a terminal reaches both of us; passing it on would make it look like pressed twice.
  const fromTerminal = stdin.isTTY || stdout.isTTY || stderr.isTTY;

  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const forward = (/** @type {NodeJS.Signals} */ signal) => {
    if (!(signal === 'SIGINT' && fromTerminal)) child.kill(signal);
  };
  for (const signal of signals) process.on(signal, forward);

  child.on('error', (error) => {
    console.error(`Could not start ${program}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    for (const name of signals) process.off(name, forward);
    if (signal === null) process.exit(code ?? 1);
    kill(pid, signal);
  });
}

/** Windows ends the children of a Node process that is killed. */
const hasPipe = platform !== 'win32';

/**
 * For the program that `runAndExit` runs, before anything else: ends this process, as SIGTERM does, when its launcher
 * is gone.
 * @returns {boolean} false in a process without a launcher
 */
export function endWithLauncher() {
  const descriptor = env[pipeVariable];
  if (descriptor === undefined) return false;
  delete env[pipeVariable]; // the programs that we start have other files under this number
  const launcher = new Socket({ fd: Number(descriptor), readable: true, writable: false });
  launcher.on('error', () => {}); // 'close' follows
  launcher.on('close', () => kill(pid, 'SIGTERM'));
  launcher.resume().unref();
  return true;
}
