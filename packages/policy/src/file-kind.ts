/** The kind of a file, detected from its first bytes: text in an encoding we read, a PDF or image, or binary. */
export type FileKind =
  | { readonly kind: 'text'; readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin1' }
  | { readonly kind: 'media'; readonly mediaType: string }
  | { readonly kind: 'binary' };

/** How many bytes `fileKindOf` needs. */
export const SNIFF_BYTES = 8192;

const signatures: readonly (readonly [mediaType: string, offset: number, bytes: readonly number[]])[] = [
  ['application/pdf', 0, [0x25, 0x50, 0x44, 0x46, 0x2d]],
  ['image/png', 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', 0, [0xff, 0xd8, 0xff]],
  ['image/gif', 0, [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', 8, [0x57, 0x45, 0x42, 0x50]],
  ['image/bmp', 0, [0x42, 0x4d]],
  ['image/tiff', 0, [0x49, 0x49, 0x2a, 0x00]],
  ['image/tiff', 0, [0x4d, 0x4d, 0x00, 0x2a]],
  ['image/x-icon', 0, [0x00, 0x00, 0x01, 0x00]],
  ['image/avif', 4, [0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69, 0x66]],
];

/** `head` holds the first `SNIFF_BYTES` bytes of the file, or all of a shorter file. An empty file is text. */
export function fileKindOf(head: Uint8Array): FileKind {
  if (startsWith(head, 0, [0xef, 0xbb, 0xbf])) return { kind: 'text', encoding: 'utf-8' };
  if (startsWith(head, 0, [0xff, 0xfe])) return { kind: 'text', encoding: 'utf-16le' };
  if (startsWith(head, 0, [0xfe, 0xff])) return { kind: 'text', encoding: 'utf-16be' };
  // Ordinary text may begin with BMP's short signature `BM`, but it has no NUL byte.
  const media = signatures.find(
    ([mediaType, offset, bytes]) =>
      startsWith(head, offset, bytes) && (mediaType !== 'image/bmp' || head.includes(0)),
  );
  if (media) return { kind: 'media', mediaType: media[0] };
  if (head.includes(0)) return kindWithNulBytes(head);
  if (hasBinaryControls(head)) return { kind: 'binary' };
  return { kind: 'text', encoding: isUtf8(head) ? 'utf-8' : 'latin1' };
}

function startsWith(bytes: Uint8Array, offset: number, expected: readonly number[]): boolean {
  return bytes.length >= offset + expected.length && expected.every((byte, i) => bytes[offset + i] === byte);
}

/** UTF-16 text without a byte order mark has many NULs, all at even or all at odd positions. */
function kindWithNulBytes(head: Uint8Array): FileKind {
  let even = 0;
  let odd = 0;
  head.forEach((byte, i) => {
    if (byte !== 0) return;
    if (i % 2 === 0) even++;
    else odd++;
  });
  const half = head.length / 2;
  if (even === 0 && odd > half * 0.4) return { kind: 'text', encoding: 'utf-16le' };
  if (odd === 0 && even > half * 0.4) return { kind: 'text', encoding: 'utf-16be' };
  return { kind: 'binary' };
}

/** Text contains no control characters but tab, line feed, vertical tab, form feed, return and escape. */
function hasBinaryControls(head: Uint8Array): boolean {
  return head.some((byte) => byte < 0x20 && (byte < 0x09 || byte > 0x0d) && byte !== 0x1b);
}

/** Whether the bytes are UTF-8. The last sequence may be cut off, because `head` may end anywhere. */
function isUtf8(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; ) {
    const lead = bytes[i] as number;
    if ((lead >= 0x80 && lead < 0xc2) || lead >= 0xf5) return false;
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    for (let j = 1; j < length; j++) {
      const next = bytes[i + j];
      if (next === undefined) return true;
      if ((next & 0xc0) !== 0x80) return false;
    }
    i += length;
  }
  return true;
}
