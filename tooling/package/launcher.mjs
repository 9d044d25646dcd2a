#!/usr/bin/env node
/** Starts the packaged command, and says so where Node is too old for it. Plain JavaScript for any Node. */
import module from 'node:module';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 16)) {
  // Node 22 calls its SQLite experimental; a person can do nothing with that.
  const { emitWarning } = process;
  process.emitWarning = (/** @type {unknown[]} */ ...args) => {
    if (!String(args[0]).includes('SQLite')) Reflect.apply(emitWarning, process, args);
  };
  module.enableCompileCache?.();
  const { main } = await import(new URL('./apps/cli/src/main.js', import.meta.url).href);
  process.exitCode = await main(process.argv.slice(2));
} else {
  console.error(`countersign needs Node 22.16 or newer; this is ${process.versions.node}.`);
  process.exitCode = 1;
}
