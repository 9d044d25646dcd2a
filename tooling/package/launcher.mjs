#!/usr/bin/env node
/** Starts the packaged command, or says that this Node is too old for it. Plain JavaScript for any Node. */
import { readFileSync } from 'node:fs';
import module from 'node:module';

const { engines } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8'));
const oldest = engines.node.replace('>=', '');
if (process.versions.node.localeCompare(oldest, 'en', { numeric: true }) >= 0) {
  // Node 22 warns that SQLite is experimental; a person cannot act on that.
  const { emitWarning } = process;
  process.emitWarning = (/** @type {unknown[]} */ ...args) => {
    if (!String(args[0]).includes('SQLite')) Reflect.apply(emitWarning, process, args);
  };
  module.enableCompileCache?.();
  const { main } = await import(new URL('./apps/cli/src/main.js', import.meta.url).href);
  process.exitCode = await main(process.argv.slice(2));
} else {
  console.error(`countersign needs Node ${oldest} or newer; this is ${process.versions.node}.`);
  process.exitCode = 1;
}
