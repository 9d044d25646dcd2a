import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Confinement } from './isolated-process.ts';

const MiB = 1024 ** 2;
const GiB = 1024 ** 3;

/** What one process of a command may use, as `commands` in `runner.json` sets it. */
export const commandLimitsSchema = z.strictObject({
  /** RLIMIT_DATA. Address space is not limited, because V8 reserves far more of it than it uses. */
  memoryBytes: z
    .int()
    .min(64 * MiB)
    .default(4 * GiB),
  cpuSeconds: z.int().min(1).max(604_800).default(3_600),
  openFiles: z.int().min(64).max(1_048_576).default(4_096),
  /** Of one file. */
  fileBytes: z
    .int()
    .min(MiB)
    .default(8 * GiB),
  /** Maximum number of processes and threads. The kernel does not apply this limit to root. */
  processes: z.int().min(16).max(1_048_576).default(2_048),
  /** Of `/tmp`, which is kept in memory. */
  temporaryBytes: z
    .int()
    .min(MiB)
    .default(2 * GiB),
});
export type CommandLimits = z.infer<typeof commandLimitsSchema>;
export const defaultCommandLimits: CommandLimits = commandLimitsSchema.parse({});

/** Returns prlimit's arguments. Values are capped at the runner's own limits, because prlimit cannot raise them. */
export function limitArguments(
  wanted: Confinement['limits'],
  usual: CommandLimits,
  own: ReadonlyMap<string, number>,
): string[] {
  const capped = (title: string, value: number): number =>
    Math.min(value, own.get(title) ?? Number.POSITIVE_INFINITY);
  const limit = (name: string, title: string, value: number): string => `--${name}=${capped(title, value)}`;
  const cpuSeconds = wanted?.cpuSeconds ?? usual.cpuSeconds;
  // At the soft limit SIGXCPU ends a process, which says why; SIGKILL at the hard one does not.
  const hardCpuSeconds = capped('Max cpu time', cpuSeconds + 5);
  return [
    '--core=0',
    limit('data', 'Max data size', wanted?.memoryBytes ?? usual.memoryBytes),
    `${limit('cpu', 'Max cpu time', cpuSeconds)}:${hardCpuSeconds}`,
    limit('nofile', 'Max open files', wanted?.files ?? usual.openFiles),
    limit('fsize', 'Max file size', Math.min(wanted?.fileBytes ?? usual.fileBytes, usual.fileBytes)),
    limit('nproc', 'Max processes', usual.processes),
  ];
}

/** Returns the hard limits of this process by their title in /proc/self/limits. Unlimited entries are left out. */
export function ownLimits(): ReadonlyMap<string, number> {
  const lines = readFileSync('/proc/self/limits', 'utf8').split('\n');
  const found = lines.map((line) => /^(Max [a-z ]+?)\s{2,}\S+\s+(\d+)/.exec(line));
  return new Map(
    found.filter((match) => match !== null).map(([, title = '', hard]) => [title, Number(hard)]),
  );
}
