import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { CountersignError } from '@countersign/protocol';

/** Whoever holds a journal, in words for the person who wants it too. */
export interface JournalHolder {
  /** "the terminal", "VS Code". */
  readonly program: string;
}

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
 * system releases it when the process ends, however it ends. Who holds it stands in a third file, for the message
 * only. The answer releases it; releasing twice is harmless.
 */
export function lockJournal(path: string, holder: JournalHolder): () => void {
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (cause) {
    lock.close();
    throw new JournalHeld(readHolder(path), cause);
  }
  const since = new Date().toISOString();
  writeFileSync(`${path}.holder`, JSON.stringify({ ...holder, pid: process.pid, since }), { mode: 0o600 });
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
