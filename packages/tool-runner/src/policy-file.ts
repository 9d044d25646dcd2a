import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type LoadedPolicy, readPolicyFile } from '@countersign/policy';
import { CountersignError, type PolicyFile } from '@countersign/protocol';
import { MAX_SETTINGS_BYTES, readPersonsFile } from './persons-file.ts';
import { tryOr } from './try-or.ts';

export type PolicyFileReading =
  | { readonly ok: true; readonly policy: LoadedPolicy; readonly text: string | undefined }
  /** The file exists and cannot be used. Every call is refused until it is corrected. */
  | { readonly ok: false; readonly problem: string };

/**
 * The person's own policy file, `policy.json` in their configuration folder (RK-5). Changes are made under a lock, from what
 * the file holds at that moment, and written whole: two programs that change it at once lose no rule, and a file that cannot
 * be used is never overwritten.
 */
export class PersonsPolicyFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Differs when the file may have changed. Costs one system call. */
  stamp(): string {
    const stats = tryOr(() => statSync(this.path, { bigint: true, throwIfNoEntry: false }), undefined);
    return stats ? [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ') : 'missing';
  }

  /** A missing file has no rules; `text` is then undefined. */
  read(): PolicyFileReading {
    const file = readPersonsFile(this.path);
    if (file.state === 'refused') return { ok: false, problem: file.problem };
    const text = file.state === 'read' ? file.text : undefined;
    const reading = readPolicyFile(text ?? JSON.stringify(noRules), 'person');
    return reading.ok
      ? { ok: true, policy: reading.policy, text }
      : { ok: false, problem: `${this.path}: ${reading.problem}` };
  }

  /**
   * Replaces the policy by what `change` makes of it, and returns that. Throws POLICY_INVALID if the file cannot be used or
   * the new policy is not valid; nothing is changed then.
   */
  update(change: (policy: PolicyFile) => PolicyFile): PolicyFile {
    return this.#locked(() => {
      const before = this.read();
      if (!before.ok) throw invalid(before.problem);
      const after = change(before.policy.file);
      this.#write(`${JSON.stringify(after, null, 2)}\n`);
      return after;
    });
  }

  /**
   * Replaces the text of the file, which may be one that cannot be used. `before` is the text that the person changed: throws
   * POLICY_CHANGED if the file holds another one by now.
   */
  replaceText(text: string, before: string | undefined): void {
    this.#locked(() => {
      if (this.text() !== before) throw new CountersignError('POLICY_CHANGED');
      this.#write(text);
    });
  }

  /** The text as it is, valid or not; undefined if there is no file. Throws POLICY_INVALID if it must not be trusted. */
  text(): string | undefined {
    const file = readPersonsFile(this.path);
    if (file.state === 'refused') throw invalid(file.problem);
    return file.state === 'read' ? file.text : undefined;
  }

  #write(text: string): void {
    const reading = readPolicyFile(text, 'person');
    if (!reading.ok) throw invalid(reading.problem);
    if (Buffer.byteLength(text) > MAX_SETTINGS_BYTES)
      throw invalid(`it would have more than ${MAX_SETTINGS_BYTES} bytes`);
    // The file may be a link, as programs that keep a person's settings elsewhere make it.
    const target = tryOr(() => realpathSync(this.path), this.path);
    const temporary = `${target}.${process.pid}.new`;
    try {
      const file = openSync(temporary, 'w', 0o600);
      try {
        writeFileSync(file, text);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(temporary, target);
    } catch (cause) {
      rmSync(temporary, { force: true });
      throw new CountersignError(
        'WRITE_FAILED',
        { path: this.path, problem: (cause as Error).message },
        { cause },
      );
    }
    flushFolder(dirname(target));
  }

  /** The lock is a transaction of a database, which the system ends even if this process is killed. */
  #locked<T>(work: () => T): T {
    const folder = dirname(this.path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, '.policy.lock');
    const lock = new DatabaseSync(path, { timeout: LOCK_MS });
    try {
      chmodSync(path, 0o600);
      lock.exec('begin exclusive');
      return work();
    } finally {
      lock.close();
    }
  }
}

/** Longer than any program holds the lock. */
const LOCK_MS = 5_000;

const noRules: PolicyFile = { version: 1, rules: [] };

const invalid = (problem: string): CountersignError => new CountersignError('POLICY_INVALID', { problem });

/** Some file systems cannot flush a folder; the file itself is written by then. */
function flushFolder(folder: string): void {
  tryOr(() => {
    const descriptor = openSync(folder, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }, undefined);
}
