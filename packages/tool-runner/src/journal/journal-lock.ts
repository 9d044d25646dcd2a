import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { CountersignError } from '@countersign/protocol';
import { tryOr } from '../try-or.ts';

/** The program that opens a journal. */
export interface JournalHolder {
  /** The name for people: "the terminal", "VS Code". */
  readonly program: string;
  /** True for an editor: if another program holds the journal, ask it to release the journal when idle (RN-10). */
  readonly takesOver?: boolean;
}

/** A takeover request is repeated at each try, so an older request means that the program gave up. */
const takeoverRequestMs = 30_000;

/** JOURNAL_UNAVAILABLE because another runner has the workspace (RN-10). */
export class JournalHeld extends CountersignError {
  /** A text for people: "the terminal, process 5, since 2026-…". */
  readonly holder: string;

  constructor(holder: string, cause: unknown) {
    const problem = `this workspace has a runner already: ${holder}. Use that one, or stop it first`;
    super('JOURNAL_UNAVAILABLE', { problem }, { cause });
    this.holder = holder;
  }
}

/**
 * Locks the journal, because a workspace may have only one runner (RN-10). The lock is an exclusive transaction on
 * `journal.sqlite.lock`, which the system releases even if the process is killed. `journal.sqlite.holder` names the
 * holder for error messages. Returns a function that releases the lock; calling it twice is harmless.
 */
export function lockJournal(path: string, holder: JournalHolder): () => void {
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (cause) {
    lock.close();
    if (holder.takesOver) requestTakeover(path, holder.program);
    throw new JournalHeld(readHolder(path), cause);
  }
  try {
    rmSync(takeoverRequestPath(path), { force: true });
    const since = new Date().toISOString();
    const { program } = holder;
    writeFileSync(`${path}.holder`, JSON.stringify({ program, pid: process.pid, since }), { mode: 0o600 });
  } catch (error) {
    lock.close();
    throw error;
  }
  return () => {
    if (lock.isOpen) lock.close();
  };
}

function readHolder(path: string): string {
  return tryOr(() => {
    const { program, pid, since } = JSON.parse(readFileSync(`${path}.holder`, 'utf8'));
    return `${program}, process ${pid}, since ${since}`;
  }, 'it does not say which');
}

const takeoverRequestPath = (path: string): string => `${path}.wanted`;

/** Ignores errors such as a full disk: the caller throws JournalHeld anyway. */
function requestTakeover(path: string, program: string): void {
  const whole = `${takeoverRequestPath(path)}-${process.pid}`;
  try {
    writeFileSync(whole, JSON.stringify({ program }), { mode: 0o600 });
    renameSync(whole, takeoverRequestPath(path));
  } catch {
    rmSync(whole, { force: true });
  }
}

/** Returns the program that has recently asked to take over the journal. */
export function takeoverRequester(path: string, now: number): string | undefined {
  return tryOr(() => {
    const { program } = JSON.parse(readFileSync(takeoverRequestPath(path), 'utf8'));
    return now - statSync(takeoverRequestPath(path)).mtimeMs < takeoverRequestMs
      ? String(program)
      : undefined;
  }, undefined);
}
