import { defaultLimits, type Limits } from '@countersign/protocol';
import { type Refused, refuse } from './verdict.ts';

/** Refuses what is larger or longer than TL-3 allows. Each method returns undefined when it fits. */
export class SizeLimiter {
  readonly limits: Limits;

  constructor(limits: Limits = defaultLimits) {
    this.limits = limits;
  }

  checkFile(path: string, bytes: number): Refused | undefined {
    if (bytes <= this.limits.fileBytes) return undefined;
    const why = `the file is larger than ${this.limits.fileBytes} bytes`;
    return refuse(
      'FILE_TOO_LARGE',
      { path, size: bytes, limit: this.limits.fileBytes },
      { rule: 'SIZE-1', why, operand: path },
    );
  }

  /** `existing` is what the file holds already, when the content is appended. */
  checkContent(path: string, content: string, existing = 0): Refused | undefined {
    const bytes = utf8Length(content) + existing;
    if (bytes <= this.limits.fileBytes) return undefined;
    const why = `the content is larger than ${this.limits.fileBytes} bytes`;
    return refuse(
      'CONTENT_TOO_LARGE',
      { size: bytes, limit: this.limits.fileBytes },
      { rule: 'SIZE-2', why, operand: path },
    );
  }

  checkTimeout(seconds: number): Refused | undefined {
    const limit = this.limits.commandTimeoutMaxSeconds;
    // The default was not asked for: if the limit is lower, the runner simply stops earlier.
    if (seconds <= limit || seconds === defaultLimits.commandTimeoutDefaultSeconds) return undefined;
    const why = `it asks for more than ${limit} seconds`;
    return refuse(
      'TIMEOUT_TOO_LONG',
      { timeout: seconds, limit },
      { rule: 'SIZE-3', why, operand: String(seconds) },
    );
  }
}

/** Not part of the language, but every runtime that we use has it. */
declare const TextEncoder: new () => {
  encode(text: string): Uint8Array;
  encodeInto(text: string, bytes: Uint8Array): { readonly written: number };
};
const encoder = new TextEncoder();
/** Characters that are encoded at once, and room for them: one takes at most 3 bytes. */
const PIECE = 16 * 1024;
const room = new Uint8Array(3 * PIECE);

export const utf8Bytes = (text: string): Uint8Array => encoder.encode(text);

/** Bytes of a text in UTF-8. Piece by piece: a file of 100 MiB takes 10 ms, counting its characters here 30 times that. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + PIECE, text.length);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1; // its other half is in the next piece
    bytes += encoder.encodeInto(text.slice(start, end), room).written;
    start = end;
  }
  return bytes;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
