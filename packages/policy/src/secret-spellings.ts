/**
 * How a known secret may stand in a text: plain, escaped in JSON, percent-encoded, and in base64, also as a part of
 * something longer (`user:secret`), where its letters depend on what stands before it.
 */
export function spellingsOf(secret: string): string[] {
  const bytes = utf8Bytes(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    percentEncoded(bytes, /[A-Za-z0-9\-_.!~*'()]/),
    percentEncoded(bytes, /[A-Za-z0-9\-_.~]/),
    ...[0, 1, 2].flatMap((offset) => insideBase64(bytes, offset)),
  ];
}

function utf8Bytes(text: string): number[] {
  const bytes: number[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 0x3f));
    else if (code < 0x10000)
      bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
    else
      bytes.push(
        0xf0 | (code >> 18),
        0x80 | ((code >> 12) & 0x3f),
        0x80 | ((code >> 6) & 0x3f),
        0x80 | (code & 0x3f),
      );
  }
  return bytes;
}

function percentEncoded(bytes: readonly number[], unreserved: RegExp): string {
  return bytes
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return byte < 0x80 && unreserved.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The letters that depend on the secret alone when `offset` bytes stand before it; both alphabets of base64. */
function insideBase64(bytes: readonly number[], offset: number): string[] {
  const bits = [...Array<number>(offset).fill(0), ...bytes]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('');
  const first = Math.ceil((offset * 8) / 6);
  const end = Math.floor(bits.length / 6);
  let letters = '';
  for (let i = first; i < end; i++) letters += alphabet[Number.parseInt(bits.slice(i * 6, i * 6 + 6), 2)];
  if (letters.length < 6) return [];
  return [letters, letters.replaceAll('+', '-').replaceAll('/', '_')];
}
