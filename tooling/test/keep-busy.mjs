/**
 * `node tooling/test/keep-busy.mjs [cores] [minutes]`: keeps every core busy, so that tests which depend on speed fail.
 * It ends after three hours, or with the program that started it.
 */
import { availableParallelism } from 'node:os';
import { argv } from 'node:process';
import { Worker } from 'node:worker_threads';

const [cores = availableParallelism(), minutes = 180] = argv.slice(2).map(Number);
if (!(cores > 0 && minutes > 0)) {
  console.error('Usage: node tooling/test/keep-busy.mjs [cores] [minutes]');
  process.exit(2);
}

for (let core = 0; core < cores; core += 1) new Worker('for (;;) {}', { eval: true });
setTimeout(() => process.exit(), minutes * 60_000);
if (process.connected === false) process.exit();
process.on('disconnect', () => process.exit()); // `npm test -- --busy` has ended or died
