import { Refusal } from '@countersign/engine';

/** Makes a cursor, which says where the next page starts and is opaque to clients. */
export const encodeCursor = (parts: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url');

/** The position in the history where the next page begins. Throws for a cursor that we did not make. */
export function readHistoryCursor(text: string): { createdAt: number; id: string } {
  const [createdAt, id, ...rest] = parse(text);
  if (!Number.isSafeInteger(createdAt) || typeof id !== 'string' || rest.length > 0) throw unknownCursor();
  return { createdAt: createdAt as number, id };
}

/** The position after which the next page of messages starts. */
export function readMessageCursor(text: string): number {
  const [position, ...rest] = parse(text);
  if (typeof position !== 'number' || !Number.isSafeInteger(position) || rest.length > 0)
    throw unknownCursor();
  return position;
}

function parse(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (Array.isArray(value)) return value;
  } catch {
    // not JSON: refused below
  }
  throw unknownCursor();
}

const unknownCursor = (): Refusal => new Refusal('INVALID_QUERY', { problem: 'cursor: not one of ours' });
