/** `npm run test:faults -- [options]`: one run, or one on each database. Exits with 1 if a violation was found. */
import { randomInt } from 'node:crypto';
import { exit, stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { brokenBuildRuns } from './broken-build-runs.ts';
import { type BrokenBuild, brokenBuilds } from './broken-builds.ts';
import { type FaultReport, type FaultRunOptions, maxUsers, runFaults } from './fault-run.ts';
import { type CallKind, callKinds, type FaultKind, faultKinds } from './plan.ts';

const help = `npm run test:faults -- [options]

  --seed N            the seed of the plan (default: random)
  --minutes N         how long faults happen while people work (default 5)
  --database KIND     sqlite or postgres (default: postgres, then sqlite)
  --nodes N           servers on one PostgreSQL (default 3; SQLite has one)
  --users N           people, each with a runner (default 3, at most ${maxUsers})
  --every MS          average time between two calls (default 250)
  --fault-every MS    average time between two faults (default 3000)
  --calls A,B         only these: ${callKinds.join(', ')}
  --faults A,B        only these: ${faultKinds.join(', ')}
  --broken WHAT       a build that is broken on purpose, which the checker must detect:
                      ${Object.keys(brokenBuilds).join(', ')}
  --kill-loop         kill -9 at every labelled point
`;

const values = parseOptions();

if (values.help) {
  stdout.write(help);
  exit(0);
}
const broken = oneOf('--broken', values.broken, Object.keys(brokenBuilds) as BrokenBuild[]);
const chosen = oneOf('--database', values.database, ['sqlite', 'postgres'] as const);
const databases = chosen ? [chosen] : broken ? ['sqlite' as const] : (['postgres', 'sqlite'] as const);
const seed = numberOf('--seed', values.seed, 0) ?? randomInt(1, 1_000_000);
const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // The PostgreSQL package would exit at once on a signal, leaving disks mounted and processes paused.
  process.removeAllListeners(name);
  process.once(name, () => {
    stdout.write('interrupted: stopping everything\n');
    interrupted.abort(new Error('interrupted'));
  });
}
let isFine = true;
for (const database of databases) {
  const options = optionsFor(database);
  stdout.write(
    `${options.database}, ${options.nodes} nodes, ${Math.round(options.ms / 1000)} s, seed ${seed}\n`,
  );
  const report = await runFaults(options).catch((error: unknown) => {
    if (interrupted.signal.aborted) exit(130);
    throw error;
  });
  stdout.write(reportText(report));
  isFine &&= broken === undefined ? report.violations.length === 0 : report.violations.length > 0;
}
if (broken !== undefined)
  stdout.write(
    isFine
      ? `The broken build (${broken}) was detected.\n`
      : `The broken build (${broken}) was not detected.\n`,
  );
exit(isFine ? 0 : 1);

function parseOptions() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string' },
        minutes: { type: 'string' },
        database: { type: 'string' },
        nodes: { type: 'string' },
        users: { type: 'string' },
        every: { type: 'string' },
        'fault-every': { type: 'string' },
        calls: { type: 'string' },
        faults: { type: 'string' },
        broken: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    return usageError((error as Error).message);
  }
}

function optionsFor(database: 'sqlite' | 'postgres'): FaultRunOptions {
  const minutes = numberOf('--minutes', values.minutes, 0);
  const restrictions = {
    calls: listOf('--calls', values.calls, callKinds as readonly CallKind[]),
    faults: listOf('--faults', values.faults, faultKinds as readonly FaultKind[]),
  };
  const everyMs = numberOf('--every', values.every, 1);
  const faultEveryMs = numberOf('--fault-every', values['fault-every'], 1);
  return {
    seed,
    database,
    nodes: database === 'sqlite' ? 1 : (numberOf('--nodes', values.nodes, 1) ?? 3),
    users: numberOf('--users', values.users, 1, maxUsers) ?? 3,
    ms: (minutes ?? 5) * 60_000,
    faultEveryMs: 3_000,
    ...(broken !== undefined && { broken, ...brokenBuildRuns[broken] }),
    ...(chosen !== undefined && { database: chosen }),
    ...(minutes !== undefined && { ms: minutes * 60_000 }),
    ...(everyMs !== undefined && { everyMs }),
    ...(faultEveryMs !== undefined && { faultEveryMs }),
    ...(restrictions.calls && { calls: restrictions.calls }),
    ...(restrictions.faults && { faults: restrictions.faults }),
    signal: interrupted.signal,
    tell: (line) => stdout.write(`  ${line}\n`),
  };
}

function reportText(report: FaultReport): string {
  const { violations, calls, ends, runs, faults, requests, pointKills, skippedFaults, folder } = report;
  const counted = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([what, times]) => `${times} ${what}`)
      .join(', ');
  const lines = [
    `${calls} calls: ${counted(ends)}`,
    `runs: ${counted(runs)}`,
    `faults: ${counted(faults)}; ${pointKills} nodes ended at a labelled point`,
    `requests: ${counted(requests)}`,
    ...skippedFaults.map((what) => `skipped: ${what}`),
    violations.length === 0 ? 'no violation' : `${violations.length} violations, seed ${seed}:`,
    ...violations.slice(0, 30).map((violation) => `- ${violation}`),
    ...(folder === undefined ? [] : [`history, plan and logs: ${folder}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function numberOf(
  option: string,
  text: string | undefined,
  least: number,
  most = Number.POSITIVE_INFINITY,
): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  const fits = text !== '' && number >= least && number <= most;
  return fits ? number : usageError(`${option} wants a number, not "${text}"`);
}

function oneOf<T extends string>(option: string, text: string | undefined, all: readonly T[]): T | undefined {
  if (text === undefined) return undefined;
  return (
    all.find((one) => one === text) ?? usageError(`${option} is one of ${all.join(', ')}, not "${text}"`)
  );
}

function listOf<T extends string>(
  option: string,
  text: string | undefined,
  all: readonly T[],
): readonly T[] | undefined {
  return text?.split(',').map((part) => oneOf(option, part, all) as T);
}

function usageError(problem: string): never {
  stdout.write(`${problem}\n\n${help}`);
  exit(2);
}
