import { mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StandIn } from './stand-in.ts';

/** What is known of the workspace from before a command, and must outlive a runner that is killed meanwhile. */
export interface ProtectionRecord {
  readonly standIns: readonly StandIn[];
  /** Whether what is new is set aside. */
  readonly looksForPlanted: boolean;
  /** Each place by what it is, and for a link what it leads to. */
  readonly places: readonly (readonly [self: string, target: string])[];
  /** Names that were held: whoever put something there was not the command. */
  readonly names: readonly string[];
  /** Git folders that the command may write but for what git obeys; that is among `places`. */
  readonly gitFolders: readonly string[];
  /** What tools of ours have written since, by path: the version of each. */
  readonly expected: readonly (readonly [path: string, version: string])[];
}

/** The records of one workspace: a file for each command that runs. */
export class ProtectionRecords {
  readonly #folder: string;
  #count = 0;
  #isMade = false;

  constructor(stateFolder: string) {
    this.#folder = join(stateFolder, 'isolation', 'protections');
  }

  /** A name for a new one. */
  newName(): string {
    return `${process.pid}-${this.#count++}.json`;
  }

  write(name: string, record: ProtectionRecord): void {
    if (!this.#isMade) mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#isMade = true;
    writeFileSync(join(this.#folder, `${name}.new`), JSON.stringify(record));
    renameSync(join(this.#folder, `${name}.new`), join(this.#folder, name));
  }

  remove(name: string): void {
    unlinkSync(join(this.#folder, name));
  }

  /** Those that are there, and which process made each. */
  left(): { readonly name: string; readonly pid: number; readonly record: ProtectionRecord }[] {
    return this.#names().flatMap((name) => {
      try {
        const record = JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as ProtectionRecord;
        return [{ name, pid: Number.parseInt(name, 10), record }];
      } catch {
        return []; // removed meanwhile
      }
    });
  }

  #names(): string[] {
    try {
      return readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
    } catch {
      return []; // there never was one
    }
  }
}
