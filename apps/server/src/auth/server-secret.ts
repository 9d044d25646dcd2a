import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { dataFolder, isPostgres, type ServerConfig } from '../config.ts';

type SecretSettings = Pick<ServerConfig, 'authSecret' | 'database'>;

/** The configured secret, or one that is generated and kept beside the database, readable by its owner only. */
export function serverSecret(config: SecretSettings): Uint8Array {
  const known = knownSecret(config);
  if (known) return known;
  if (config.database === ':memory:') return randomBytes(32);
  const path = secretFile(config);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const made = `${path}.${randomBytes(8).toString('hex')}`;
  writeFileSync(made, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // Atomic, and never overwrites: if another server made one meanwhile, use that.
    linkSync(made, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(made);
  }
  return readSecret(path);
}

/** The secret of a server that runs, or ran, with these settings; undefined if there is none. */
export function knownSecret(config: SecretSettings): Uint8Array | undefined {
  if (config.authSecret !== undefined) return new TextEncoder().encode(config.authSecret);
  if (config.database === ':memory:') return undefined;
  try {
    return readSecret(secretFile(config));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

const readSecret = (path: string): Uint8Array => Buffer.from(readFileSync(path, 'utf8').trim(), 'base64url');

const secretFile = ({ database }: SecretSettings): string =>
  join(isPostgres(database) ? dataFolder(process.env) : dirname(database), 'auth-secret');
