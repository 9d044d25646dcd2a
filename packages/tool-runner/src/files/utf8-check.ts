import { isUtf8 } from 'node:buffer';

/** Checks in pieces whether bytes are well-formed UTF-8. */
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

  /** Call this after the last piece: an incomplete last character is not well-formed. */
  end(): void {
    if (this.#rest.length > 0) this.isWellFormed = false;
  }
}

/** Returns the length of an incomplete UTF-8 character at the end. */
export function cutOffLength(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
