import { sensitivePlaces } from './sensitive-places.ts';

/** VA-2: a `.pem` file without a private key is not sensitive. Only its content shows whether it has one. */

/** The row of VA-2 whose files may be certificates. */
const PRIVATE_KEY = 'SENS-4';
/** A larger file counts as sensitive. */
export const CERTIFICATE_BYTES = 64 * 1024;

/** Whether a file with this sensitive name may be a certificate. A name that contains "key" or "secret" never is. */
export const mayBeCertificate = (path: string): boolean => {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (!/\.pem$/i.test(name) || /key|priv|secret|^id_|[*?[\]{}]/i.test(name)) return false;
  return sensitivePlaces.find(path)?.id === PRIVATE_KEY;
};

const HARMLESS_BLOCK =
  /-----BEGIN ((?:TRUSTED |X509 |NEW )?CERTIFICATE(?: REQUEST)?|X509 CRL|(?:RSA |EC )?PUBLIC KEY|DH PARAMETERS|EC PARAMETERS|PKCS7)-----\r?\n[A-Za-z0-9+/=\s]+-----END \1-----/g;

/** Whether a file holds certificates and nothing else that could be a key. `head` is its beginning, one byte longer than allowed. */
export function holdsOnlyCertificates(head: Uint8Array): boolean {
  if (head.length === 0 || head.length > CERTIFICATE_BYTES) return false;
  const text = Array.from(head, (byte) => String.fromCharCode(byte)).join('');
  const rest = text.replace(HARMLESS_BLOCK, '');
  // Outside the blocks: comments, but no other block and no long run of base64 or hexadecimal digits.
  return (
    rest !== text && !/-----|PRIVATE|[A-Za-z0-9+/=]{40}|(?:[0-9a-f]{2}:){15}|[^\t\n\r\x20-\x7e]/i.test(rest)
  );
}
