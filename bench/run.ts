/**
 * `npm run bench`: runs every `*.bench.ts` beside this file, or those whose file name contains an argument, and prints
 * one table. A complete run is written to docs/bench, as JSON and as a picture.
 *
 *   --quick        smaller amounts and fewer rounds: a few minutes, to check that everything runs
 *   --json         prints the results as JSON instead of the table
 *   --out FOLDER   where to write the results; a quick run, or one of some benches, is written only there
 */
import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { version } from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isQuick } from './pace.ts';
import { drawResults } from './picture.ts';
import { type Bench, breaksPromise, type Results } from './results.ts';
import { table } from './table.ts';

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
});

const results = await runBenches();
if (values.json) console.log(JSON.stringify(results, null, 2));
else if (results.benches.length === 0)
  console.log('There is nothing to measure: no bench/*.bench.ts matches.');
else console.log(`\n${table(results)}`);

const isWhole = words.length === 0 && !isQuick;
const docs = fileURLToPath(new URL('../docs/bench', import.meta.url));
const folder = values.out ?? (isWhole ? docs : undefined);
if (folder !== undefined && results.benches.length > 0) writeResults(folder);
// Quick numbers mean little, so they break no promise.
if (!isQuick && results.benches.flatMap(({ rows }) => rows).some(breaksPromise)) process.exitCode = 1;

/** Sort order: what people ask about first. */
function sortOrder(file: string): number {
  const order = [
    'tool-call',
    'nodes',
    'policy',
    'files',
    'isolation',
    'start-up',
    'memory',
    'history',
    'replay',
    'streams',
  ];
  const place = order.indexOf(file.replace('.bench.ts', ''));
  return place < 0 ? order.length : place;
}

async function runBenches(): Promise<Results> {
  const files = globSync('*.bench.ts', { cwd: import.meta.dirname })
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .sort((one, other) => sortOrder(one) - sortOrder(other) || one.localeCompare(other));
  const benches: Results['benches'][number][] = [];
  for (const file of files) {
    const { default: bench } = (await import(`./${file}`)) as { default: Bench };
    console.error(`measuring ${bench.name} …`);
    benches.push({ name: bench.name, rows: await bench.run() });
  }
  return {
    machine: { node: version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism() },
    at: new Date().toISOString(),
    quick: isQuick,
    benches,
  };
}

function writeResults(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'results.json'), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(folder, 'results.svg'), drawResults(results));
  console.error(`written to ${join(folder, 'results.json')} and results.svg`);
}
