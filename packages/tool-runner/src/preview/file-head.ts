import { makeVisible } from '@countersign/protocol';
import { decodeText } from '../files/text-encoding.ts';

const MOST_LINES = 40;
const MOST_CHARACTERS = 8_000;

/** The first lines of a file that would be deleted, as a person may safely read them. */
export function fileHead(bytes: Uint8Array): string {
  const decoded = decodeText(bytes);
  if (!decoded) return '⟨binary content⟩';
  const head = decoded.text.slice(0, MOST_CHARACTERS).replaceAll('\r\n', '\n');
  return makeVisible(head.split('\n', MOST_LINES).join('\n'));
}
