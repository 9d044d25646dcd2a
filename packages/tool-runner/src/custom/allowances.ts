import { hash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, canonicalJson } from '@countersign/protocol';
import { z } from 'zod';
import { readPersonsFile } from '../persons-file.ts';
import type { ServerEntry } from './server-entry.ts';
import { type NamedFile, namedFiles } from './server-files.ts';

const allowanceSchema = z.strictObject({
  workspace: z.string(),
  server: z.string(),
  digest: z.string(),
  allowed_at: z.string(),
});
const fileSchema = z.strictObject({ version: z.literal(1), allowed: z.array(allowanceSchema) });
type Allowance = z.output<typeof allowanceSchema>;

/**
 * The servers that the person has allowed on this machine, besides those of their own configuration. An allowance names
 * the digest of the whole entry and of the workspace's files that its command line names:
 * if one of them changes, the person is asked again. The file is in the person's configuration folder, which no
 * isolated command sees.
 */
export class Allowances {
  readonly #path: string;
  readonly #root: string;

  constructor(configFolder: string, root: string) {
    this.#path = join(configFolder, 'allowed-servers.json');
    this.#root = root;
  }

  /** The digest of the server as it is now: what the person allows, and what approvals of its tools cover. */
  digestOf(entry: ServerEntry): string {
    return digestWith(entry, namedFiles(entry, this.#root));
  }

  /**
   * The digest of the server as it is now; undefined if the person has not allowed it. Their own entry needs no
   * allowance, unless it runs a script of the workspace, which a tool may have changed.
   */
  allowedDigest(entry: ServerEntry): string | undefined {
    const files = namedFiles(entry, this.#root);
    const digest = digestWith(entry, files);
    const isTheirs = entry.owner === 'person' && files.length === 0;
    return isTheirs || this.#ofWorkspace(entry.name).some((one) => one.digest === digest)
      ? digest
      : undefined;
  }

  /** Whether any version of it was allowed before: then the person is told that it has changed. */
  wasAllowed({ name }: ServerEntry): boolean {
    return this.#ofWorkspace(name).length > 0;
  }

  /** `digest` is what the person was shown. Throws if the server has changed since. */
  allow(entry: ServerEntry, digest: string, now: Date): void {
    if (this.digestOf(entry) !== digest)
      throw new CountersignError('USAGE', {
        problem: `The server "${entry.name}" is not what was shown: it has changed`,
        help: 'countersign tools allow --help',
      });
    const others = this.#others(entry.name);
    const allowed = { workspace: this.#root, server: entry.name, digest, allowed_at: now.toISOString() };
    this.#write([...others, allowed]);
  }

  /** Returns whether there was an allowance. */
  forbid(name: string): boolean {
    if (this.#ofWorkspace(name).length === 0) return false;
    this.#write(this.#others(name));
    return true;
  }

  #ofWorkspace(name: string): readonly Allowance[] {
    return this.#read().filter(({ workspace, server }) => workspace === this.#root && server === name);
  }

  #others(name: string): readonly Allowance[] {
    return this.#read().filter(({ workspace, server }) => workspace !== this.#root || server !== name);
  }

  /** A file that others could have written, or that is damaged, allows nothing. */
  #read(): readonly Allowance[] {
    const file = readPersonsFile(this.#path, this.#root);
    if (file.state !== 'read') return [];
    try {
      return fileSchema.parse(JSON.parse(file.text)).allowed;
    } catch {
      return [];
    }
  }

  #write(allowed: readonly Allowance[]): void {
    mkdirSync(join(this.#path, '..'), { recursive: true, mode: 0o700 });
    const temporary = `${this.#path}.${process.pid}`;
    writeFileSync(temporary, `${JSON.stringify({ version: 1, allowed }, null, 2)}\n`, { mode: 0o600 });
    renameSync(temporary, this.#path);
  }
}

const digestWith = (entry: ServerEntry, files: readonly NamedFile[]): string =>
  `sha256:${hash('sha256', canonicalJson([entry.digest, files]))}`;
