/**
 * `npm test`: runs every part of the suite that this machine can.
 * `npm test -- NAME`: runs the part of that name, or the test files whose path contains it.
 * `npm test -- --busy [NAME]`: the same while another program keeps every core busy.
 * The last line is `N passed, N failed`.
 */
import { fork } from 'node:child_process';
import { argv, env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { inBackground } from './test/child-process.ts';
import { installHint, installMissing, type Need, nameOf } from './test/needs.ts';
import { type Part, type PartResult, parts, partsWithFile } from './test/parts.ts';

const inCi = env.CI !== undefined && env.CI !== '' && env.CI !== 'false';
const isBusy = argv[2] === '--busy';
const [name, ...args] = argv.slice(isBusy ? 3 : 2);
const chosen = name === undefined ? parts : choose(name);

if (chosen.length === 0) {
  const names = parts.map((part) => part.name).join(', ');
  console.error(`There is no part and no test file "${name}". The parts are: ${names}.`);
  process.exitCode = 2;
} else {
  const keepsBusy = isBusy ? fork(fileURLToPath(new URL('test/keep-busy.mjs', import.meta.url))) : undefined;
  const { passed, failures } = await runAll(chosen);
  if (keepsBusy?.connected) keepsBusy.disconnect(); // ends the program that keeps the cores busy
  // Repeat the failures at the end: that is where people look in a long log.
  if (failures.length > 0) console.log(`\nFailed:\n${failures.map((failure) => `- ${failure}`).join('\n')}`);
  console.log(`\n${passed} passed, ${failures.length} failed`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}

function choose(name: string): readonly Part[] {
  const part = parts.find((candidate) => candidate.name === name);
  return part ? [part] : partsWithFile(name);
}

interface Lane extends PartResult {
  readonly times: readonly string[];
  readonly skipped: readonly string[];
}

/** Runs one part after the other. When everything runs, the parts without a lane come first, then all lanes at once. */
async function runAll(chosen: readonly Part[]): Promise<PartResult> {
  const inLanes = name === undefined ? chosen.filter((part) => part.lane) : [];
  const lanes = [await runLane(chosen.filter((part) => !inLanes.includes(part)))];
  const [shown = [], ...others] = Map.groupBy(inLanes, (part) => part.lane).values();
  // Before the lanes begin: two of them cannot install at the same time.
  await installMissing(inLanes.flatMap((part) => part.needs));
  if (others.length > 0)
    console.log(
      `\n${others
        .flat()
        .map((part) => part.name)
        .join(', ')} run at the same time; their output follows.\n`,
    );
  lanes.push(
    ...(await Promise.all([runLane(shown), ...others.map((lane) => inBackground(() => runLane(lane)))])),
  );
  const skipped = lanes.flatMap((lane) => lane.skipped);
  console.log(`\nTook: ${lanes.flatMap((lane) => lane.times).join(', ')}`);
  for (const line of skipped) console.log(line);
  return {
    passed: lanes.reduce((sum, lane) => sum + lane.passed, 0),
    // A part that was named, and every part in CI, must not be skipped.
    failures: [...lanes.flatMap((lane) => lane.failures), ...(inCi || name !== undefined ? skipped : [])],
  };
}

async function runLane(chosen: readonly Part[]): Promise<Lane> {
  let passed = 0;
  const failures: string[] = [];
  const skipped: string[] = [];
  const times: string[] = [];
  for (const part of chosen) {
    const missing = await installMissing(part.needs);
    if (missing.length > 0) {
      skipped.push(explainSkipped(part, missing));
      continue;
    }
    const startedAt = performance.now();
    // A part that throws counts as failed; the other parts still run, and their failures are still reported.
    const result = await part
      .run({ args, whole: name === undefined })
      .catch((error: unknown) => ({ passed: 0, failures: [`it broke: ${error}`] }));
    times.push(`${part.name} ${Math.round((performance.now() - startedAt) / 1000)} s`);
    passed += result.passed;
    failures.push(...result.failures.map((failure) => `${part.name}: ${failure}`));
  }
  return { passed, failures, skipped, times };
}

function explainSkipped(part: Part, missing: readonly Need[]): string {
  const names = missing.map(nameOf).join(', ');
  return `Skipped: ${part.name}, which needs ${names}. To get it: ${missing.map(installHint).join('; ')}`;
}
