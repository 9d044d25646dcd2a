import { readFileSync } from 'node:fs';
import type { Confinement } from './isolated-process.ts';

const GiB = 1024 ** 3;
/** Where a request says nothing. Address space is not limited: V8 reserves far more of it than it uses. */
const defaults = { memoryBytes: 4 * GiB, cpuSeconds: 3_600, files: 4_096 };
const fileBytes = 8 * GiB;
/** Processes and threads. The kernel does not count them for root. */
const processes = 2_048;

/** Arguments of prlimit. A limit that the runner itself is under is never exceeded: it could not be set. */
export function limitArguments(wanted: Confinement['limits'], own: ReadonlyMap<string, number>): string[] {
  const limit = (name: string, title: string, value: number): string =>
    `--${name}=${Math.min(value, own.get(title) ?? Number.POSITIVE_INFINITY)}`;
  return [
    '--core=0',
    limit('data', 'Max data size', wanted?.memoryBytes ?? defaults.memoryBytes),
    limit('cpu', 'Max cpu time', wanted?.cpuSeconds ?? defaults.cpuSeconds),
    limit('nofile', 'Max open files', wanted?.files ?? defaults.files),
    limit('fsize', 'Max file size', fileBytes),
    limit('nproc', 'Max processes', processes),
  ];
}

/** Hard limits of this process by their title in /proc; those without a bound are left out. */
export function ownLimits(): ReadonlyMap<string, number> {
  const lines = readFileSync('/proc/self/limits', 'utf8').split('\n');
  const found = lines.map((line) => /^(Max [a-z ]+?)\s{2,}\S+\s+(\d+)/.exec(line));
  return new Map(
    found.filter((match) => match !== null).map(([, title = '', hard]) => [title, Number(hard)]),
  );
}
