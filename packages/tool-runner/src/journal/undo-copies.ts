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

/** What files held before a call changed them: one file each, for this person only. */
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
    flushFolder(this.#folder);
  }

  read(name: string): Buffer {
    return readFileSync(join(this.#folder, name));
  }

  /** Removes every copy that the journal does not name: pruned ones, and those of a killed process. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of readdirSync(this.#folder)) {
      if (!names.has(name)) rmSync(join(this.#folder, name), { force: true });
    }
  }
}

function flushFolder(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
