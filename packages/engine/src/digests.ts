import { hash } from 'node:crypto';
import { digestOf as protocolDigestOf, type Sha256 } from '@countersign/protocol';

/** Node's own, which is many times faster than the portable one. */
export const nodeSha256: Sha256 = (text) => hash('sha256', text);

/** The protocol's digest of a value: calls and results are recognised by it. */
export const digestOf = (value: unknown): string => protocolDigestOf(value, nodeSha256);
