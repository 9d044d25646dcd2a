/**
 * Replaces exec(), which Node 20 lacks: another program takes over input, output, signals and exit status of this
 * process, and ends with it.
 */
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { env, kill, pid, platform, stderr, stdin, stdout } from 'node:process';

/** The environment variable with the file descriptor of the launcher's pipe. */
const pipeVariable = 'COUNTERSIGN_LAUNCHER_PIPE';

/**
 * Runs a program in place of this process, which then ends exactly as the program did. If this process is killed, the
 * program ends as if by SIGTERM, provided that it calls `endWithLauncher`. (On Windows the system ends it.)
 */
export function runAndExit(/** @type {string} */ program, /** @type {string[]} */ args) {
  // Only this process holds the other end of the pipe, so the pipe closes whenever this process ends.
  const child = spawn(program, args, {
    stdio: ['inherit', 'inherit', 'inherit', ...(hasPipe ? [/** @type {const} */ ('pipe')] : [])],
    env: hasPipe ? { ...env, [pipeVariable]: '3' } : env,
  });
  child.stdio[3]?.on('error', () => {}); // the program has ended; its exit status says how
  // Ctrl-C in a terminal reaches both processes; passing it on would deliver it twice.
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
 * Called first by a program that `runAndExit` runs: ends this process, as SIGTERM does, when its launcher is gone.
 * @returns {boolean} false in a process without a launcher
 */
export function endWithLauncher() {
  const descriptor = env[pipeVariable];
  if (descriptor === undefined) return false;
  delete env[pipeVariable]; // in child processes this descriptor is another file
  const launcher = new Socket({ fd: Number(descriptor), readable: true, writable: false });
  launcher.on('error', () => {}); // 'close' follows
  launcher.on('close', () => kill(pid, 'SIGTERM'));
  launcher.resume().unref();
  return true;
}
