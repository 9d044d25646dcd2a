import childProcess from 'node:child_process';
import fs from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import { Journal } from '../../../packages/tool-runner/src/journal/journal.ts';
import { LandingRecords } from '../../../packages/tool-runner/src/journal/landing-records.ts';

/** Steps of a call at which a runner can be made to kill itself, in the order in which a call reaches them. */
export const killSteps = [
  'claim asked',
  'claim granted',
  'journal started',
  'journal recorded',
  'half of the write',
  'written, not renamed',
  'renamed',
  'unlinked',
  'directory made',
  'process started',
  'layer recorded',
  'landing recorded',
  'journal ended',
  'result asked',
  'result answered',
  'acknowledged',
] as const;
export type KillStep = (typeof killSteps)[number];

/** Where to kill the runner in the next call. */
export interface PlannedKill {
  readonly step: KillStep;
  readonly onlyReads: boolean;
  /** Calls of earlier runner processes: their unsent results and acknowledgements are not steps of the next call. */
  readonly earlier?: readonly string[];
}

/** The runner changes the workspace by descriptors, so that a swapped link cannot redirect it. */
const isInWorkspace = (path: unknown): boolean => String(path).startsWith('/proc/self/fd/');

/**
 * Makes this process kill itself (SIGKILL) right after a step of the next call, before anything else can happen. Every
 * change of the workspace is appended to the file `changeLog` outside it, independently of the runner's own journal, over
 * all runner processes.
 */
export async function installKillSteps(changeLog: string): Promise<(kill: PlannedKill) => void> {
  let armed: KillStep | undefined;
  let isPastJournal = false;
  let earlier: readonly string[] = [];
  const killAt = (step: KillStep, toolId = ''): void => {
    if (step === armed && !earlier.includes(toolId)) process.kill(process.pid, 'SIGKILL');
  };
  const { appendFileSync, renameSync, unlinkSync, mkdirSync } = fs;
  const note = (what: string, path: unknown): void =>
    appendFileSync(changeLog, `${what} ${basename(String(path))}\n`);

  after(Journal.prototype, 'start', (toolId) => {
    isPastJournal = true;
    killAt('journal started', toolId);
  });
  after(Journal.prototype, 'recordChanges', (toolId) => killAt('journal recorded', toolId));
  after(Journal.prototype, 'recordLayer', (toolId) => killAt('layer recorded', toolId));
  const { begin } = LandingRecords.prototype;
  LandingRecords.prototype.begin = async function (...args) {
    await begin.apply(this, args);
    killAt('landing recorded', args[0].toolId);
  };
  after(Journal.prototype, 'end', (toolId) => killAt('journal ended', toolId));
  after(Journal.prototype, 'acknowledge', (toolId) => killAt('acknowledged', toolId));

  fs.renameSync = (from, to) => {
    if (!isInWorkspace(to)) return renameSync(from, to);
    killAt('written, not renamed');
    renameSync(from, to);
    note('renamed', to);
    killAt('renamed');
  };
  fs.unlinkSync = (path) => {
    unlinkSync(path);
    if (!isInWorkspace(path) || String(path).endsWith('.tmp')) return;
    note('unlinked', path);
    killAt('unlinked');
  };
  fs.mkdirSync = ((...args: Parameters<typeof mkdirSync>) => {
    const made = mkdirSync(...args);
    if (isInWorkspace(args[0])) {
      note('made', args[0]);
      killAt('directory made');
    }
    return made;
  }) as typeof mkdirSync;
  const { spawn } = childProcess;
  childProcess.spawn = ((...args: Parameters<typeof spawn>) => {
    const child = spawn(...args);
    // git previews run git too: for a call that needs approval, count only what runs after its journal entry.
    if (isPastJournal) killAt('process started');
    return child;
  }) as typeof spawn;
  syncBuiltinESMExports();

  const { fetch } = globalThis;
  globalThis.fetch = async (input, init) => {
    const [, toolId, route] = /\/([^/]+)\/(start|result)$/.exec(String(input)) ?? [];
    if (route === 'start') killAt('claim asked', toolId);
    if (route === 'result') killAt('result asked', toolId);
    const response = await fetch(input, init);
    if (route === 'start' && response.ok) killAt('claim granted', toolId);
    if (route === 'result' && response.ok) killAt('result answered', toolId);
    return response;
  };

  const fileHandle = await prototypeOfFileHandles();
  const { writeFile } = fileHandle;
  fileHandle.writeFile = async function (this: FileHandle, data, options) {
    if (armed === 'half of the write' && data instanceof Uint8Array) {
      fs.writeSync(this.fd, data.subarray(0, Math.ceil(data.length / 2)));
      killAt('half of the write');
    }
    return writeFile.call(this, data, options);
  };

  return (kill) => {
    armed = kill.step;
    isPastJournal = kill.onlyReads;
    earlier = kill.earlier ?? [];
  };
}

async function prototypeOfFileHandles(): Promise<FileHandle> {
  const handle = await open('/dev/null', 'r');
  await handle.close();
  return Object.getPrototypeOf(handle) as FileHandle;
}

/** Calls `then` after each call of a method, with its first argument: the id of a call. */
function after<T extends object, M extends keyof T>(of: T, method: M, then: (toolId: string) => void): void {
  const original = of[method] as (...args: unknown[]) => unknown;
  of[method] = function (this: T, ...args: unknown[]) {
    const answer = original.apply(this, args);
    then(String(args[0]));
    return answer;
  } as T[M];
}
