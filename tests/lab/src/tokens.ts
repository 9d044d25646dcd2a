import { createHmac, randomUUID } from 'node:crypto';
import type { TokenScope } from '@countersign/protocol';
import { secret } from './server-process.ts';

/** A token as an operator's own sign-in would issue it: HS256 with the server's secret. */
export function signToken(userId: string, scope: TokenScope, { hours = 1 } = {}): string {
  const exp = Math.floor(Date.now() / 1000) + hours * 3600;
  const claims = { sub: userId, scope, jti: randomUUID(), exp };
  const signed = [{ alg: 'HS256', typ: 'JWT' }, claims].map(encode).join('.');
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
