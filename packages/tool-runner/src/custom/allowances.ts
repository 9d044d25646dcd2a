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
 * Which servers the person has allowed on this machine, where their own configuration is not enough: by the digest of
 * the whole entry and of the files of the workspace that its command line names. What changes is asked about again. The
 * file stands in the person's own configuration folder, which no command in isolation sees.
 */
export class Allowances {
  readonly #path: string;
  readonly #root: string;

  constructor(configFolder: string, root: string) {
    this.#path = join(configFolder, 'allowed-servers.json');
    this.#root = root;
  }

  /** What the person agrees to when they allow it as it stands now; what its tools' approvals stand for as well. */
  digestOf(entry: ServerEntry): string {
    return digestWith(entry, namedFiles(entry, this.#root));
  }

  /**
   * The digest of what may run as it stands now; undefined where the person has not allowed that. Their own entry needs
   * no further word, unless it runs a program of the workspace, which a tool may have changed.
   */
  allowedDigest(entry: ServerEntry): string | undefined {
    const files = namedFiles(entry, this.#root);
    const digest = digestWith(entry, files);
    const isTheirs = entry.owner === 'person' && files.length === 0;
    return isTheirs || this.#ofWorkspace(entry.name).some((one) => one.digest === digest)
      ? digest
      : undefined;
  }

  /** Whether another version of it was allowed once: then it is worth saying that it has changed. */
  wasAllowed({ name }: ServerEntry): boolean {
    return this.#ofWorkspace(name).length > 0;
  }

  /** `digest`: of what was shown; anything else is refused, since it has changed meanwhile. */
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

  /** Answers whether there was something to take back. */
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

  /** A file that cannot be believed allows nothing. */
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
