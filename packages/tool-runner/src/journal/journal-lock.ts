import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { CountersignError } from '@countersign/protocol';

/** The holder of a journal, in words for the person whose program wants it too. */
export interface JournalHolder {
  /** "the terminal", "VS Code". */
  readonly program: string;
  /** An editor: where another program has the journal, that one is asked to let go when it is idle (RN-10). */
  readonly takesOver?: boolean;
}

/** A runner that wants to take over writes so at each try; an old note means that it gave up. */
const wishMs = 30_000;

/** Another runner has the workspace (RN-10): a JOURNAL_UNAVAILABLE that says who. */
export class JournalHeld extends CountersignError {
  /** "the terminal, process 5, since 2026-…", for a person. */
  readonly holder: string;

  constructor(holder: string, cause: unknown) {
    const problem = `this workspace has a runner already: ${holder}. Use that one, or stop it first`;
    super('JOURNAL_UNAVAILABLE', { problem }, { cause });
    this.holder = holder;
  }
}

/**
 * One runner per workspace (RN-10). The lock is an exclusive transaction on a small file beside the journal: the
 * system releases it when the process ends, however it ends. A third file names the holder, for the message
 * only. Returns a function that releases it; releasing twice is harmless.
 */
export function lockJournal(path: string, holder: JournalHolder): () => void {
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (cause) {
    lock.close();
    if (holder.takesOver) writeWish(path, holder.program);
    throw new JournalHeld(readHolder(path), cause);
  }
  try {
    rmSync(wishPath(path), { force: true });
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
  try {
    const { program, pid, since } = JSON.parse(readFileSync(`${path}.holder`, 'utf8')) as Record<
      string,
      unknown
    >;
    return `${program}, process ${pid}, since ${since}`;
  } catch {
    return 'it does not say which';
  }
}

const wishPath = (path: string): string => `${path}.wanted`;

/** Ignores a note that cannot be written (a full disk): the caller still learns that the journal is held. */
function writeWish(path: string, program: string): void {
  const whole = `${wishPath(path)}-${process.pid}`;
  try {
    writeFileSync(whole, JSON.stringify({ program }), { mode: 0o600 });
    renameSync(whole, wishPath(path));
  } catch {
    rmSync(whole, { force: true });
  }
}

/** The program that has recently asked to take over the journal. */
export function whoWantsJournal(path: string, now: number): string | undefined {
  try {
    const { program } = JSON.parse(readFileSync(wishPath(path), 'utf8')) as { program: unknown };
    return now - statSync(wishPath(path)).mtimeMs < wishMs ? String(program) : undefined;
  } catch {
    return undefined;
  }
}
