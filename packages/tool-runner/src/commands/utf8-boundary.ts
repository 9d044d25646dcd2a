/** How many bytes are whole UTF-8 characters: without one at the very end of which only the beginning has come yet. */
export function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if (isContinuation(byte)) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** The first byte at `start` or a little after that begins a character. */
export function characterStart(bytes: Uint8Array, start: number): number {
  let cut = start;
  while (cut < bytes.length && cut - start < 3 && isContinuation(bytes[cut])) cut += 1;
  return cut;
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
