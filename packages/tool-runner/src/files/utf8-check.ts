import { isUtf8 } from 'node:buffer';

/** Whether bytes that come in pieces are well-formed UTF-8 so far. */
export class Utf8Check {
  isWellFormed = true;
  #rest = Buffer.alloc(0);

  push(piece: Buffer): void {
    if (!this.isWellFormed) return;
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const whole = bytes.length - cutOffLength(bytes);
    this.isWellFormed = isUtf8(bytes.subarray(0, whole));
    this.#rest = Buffer.from(bytes.subarray(whole));
  }

  /** Nothing more comes: what was begun must be complete. */
  end(): void {
    if (this.#rest.length > 0) this.isWellFormed = false;
  }
}

/** How many bytes at the end are the beginning of a UTF-8 sequence whose rest is not there. */
export function cutOffLength(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
