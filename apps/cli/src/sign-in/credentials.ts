import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import type { Words } from '../words.ts';

export interface Credential {
  readonly token: string;
  readonly expires_at: string;
}

interface CredentialsFile {
  readonly version: 1;
  /** The server of the last sign-in: the default if no server is named. */
  readonly latest: string | undefined;
  readonly servers: Readonly<Record<string, Credential>>;
}

const empty: CredentialsFile = { version: 1, latest: undefined, servers: {} };

/** The tokens of this person, by server address, in a file that only they can read. */
export class Credentials {
  readonly path: string;
  readonly #words: Words;

  constructor(folder: string, words: Words, file = 'credentials.json') {
    this.path = join(folder, file);
    this.#words = words;
  }

  get latest(): string | undefined {
    return this.#read().latest;
  }

  find(server: string): Credential | undefined {
    const { servers } = this.#read();
    return Object.hasOwn(servers, server) ? servers[server] : undefined;
  }

  keep(server: string, credential: Credential): void {
    const { servers } = this.#read();
    this.#write({ version: 1, latest: server, servers: { ...servers, [server]: credential } });
  }

  /** Returns the removed credential. */
  forget(server: string): Credential | undefined {
    const { servers, latest } = this.#read();
    const { [server]: forgotten, ...others } = servers;
    if (!forgotten) return undefined;
    this.#write({ version: 1, latest: latest === server ? Object.keys(others)[0] : latest, servers: others });
    return forgotten;
  }

  /** Whether others may read the file. False if there is none. */
  get isOpenToOthers(): boolean {
    const mode = statSync(this.path, { throwIfNoEntry: false })?.mode ?? 0;
    return process.platform !== 'win32' && (mode & 0o077) !== 0;
  }

  #read(): CredentialsFile {
    try {
      const file = JSON.parse(readFileSync(this.path, 'utf8')) as CredentialsFile;
      if (file.version !== 1 || typeof file.servers !== 'object') throw new Error('not a credentials file');
      return file;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return empty;
      const problem = this.#words.server.brokenCredentials(this.path);
      throw new CountersignError('USAGE', { problem, help: 'countersign sign-in --help' }, { cause });
    }
  }

  /** Atomic: a crash leaves the old file. */
  #write(file: CredentialsFile): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const fresh = `${this.path}.${randomUUID()}`;
    try {
      writeFileSync(fresh, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
      renameSync(fresh, this.path);
    } finally {
      rmSync(fresh, { force: true });
    }
  }
}
