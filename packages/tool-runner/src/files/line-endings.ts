/** How the lines of a text end. */
export type LineEnding = '\n' | '\r\n';

/** The one line ending that a text has throughout; undefined when it mixes them or has none. */
export function lineEndingOf(text: string): LineEnding | undefined {
  let seen: LineEnding | undefined;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    const ending = endingAt(text, at);
    if (seen !== undefined && ending !== seen) return undefined;
    seen = ending;
  }
  return seen;
}

/**
 * A text that comes for a file whose lines end in CRLF: who writes `\n` means the end of a line, as most tools show
 * it. A text that has CRLF of its own is taken as it is.
 */
export function inLineEndingOf(existing: string, text: string): string {
  if (text.includes('\r\n') || lineEndingOf(existing) !== '\r\n') return text;
  return text.replaceAll('\n', '\r\n');
}

/** The endings of the lines that end in a text, in order. */
export function lineEndingsIn(text: string): LineEnding[] {
  const endings: LineEnding[] = [];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
    endings.push(endingAt(text, at));
  return endings;
}

/** The ending of the line that a position is in; of the line before it where it is the last one. */
export function lineEndingNear(text: string, position: number): LineEnding {
  const next = text.indexOf('\n', position);
  const nearest = next >= 0 ? next : text.lastIndexOf('\n', position);
  return nearest < 0 ? '\n' : endingAt(text, nearest);
}

const endingAt = (text: string, lineFeed: number): LineEnding =>
  text[lineFeed - 1] === '\r' ? '\r\n' : '\n';
