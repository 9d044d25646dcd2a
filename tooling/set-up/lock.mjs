/**
 * Lets one set-up at a time change node_modules. The lock is a file beside node_modules, not inside it, because
 * `npm ci` empties that folder. It names its holder, so that a lock left by a killed process is recognised.
 */
import {
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { kill, pid } from 'node:process';

/** How long a holder on another machine or in another container may be silent before its lock is taken over. */
const silentForMs = 60_000;

/**
 * @typedef {{ pid: number, startedAt: string | undefined }} Process
 * @typedef {Process & { host: string, worker?: Process }} Holder
 */

export class SetUpLock {
  #path;
  #draft;

  constructor(/** @type {string} */ root) {
    const folder = join(root, '.cache');
    mkdirSync(folder, { recursive: true });
    this.#path = join(folder, 'set-up.lock');
    this.#draft = `${this.#path}.${hostname()}.${pid}`;
  }

  /** Takes the lock, or returns its holder. */
  tryTake() {
    const holder = this.#holder();
    if (holder !== undefined && this.#isAlive(holder)) return holder;
    if (holder !== undefined) this.#removeStale();
    return this.#create() ? undefined : this.#holder();
  }

  /** Keeps the lock held while this child lives, even if this process is killed first. */
  nameWorker(/** @type {number} */ workerPid) {
    const worker = { pid: workerPid, startedAt: startOf(workerPid) };
    writeFileSync(this.#draft, JSON.stringify({ ...describeSelf(), worker }));
    renameSync(this.#draft, this.#path);
  }

  /** Shows other machines that this process is still running. */
  refresh() {
    const now = new Date();
    utimesSync(this.#path, now, now);
  }

  release() {
    rmSync(this.#path, { force: true });
  }

  /** link() is atomic, and fails when the name is taken. */
  #create() {
    writeFileSync(this.#draft, JSON.stringify(describeSelf()));
    try {
      linkSync(this.#draft, this.#path);
      return true;
    } catch (failure) {
      if (codeOf(failure) === 'EEXIST') return false;
      throw failure;
    } finally {
      unlinkSync(this.#draft);
    }
  }

  /**
   * Two processes may find the same stale lock. The slower one must not remove the lock that the quicker one has just
   * created, so each checks again while it holds the right to remove.
   */
  #removeStale() {
    const guard = `${this.#path}.removing`;
    try {
      mkdirSync(guard);
    } catch {
      if (ageOf(guard) > silentForMs) rmSync(guard, { recursive: true, force: true });
      return;
    }
    try {
      const holder = this.#holder();
      if (holder !== undefined && !this.#isAlive(holder)) rmSync(this.#path, { force: true });
    } finally {
      rmSync(guard, { recursive: true, force: true });
    }
  }

  #isAlive(/** @type {Holder} */ holder) {
    if (holder.host !== hostname()) return ageOf(this.#path) < silentForMs;
    return isRunning(holder) || (holder.worker !== undefined && isRunning(holder.worker));
  }

  /** @returns {Holder | undefined} */
  #holder() {
    try {
      return JSON.parse(readFileSync(this.#path, 'utf8'));
    } catch (failure) {
      // A file that we cannot parse has no living holder: it was cut short, or is not ours.
      return codeOf(failure) === 'ENOENT' ? undefined : { host: hostname(), pid: 0, startedAt: undefined };
    }
  }
}

/** @returns {Holder} */
function describeSelf() {
  return { host: hostname(), pid, startedAt: startOf(pid) };
}

function isRunning(/** @type {Process} */ process) {
  if (process.pid <= 0) return false;
  try {
    kill(process.pid, 0);
  } catch (failure) {
    return codeOf(failure) === 'EPERM';
  }
  return process.startedAt === startOf(process.pid);
}

/** When a process started, in the kernel's ticks: its number alone may have been reused. */
function startOf(/** @type {number} */ processId) {
  try {
    const afterName = readFileSync(`/proc/${processId}/stat`, 'utf8').split(') ').pop() ?? '';
    const fields = afterName.split(' ');
    return fields[0] === 'Z' ? 'ended' : fields[19];
  } catch {
    return undefined; // not Linux, or already gone
  }
}

function ageOf(/** @type {string} */ path) {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

function codeOf(/** @type {unknown} */ failure) {
  return failure instanceof Error && 'code' in failure ? failure.code : undefined;
}
