import type { Hint } from '@countersign/engine';

type Passing = Extract<Hint, { kind: 'passing' }>;

/** A character of JSON takes six bytes at most, and a notification of PostgreSQL has room for 8000. */
const longestPiece = 1_000;

/**
 * What a command prints, in pieces that fit into a notification: other nodes pass them on one after the other, and whoever
 * listens there sees the same output. Anything else stays whole.
 */
export function piecesOf(hint: Passing): readonly Passing[] {
  const { event } = hint;
  if (event.event !== 'tool.progress') return [hint];
  const { output } = event.data;
  if (output === null || output.chunk.length <= longestPiece) return [hint];
  const { stream } = output;
  return cut(output.chunk).map((chunk, i) => {
    // Percent and message are said once.
    const said = i === 0 ? {} : { progress: null, message: null };
    return { ...hint, event: { ...event, data: { ...event.data, ...said, output: { stream, chunk } } } };
  });
}

function cut(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const to = from + longestPiece;
    // Two halves of one character stay together.
    const end = isHighSurrogate(text.charCodeAt(to - 1)) ? to - 1 : to;
    pieces.push(text.slice(from, end));
    from = end;
  }
  return pieces;
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
