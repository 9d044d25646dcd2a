import { hash, randomBytes } from 'node:crypto';
import { digestOf as protocolDigestOf, type Sha256 } from '@countersign/protocol';

let pool = Buffer.alloc(0);
let used = 0;

/** A UUID of version 7: unique and ordered by time, so that new rows are neighbours in an index. */
export function newId(now: number = Date.now()): string {
  if (used + 10 > pool.length) {
    pool = randomBytes(10 * 128);
    used = 0;
  }
  const random = pool.toString('hex', used, used + 10);
  used += 10;
  const time = Math.floor(now).toString(16).padStart(12, '0');
  const variant = ((Number.parseInt(random.slice(3, 5), 16) & 0x3f) | 0x80).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(5, 7)}-${random.slice(7, 19)}`;
}

/** Node's own SHA-256, many times faster than the portable one. */
export const nodeSha256: Sha256 = (text) => hash('sha256', text);

/** The protocol's digest of a value, to recognise the same call or result. */
export const digestOf = (value: unknown): string => protocolDigestOf(value, nodeSha256);
