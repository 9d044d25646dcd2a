#!/usr/bin/env node
/** Starts the packaged command, and says so where Node is too old for it. Plain JavaScript for any Node. */
import module from 'node:module';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 16)) {
  // Node 22 and 24 call their SQLite experimental; a person can do nothing with that.
  const { emitWarning } = process;
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).includes('SQLite')) emitWarning.call(process, warning, ...rest);
  };
  module.enableCompileCache?.();
  const { main } = await import('./apps/cli/src/main.js');
  process.exitCode = await main(process.argv.slice(2));
} else {
  console.error(`countersign needs Node 22.16 or newer; this is ${process.versions.node}.`);
  process.exitCode = 1;
}
