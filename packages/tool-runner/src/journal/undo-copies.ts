import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { flushDirectory } from '../files/directory-by-name.ts';

/** Copies of files before a call changed them. Each copy is a file that only this person can read. */
export class UndoCopies {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Writes a copy and flushes it to disk, so that the journal may refer to it. */
  keep(name: string, bytes: Uint8Array): void {
    const descriptor = openSync(join(this.#folder, name), 'w', 0o600);
    try {
      writeFileSync(descriptor, bytes);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    flushDirectory(this.#folder);
  }

  read(name: string): Buffer {
    return readFileSync(join(this.#folder, name));
  }

  /** Removes all other copies, which were pruned from the journal or left by a killed process. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of readdirSync(this.#folder)) {
      if (!names.has(name)) rmSync(join(this.#folder, name), { force: true });
    }
  }
}
