import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { CountersignError } from '@countersign/protocol';

/** Whoever holds a journal, in words for the person who wants it too. */
export interface JournalHolder {
  /** "the terminal", "VS Code". */
  readonly program: string;
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
    const problem = `this workspace has a runner already: ${readHolder(path)}. Use that one, or stop it first`;
    throw new CountersignError('JOURNAL_UNAVAILABLE', { problem }, { cause });
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
