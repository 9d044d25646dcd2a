/** Stands in for exec(), which Node 20 lacks: another program takes over input, output, signals and exit status. */
import { spawn } from 'node:child_process';
import { stderr, stdin, stdout } from 'node:process';

/** Runs a program in our place. This process then ends exactly as that one did. */
export function runAndExit(/** @type {string} */ program, /** @type {string[]} */ args) {
  const child = spawn(program, args, { stdio: 'inherit' });
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
    process.kill(process.pid, signal);
  });
}
