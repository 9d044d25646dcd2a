/**
 * `npm test`: runs every part of the suite that this machine can, or the one that is named.
 * The last line is `N passed, N failed`.
 */
import { argv, env } from 'node:process';
import { howToGet, type Need, nameOf, obtain } from './test/needs.ts';
import { type Counts, type Part, parts } from './test/parts.ts';

const inCi = env.CI !== undefined && env.CI !== '' && env.CI !== 'false';
const [name, ...args] = argv.slice(2);
const chosen = parts.filter((part) => (name === undefined ? !part.onlyWhenNamed : part.name === name));

if (chosen.length === 0) {
  console.error(`There is no part "${name}". Choose one of: ${parts.map((part) => part.name).join(', ')}.`);
  process.exitCode = 2;
} else {
  const { passed, failed } = await runAll(chosen);
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

async function runAll(chosen: readonly Part[]): Promise<Counts> {
  const total = { passed: 0, failed: 0 };
  const leftOut: string[] = [];
  for (const part of chosen) {
    const missing = await obtain(part.needs);
    if (missing.length > 0) {
      leftOut.push(explainLeftOut(part, missing));
      continue;
    }
    const counts = await part.run({ args, whole: name === undefined });
    total.passed += counts.passed;
    total.failed += counts.failed;
  }
  for (const line of leftOut) console.log(line);
  // Someone who names a part, like CI, relies on it having run.
  if (inCi || name !== undefined) total.failed += leftOut.length;
  return total;
}

function explainLeftOut(part: Part, missing: readonly Need[]): string {
  const names = missing.map(nameOf).join(', ');
  return `Left out: ${part.name}, which needs ${names}. To get it: ${missing.map(howToGet).join('; ')}`;
}
